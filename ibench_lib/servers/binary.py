"""What the file of a server binary tells of how it was built, read from its ELF headers and a few small sections.

Nothing is executed, and nothing in the file is trusted: every offset and size may be wrong.
"""

from __future__ import annotations

import os
import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from ibench_lib.servers.server import AnyBuild

TELLS_NOTHING = "not found in the binary"

_MOST_SECTIONS = 4096
_MOST_BYTES = 1 << 16
_MOST_TEXT = 200
_MOST_TEXTS = 8
_NAMES_BYTES = 1 << 20
_NAME_BYTES = 256
_NOTE_BYTES = 4096

_CONTENT, _SYMBOLS, _DYNAMIC, _NOTE = 1, 2, 6, 7
"""Kinds of sections."""

_NEEDED, _BUILD_ID = 1, 3
"""Of entries of the dynamic section, and of notes."""

_ALLOCATORS = re.compile(r"lib(?:jemalloc|tcmalloc|mimalloc|hoard|snmalloc)\w*\.so")
_TLS_LIBRARIES = re.compile(r"lib(?:ssl|wolfssl|gnutls|yassl|mbedtls)\w*\.so")


@dataclass(frozen=True)
class BinaryFacts:
    """How a binary was built; None for what it does not tell.

    Attributes
    ----------
    compiler : what compilers have left in it, in their words; several are separated by `; `.
    build_id : hexadecimal digits that the linker made of its content.
    stripped : whether it has no symbol table.
    allocator, tls_library : the shared library that it links for memory, for TLS. None where it links none: then it
        has that of libc, or a static one.
    """

    compiler: str | None = None
    build_id: str | None = None
    stripped: bool | None = None
    allocator: str | None = None
    tls_library: str | None = None


def facts_of(path: Path) -> BinaryFacts:
    """What a file tells. A file that cannot be read, is no ELF file or is damaged tells nothing, or a part of it."""
    try:
        with open(path, "rb") as file:
            return _Elf(file).facts()
    except (OSError, _Damaged):
        return BinaryFacts()


def facts_of_build(build: AnyBuild) -> BinaryFacts | None:
    """What the binary of a build tells; None for a remote server."""
    return facts_of(Path(build.local.command[-1])) if build.local is not None else None


def unknown_facts(facts: BinaryFacts | None) -> dict[str, str]:
    """`binary.<fact>` -> why the fact is not known. A library that is not linked is no unknown fact."""
    if facts is None:
        return {"binary": "the server's binary is not on this host"}
    known = {"compiler": facts.compiler, "build_id": facts.build_id, "stripped": facts.stripped}
    return {f"binary.{name}": TELLS_NOTHING for name, value in known.items() if value is None}


class _Damaged(Exception):
    """The file is no ELF file, or a place that it names is outside of it."""


@dataclass(frozen=True)
class _Section:
    name: str
    kind: int
    offset: int
    size: int
    link: int


class _Elf:
    """An ELF file of 32 or 64 bits in either byte order."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._size = os.fstat(file.fileno()).st_size
        begin = self._at(0, 16)
        if begin[:4] != b"\x7fELF" or begin[4] not in (1, 2) or begin[5] not in (1, 2):
            raise _Damaged
        self._wide, self._order = begin[4] == 2, "<" if begin[5] == 1 else ">"
        self.sections = list(self._sections())

    def facts(self) -> BinaryFacts:
        needed = self._needed()
        return BinaryFacts(
            compiler=self._compiler(),
            build_id=self._build_id(),
            stripped=not any(section.kind == _SYMBOLS for section in self.sections) if self.sections else None,
            allocator=next(filter(_ALLOCATORS.match, needed), None),
            tls_library=next(filter(_TLS_LIBRARIES.match, needed), None),
        )

    def _compiler(self) -> str | None:
        comments = [section for section in self.sections if section.name == ".comment" and section.kind == _CONTENT]
        parts = [part for section in comments[:1] for part in self._content(section, _MOST_BYTES).split(b"\0")]
        texts = list(dict.fromkeys(filter(None, map(_plain, parts))))
        return "; ".join(texts[:_MOST_TEXTS]) or None

    def _build_id(self) -> str | None:
        for section in self.sections:
            content = self._content(section, _NOTE_BYTES) if section.kind == _NOTE else b""
            at = 0
            while at + 12 <= len(content):
                name_size, size, kind = struct.unpack_from(f"{self._order}3I", content, at)
                begin = at + 12 + -(-name_size // 4) * 4
                if kind == _BUILD_ID and content[at + 12 : begin] == b"GNU\0":
                    return content[begin : begin + min(size, 64)].hex() or None
                at = begin + -(-size // 4) * 4
        return None

    def _needed(self) -> list[str]:
        """The names of the shared libraries that it links."""
        dynamic = next((section for section in self.sections if section.kind == _DYNAMIC), None)
        if dynamic is None or dynamic.link >= len(self.sections):
            return []
        names, libraries = self.sections[dynamic.link], []
        form = self._form("qQ", "iI")
        entries = self._content(dynamic, _MOST_BYTES)
        whole = len(entries) - len(entries) % struct.calcsize(form)
        for tag, value in struct.iter_unpack(form, entries[:whole]):
            if tag == _NEEDED and value < names.size:
                name = self._at(names.offset + value, names.size - value, most=_NAME_BYTES, short=True)
                libraries.append(_plain(name.partition(b"\0")[0]))
        return libraries

    def _sections(self) -> Iterator[_Section]:
        # Offset of the section headers; size, number and index of that with their names.
        (start,) = self._numbers(0x28 if self._wide else 0x20, "Q", "I")
        size, number, of_names = self._numbers(0x3A if self._wide else 0x2E, "3H", "3H")
        form = self._form("2I4Q2I2Q", "10I")
        if start == 0 or number == 0:
            return
        if size < struct.calcsize(form) or number > _MOST_SECTIONS:
            raise _Damaged
        headers = [struct.unpack_from(form, self._at(start + n * size, size)) for n in range(number)]
        names = self._at(*headers[of_names][4:6], most=_NAMES_BYTES, short=True) if of_names < number else b""
        for name, kind, _, _, offset, length, link, *_ in headers:
            text = names[name : name + _NAME_BYTES].partition(b"\0")[0].decode("ascii", "replace")
            yield _Section(text, kind, offset, length, link)

    def _content(self, section: _Section, most: int) -> bytes:
        """The beginning of a section; empty where it is outside of the file."""
        try:
            return self._at(section.offset, section.size, most=most, short=True)
        except _Damaged:
            return b""

    def _numbers(self, offset: int, wide: str, narrow: str) -> tuple[int, ...]:
        form = self._form(wide, narrow)
        return struct.unpack(form, self._at(offset, struct.calcsize(form)))

    def _form(self, wide: str, narrow: str) -> str:
        return self._order + (wide if self._wide else narrow)

    def _at(self, offset: int, size: int, *, most: int = _MOST_BYTES, short: bool = False) -> bytes:
        """Bytes of the file; with `short` fewer if it ends before. Raises _Damaged where it does not have them."""
        if offset >= self._size:
            raise _Damaged
        self._file.seek(offset)
        content = self._file.read(min(size, most))
        if len(content) < size and not short:
            raise _Damaged
        return content


def _plain(text: bytes) -> str:
    """Printable text in one line, not long."""
    printable = re.sub(r"[^\x20-\x7e]+", " ", text.decode("ascii", "replace"))
    return " ".join(printable.split())[:_MOST_TEXT]
