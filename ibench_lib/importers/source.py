"""What an importer reads: a file, or many in a folder or an archive (.gz, .tar, .tar.gz, .zip; their content decides).

Nothing is unpacked to disk. Opening a source reads it once: it counts and hashes every file and keeps the beginning of
each. The content of a file is read again when an importer asks for it, and must still have the same hash.

A source comes from others. Links, devices and pipes, names that lead elsewhere, and names that occur twice are refused.
The number of files, their bytes, the ratio of compression and the text in memory have limits.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import IO, Protocol, cast

from ibench_lib.base.text_file import NotReadable, open_regular
from ibench_lib.errors import UsageError
from ibench_lib.importers.lines import LineBlocks, Lines

_DAMAGED = (OSError, EOFError, zlib.error, tarfile.TarError, zipfile.BadZipFile, ValueError,
            RuntimeError, ArithmeticError, LookupError, struct.error)  # fmt: skip
_BLOCK = 65_536
_PIECE = 1 << 20
_TAR_MAGIC = slice(257, 262)
# What `tarfile` holds in memory before a file, and what each file may have of it on average. They are small because its
# search in such records takes the square of their length.
_RECORD_BYTES, _RECORD_BYTES_A_FILE = 16_384, 2_560


@dataclass(frozen=True)
class Limits:
    """How much a source may have: a handful of bytes can stand for terabytes.

    Parameters
    ----------
    files : entries of a folder or an archive, folders among them.
    bytes : of all files together, not compressed.
    ratio : bytes that each byte of an archive may stand for, once there are more than `text_bytes` of them.
    text_bytes, texts_bytes : of a file that is read as text, and of all such files.
    whole_bytes : of a file that is no text and is read as a whole.
    index_bytes : of the index of a .zip file.
    name : characters of a name.
    """

    files: int = 10_000
    bytes: int = 2_000_000_000
    ratio: int = 200
    text_bytes: int = 10_000_000
    texts_bytes: int = 50_000_000
    whole_bytes: int = 50_000_000
    index_bytes: int = 4_000_000
    name: int = 255


LIMITS = Limits()


@dataclass(frozen=True)
class File:
    """A file of a source: its name with `/` between folders, its size in bytes, its hash, and its first bytes."""

    name: str
    size: int
    sha256: str
    first: bytes = field(repr=False)

    @property
    def beginning(self) -> str:
        """Its first lines, for `Importer.takes`; empty if it is not text. A byte order mark is left out."""
        if b"\0" in self.first:
            return ""
        try:
            return self.first.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            whole = error.start > len(self.first) - 4 and self.size > len(self.first)
            return self.first[: error.start].decode("utf-8-sig") if whole else ""


@dataclass(frozen=True)
class _Part:
    """A path of a source, and what tells it apart from the other paths."""

    path: Path
    store: _Store
    label: str

    @property
    def many(self) -> bool:
        """Whether it names each file."""
        return not isinstance(self.store, _Single)


class Source:
    """The files of one or several paths, sorted by name. `many`: there may be several, so that each has a name.

    Parameters
    ----------
    paths : files, folders or archives.
    limits : how much they may have together.

    Raises
    ------
    UsageError : one cannot be read, or is refused.
    """

    def __init__(self, paths: Path | Sequence[Path], limits: Limits | None = None) -> None:
        self.paths = [paths] if isinstance(paths, Path) else list(paths)
        self.limits = limits or LIMITS
        self._read: dict[str, Lines | LineBlocks] = {}
        self._texts_bytes = 0
        self._places: dict[str, tuple[_Part, str]] = {}
        labels = _labels(self.paths)
        with ExitStack() as stack:
            parts = [
                _Part(path, self._opened(path, stack), label) for path, label in zip(self.paths, labels, strict=True)
            ]
            self.many = len(parts) > 1 or parts[0].many
            self.in_order = list(self._scanned(parts))
            self._stack = stack.pop_all()
        self.files = sorted(self.in_order, key=lambda file: file.name)
        if not self.files:
            raise self._refused(self.paths[0], "has no files")

    def __enter__(self) -> Source:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def __str__(self) -> str:
        """Its name in messages."""
        more = len(self.paths) - 1
        return f"{self.paths[0]}" + (f" and {more} more" if more else "")

    def where(self, name: str) -> Path:
        """The name of a file for errors: below that of the folder or the archive."""
        part, inner = self._places[name]
        return part.path / inner if part.many else part.path

    def folders(self, name: str) -> list[str]:
        """The folders of a file from the outermost, beginning with the folder or archive that was given."""
        part, inner = self._places[name]
        label = part.label if part.many else part.label.rpartition("/")[0]
        return [folder for folder in [*label.split("/"), *inner.split("/")[:-1]] if folder]

    def lines(self, file: File) -> Lines:
        """The lines of a file in UTF-8, without a byte order mark, all in memory.

        Raises
        ------
        UsageError : it is too large, or not UTF-8, or no longer what it was.
        """
        there = self._read.get(file.name)
        if isinstance(there, Lines):
            return there
        where = self.where(file.name)
        if file.size > self.limits.text_bytes:
            raise self._unread(
                where, f"over {self.limits.text_bytes // 1_000_000} MB, too large for a file of this kind"
            )
        self._texts_bytes += file.size
        if self._texts_bytes > self.limits.texts_bytes:
            raise self._unread(
                where, f"over {self.limits.texts_bytes // 1_000_000} MB of text with the files before it"
            )
        content = b"".join(self._content(file))
        try:
            text = content.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise self._unread(where, f"byte {error.start + 1} is not UTF-8") from error
        self._read[file.name] = lines = Lines(where, text)
        return lines

    def blocks(self, file: File) -> LineBlocks:
        """The lines of a file of any size, block by block. Those of an archive are best read `in_order`.

        Raises
        ------
        UsageError : while it is read: it is not UTF-8, or no longer what it was.
        """
        self._read[file.name] = blocks = LineBlocks(self.where(file.name), self._content(file))
        return blocks

    def whole(self, file: File) -> bytes:
        """The content of a file that is no text, all in memory. It counts as read, without lines.

        Raises
        ------
        UsageError : it is too large, or no longer what it was.
        """
        where = self.where(file.name)
        if file.size > self.limits.whole_bytes:
            limit = self.limits.whole_bytes // 1_000_000
            raise self._unread(where, f"over {limit} MB, too large for a file of this kind")
        content = b"".join(self._content(file))
        self._read[file.name] = Lines(where, "")
        return content

    def read(self) -> dict[str, Lines | LineBlocks]:
        """What was read as text, by the name of the file."""
        return dict(self._read)

    def text(self) -> str:
        """The text of its only file."""
        return self.lines(self.files[0]).text

    def _content(self, file: File) -> Iterator[bytes]:
        """The content of a file, in pieces of about a MiB; it must have the same hash as when it was scanned."""
        where, (part, inner) = self.where(file.name), self._places[file.name]
        digest, size, pieces, pieces_bytes = hashlib.sha256(), 0, [], 0
        with self._damage(where):
            for block in part.store.content(inner):
                digest.update(block)
                size += len(block)
                pieces.append(block)
                pieces_bytes += len(block)
                if size > file.size:
                    break
                if pieces_bytes >= _PIECE:
                    yield b"".join(pieces)
                    pieces, pieces_bytes = [], 0
        if digest.hexdigest() != file.sha256:
            raise self._unread(where, "it was changed while it was imported")
        yield b"".join(pieces)

    def _opened(self, path: Path, stack: ExitStack) -> _Store:
        if os.path.isdir(path):
            return _Folder(path, self.limits)
        try:
            file = stack.enter_context(open_regular(path))
        except FileNotFoundError:
            raise self._unread(path, "no such file") from None
        except NotReadable as error:
            raise self._unread(path, str(error)) from error
        with self._damage(path):
            start = file.read(512)
            file.seek(0)
            if start[:4] in (b"PK\3\4", b"PK\5\6"):
                return _Zip(stack, file, self.limits)
            size = os.fstat(file.fileno()).st_size
            if start[:2] != b"\x1f\x8b":
                stream = _Stream(file, None, self.limits)
                return _Tar(stream) if start[_TAR_MAGIC] == b"ustar" else _Single(stream, path.name)
            unpacked = cast("IO[bytes]", gzip.GzipFile(fileobj=file))
            stack.callback(unpacked.close)
            stream = _Stream(unpacked, size, self.limits)
            begin = stream.take(512)
            stream.rewind()
            inner = path.name.removesuffix(".gz") or path.name
            return _Tar(stream) if begin[_TAR_MAGIC] == b"ustar" else _Single(stream, inner)

    def _scanned(self, parts: list[_Part]) -> Iterator[File]:
        """Every file, read once from its beginning to its end, in the order of each folder or archive."""
        total = 0
        for part in parts:
            before = total
            with self._damage(part.path):
                for inner, blocks in part.store.entries():
                    name = inner if len(parts) == 1 else f"{part.label}/{inner}" if part.many else part.label
                    if name in self._places:
                        raise _Refused(f"has {inner!r:.80} twice")
                    self._places[name] = part, inner
                    _check_count(len(self._places), self.limits)
                    digest, size, first = hashlib.sha256(), 0, b""
                    for block in blocks:
                        digest.update(block)
                        size += len(block)
                        first = (first + block)[: 4_096 if self.many else _BLOCK] if len(first) < 4_096 else first
                        _check_bytes(total + size, None, self.limits)
                        _check_bytes(total - before + size, part.store.packed_bytes, self.limits)
                    total += size
                    yield File(name, size, digest.hexdigest(), first)

    @contextmanager
    def _damage(self, where: Path) -> Iterator[None]:
        """What the libraries raise about bytes that they cannot read, in one line."""
        try:
            yield
        except _Refused as error:
            raise self._refused(where, str(error)) from None
        except NotReadable as error:
            raise self._unread(where, str(error)) from error
        except _DAMAGED as error:
            if isinstance(error, OSError) and error.strerror:
                raise self._unread(where, error.strerror) from error
            said = (str(error).splitlines() or [""])[0][:200] or type(error).__name__
            raise self._unread(where, f"it is damaged ({said})") from error

    def _unread(self, where: Path, why: str) -> UsageError:
        return UsageError(f"{where} cannot be read: {why}")

    def _refused(self, where: Path, what: str) -> UsageError:
        return UsageError(
            f"{where} {what}", hint="import a folder or an archive of plain files; docs/importing.md has the limits"
        )


def _labels(paths: Sequence[Path]) -> list[str]:
    """The name of each path, with as many of its folders as it takes to tell all of them apart.

    Raises
    ------
    UsageError : a path is given twice.
    """
    parts = [path.resolve().parts[1:] for path in paths]
    for number, path in enumerate(paths):
        if parts[number] in parts[:number]:
            raise UsageError(f"{path} is given twice")
    depth = 1
    while len({part[-depth:] for part in parts}) < len(parts):
        depth += 1
    return ["/".join(part[-depth:]) for part in parts]


class _Refused(Exception):
    """What a source has and must not have, as the end of a line that begins with its path."""


class _Store(Protocol):
    """Where the files are. `packed_bytes` is the size of the archive; None if nothing is compressed."""

    packed_bytes: int | None

    def entries(self) -> Iterator[tuple[str, Iterator[bytes]]]:
        """Names and content; the content of each is read before the next."""

    def content(self, name: str) -> Iterator[bytes]:
        """The content of a file that `entries` had."""


class _Stream:
    """Bytes that are read forwards, counted against the limits, as a file for `tarfile`.

    `tarfile` holds in memory what it reads: its own records. What it skips is only counted.
    """

    def __init__(self, file: IO[bytes], packed_bytes: int | None, limits: Limits) -> None:
        self._file = file
        self.packed_bytes = packed_bytes
        self.limits = limits
        self._at = 0
        self._reread = 0
        self._record_bytes = 0
        self.record = b""

    def read(self, size: int = -1) -> bytes:
        """As of a file, for records only."""
        self._record_bytes += max(size, 0)
        if size < 0 or self._record_bytes > _RECORD_BYTES:
            raise _Refused(f"has over {_RECORD_BYTES:,} bytes of records before a file")
        self.record = self.take(size)
        return self.record

    def next_entry(self) -> None:
        """The records before an entry have been read."""
        self._record_bytes = max(0, self._record_bytes - _RECORD_BYTES_A_FILE)

    def take(self, size: int) -> bytes:
        """At most `size` bytes of content."""
        block = self._file.read(size)
        self._at += len(block)
        return block

    def tell(self) -> int:
        """Bytes that were read."""
        return self._at

    def seek(self, place: int, whence: int = 0) -> int:
        """Go forwards."""
        if whence or place < self._at:
            raise _Refused("has records that point backwards")
        while self._at < place and self.take(min(_BLOCK, place - self._at)):
            _check_bytes(self._at, self.packed_bytes, self.limits)
        return self._at

    def rewind(self) -> None:
        """Go to the beginning. What is read again is limited, too."""
        self._reread += self._at
        if self._reread > 10 * self.limits.bytes:
            raise _Refused("has to be read too often; pack its files in the order of their names")
        self._file.seek(0)
        self._at = 0

    def blocks(self, size: int | None = None) -> Iterator[bytes]:
        """The next `size` bytes, or all that are left."""
        left = size
        while left is None or left > 0:
            block = self.take(_BLOCK if left is None else min(_BLOCK, left))
            if not block:
                if left is not None:
                    raise EOFError("it ends within a file")
                return
            left = None if left is None else left - len(block)
            yield block


class _Single(_Store):
    """One file, perhaps compressed."""

    def __init__(self, stream: _Stream, name: str) -> None:
        self._stream = stream
        self._name = name
        self.packed_bytes = stream.packed_bytes

    def entries(self) -> Iterator[tuple[str, Iterator[bytes]]]:
        """The one file."""
        yield self._name, self._stream.blocks()

    def content(self, name: str) -> Iterator[bytes]:
        """That file, from its beginning again."""
        self._stream.rewind()
        return self._stream.blocks()


class _Tar(_Store):
    """A .tar file, perhaps compressed, read from its beginning to its end."""

    def __init__(self, stream: _Stream) -> None:
        self._stream = stream
        self.packed_bytes = stream.packed_bytes
        self._places: dict[str, tuple[int, int]] = {}

    def entries(self) -> Iterator[tuple[str, Iterator[bytes]]]:
        """In the order of the archive, which must have its mark of the end and nothing behind it."""
        limits = self._stream.limits
        archive = tarfile.TarFile(fileobj=self._stream, mode="r", errorlevel=2)  # type: ignore[arg-type]
        number = 0
        while (entry := archive.next()) is not None:
            archive.pax_headers = {}  # it keeps all that it has seen
            vars(archive)["members"].clear()
            self._stream.next_entry()
            number += 1
            _check_count(number, limits)
            name = checked_name(entry.name.rstrip("/") if entry.isdir() else entry.name, limits)
            if entry.issym() or entry.islnk():
                raise _Refused(f"has a link, {name!r:.80}, which is not followed")
            if not entry.isdir():
                if not entry.isreg() or entry.issparse():
                    raise _Refused(f"has {name!r:.80}, which is not a plain file")
                self._places[name] = entry.offset_data, entry.size
                self._stream.seek(entry.offset_data)
                yield name, self._stream.blocks(entry.size)
        # `tarfile` takes anything that is no record for the end.
        if self._stream.record != bytes(tarfile.BLOCKSIZE):
            raise EOFError("it ends without a mark of the end")
        at = self._stream.tell()
        for block in self._stream.blocks():
            at += len(block)
            _check_bytes(at, self.packed_bytes, limits)
            if block.strip(b"\0"):
                raise _Refused("has more after its end")

    def content(self, name: str) -> Iterator[bytes]:
        """Read on to the file, or again from the beginning if it lies before."""
        offset, size = self._places[name]
        if offset < self._stream.tell():
            self._stream.rewind()
        self._stream.seek(offset)
        return self._stream.blocks(size)


class _Index:
    """A .zip file for `zipfile`, which holds the index in memory."""

    def __init__(self, file: IO[bytes], most_bytes: int) -> None:
        self._file = file
        self._most_bytes = most_bytes

    def read(self, size: int = -1) -> bytes:
        """As of a file."""
        if size > self._most_bytes:
            raise _Refused(f"has an index of over {self._most_bytes // 1_000_000} MB")
        content = self._file.read(self._most_bytes + 1 if size < 0 else size)
        if len(content) > self._most_bytes:
            raise _Refused(f"has an index of over {self._most_bytes // 1_000_000} MB")
        return content

    def seek(self, place: int, whence: int = 0) -> int:
        """As of a file."""
        return self._file.seek(place, whence)

    def tell(self) -> int:
        """As of a file."""
        return self._file.tell()

    def seekable(self) -> bool:
        """As of a file."""
        return True


class _Zip(_Store):
    """A .zip file. Its methods of compression are the two that can be unpacked in bounded memory."""

    def __init__(self, stack: ExitStack, file: IO[bytes], limits: Limits) -> None:
        self.packed_bytes: int | None = os.fstat(file.fileno()).st_size
        self._limits = limits
        self._archive = stack.enter_context(zipfile.ZipFile(_Index(file, limits.index_bytes)))
        self._entries: dict[str, zipfile.ZipInfo] = {}

    def entries(self) -> Iterator[tuple[str, Iterator[bytes]]]:
        """In the order of the index."""
        for number, entry in enumerate(self._archive.infolist(), start=1):
            _check_count(number, self._limits)
            name = checked_name(entry.orig_filename.removesuffix("/"), self._limits)
            kind = stat.S_IFMT(entry.external_attr >> 16)
            if kind == stat.S_IFLNK:
                raise _Refused(f"has a link, {name!r:.80}, which is not followed")
            if entry.is_dir():
                continue
            if kind not in (0, stat.S_IFREG):
                raise _Refused(f"has {name!r:.80}, which is not a plain file")
            if entry.flag_bits & 1:
                raise _Refused(f"has {name!r:.80}, which is encrypted")
            if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise _Refused(f"has {name!r:.80}, compressed by a method other than deflate")
            self._entries.setdefault(name, entry)
            yield name, self._blocks(entry)

    def content(self, name: str) -> Iterator[bytes]:
        """The file by its entry in the index."""
        return self._blocks(self._entries[name])

    def _blocks(self, entry: zipfile.ZipInfo) -> Iterator[bytes]:
        with self._archive.open(entry) as file:
            while block := file.read(_BLOCK):
                yield block


class _Folder(_Store):
    """A folder and those below it."""

    packed_bytes: int | None = None

    def __init__(self, path: Path, limits: Limits) -> None:
        self._path = path
        self._limits = limits

    def entries(self) -> Iterator[tuple[str, Iterator[bytes]]]:
        """The files of each folder, then those of the folders in it."""
        number, below = 0, [""]
        while below:
            folder = below.pop()
            with self._folder(folder) as descriptor, os.scandir(descriptor) as listed:
                for entry in listed:
                    number += 1
                    _check_count(number, self._limits)
                    name = checked_name(f"{folder}/{entry.name}" if folder else entry.name, self._limits)
                    if entry.is_symlink():
                        raise _Refused(f"has a link, {name!r:.80}, which is not followed")
                    if entry.is_dir(follow_symlinks=False):
                        below.append(name)
                    elif entry.is_file(follow_symlinks=False):
                        yield name, self.content(name)
                    else:
                        raise _Refused(f"has {name!r:.80}, which is not a plain file")

    def content(self, name: str) -> Iterator[bytes]:
        """The file, reached through no link."""
        folder, _, last = name.rpartition("/")
        try:
            with self._folder(folder) as descriptor, open_regular(Path(last), follow=False, inside=descriptor) as file:
                while block := file.read(_BLOCK):
                    yield block
        except (OSError, NotReadable) as error:
            why = (error.strerror if isinstance(error, OSError) else None) or str(error)
            raise NotReadable(f"{name!r:.80}: {why}") from error

    @contextmanager
    def _folder(self, name: str) -> Iterator[int]:
        """The descriptor of a folder, reached through no link."""
        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
        descriptor = os.open(self._path, flags)
        try:
            for part in filter(None, name.split("/")):
                inner = os.open(part, flags | os.O_NOFOLLOW, dir_fd=descriptor)
                os.close(descriptor)
                descriptor = inner
            yield descriptor
        finally:
            with suppress(OSError):
                os.close(descriptor)


def checked_name(name: str, limits: Limits) -> str:
    """The name of an entry without `./` before it. Refused are names that lead elsewhere or cannot be printed."""
    parts = [part for part in name.split("/") if part != "."]
    if name.startswith("/") or ".." in parts or "\\" in name:
        raise _Refused(f"has the name {name!r:.80}, which leads out of it")
    if len(name) > limits.name or not name.isprintable() or "" in parts:
        raise _Refused(f"has the name {name!r:.80}, which cannot be used")
    return "/".join(parts)


def _check_count(number: int, limits: Limits) -> None:
    if number > limits.files:
        raise _Refused(f"has over {limits.files:,} files")


def _check_bytes(unpacked: int, packed: int | None, limits: Limits) -> None:
    if unpacked > limits.bytes:
        raise _Refused(f"has over {limits.bytes / 1e6:,g} MB of files")
    if packed is not None and unpacked > max(limits.text_bytes, limits.ratio * packed):
        raise _Refused(f"is packed more than {limits.ratio} times as small as its files are")
