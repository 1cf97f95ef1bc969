"""Small ELF files with the sections that tell how a binary was built."""

from __future__ import annotations

import struct
from collections.abc import Sequence

_PROGBITS, _SYMTAB, _STRTAB, _DYNAMIC, _NOTE = 1, 2, 3, 6, 7


def elf(
    *,
    comment: bytes = b"GCC: (GNU) 4.8.5\0",
    build_id: bytes = bytes.fromhex("00ff10"),
    needed: Sequence[str] = ("libc.so.6",),
    symbols: bool = True,
    wide: bool = True,
    little: bool = True,
) -> bytes:
    """An ELF file of 64 or 32 bits in either byte order; a section without content is left out."""
    order = "<" if little else ">"
    names, entries = b"\0", b""
    for name in needed:
        entries += struct.pack(order + ("qQ" if wide else "iI"), 1, len(names))
        names += name.encode() + b"\0"
    note = struct.pack(order + "3I", 4, len(build_id), 3) + b"GNU\0" + build_id if build_id else b""
    # The first note is another one; the dynamic section refers to its strings by their place in the list.
    other = struct.pack(order + "3I", 4, 4, 1) + b"GNU\0" + b"\0" * 4
    sections = [("", 0, b"", 0), (".dynstr", _STRTAB, names, 0)]
    sections += [(".dynamic", _DYNAMIC, entries, 1)] if needed else []
    sections += [(".note.gnu.build-id", _NOTE, other + note, 0)] if note else []
    sections += [(".comment", _PROGBITS, comment, 0)] if comment else []
    sections += [(".symtab", _SYMTAB, b"\0" * 24, 1)] if symbols else []
    table = b"\0".join(name.encode() for name, *_ in sections) + b"\0.shstrtab\0"
    sections.append((".shstrtab", _STRTAB, table, 0))
    content, headers = b"", b""
    begin = 64 if wide else 52
    for name, kind, text, link in sections:
        at, place = table.index(name.encode() + b"\0"), begin + len(content)
        form = order + ("2I4Q2I2Q" if wide else "10I")
        headers += struct.pack(form, at, kind, 0, 0, place, len(text), link, 0, 1, 0)
        content += text
    ident = b"\x7fELF" + bytes([2 if wide else 1, 1 if little else 2, 1]) + bytes(9)
    form = order + ("2HI3QI6H" if wide else "2HI3II6H")
    size = struct.calcsize(order + ("2I4Q2I2Q" if wide else "10I"))
    head = struct.pack(
        form, 3, 62, 1, 0, 0, begin + len(content), 0, begin, 0, 0, size, len(sections), len(sections) - 1
    )
    return ident + head + content + headers
