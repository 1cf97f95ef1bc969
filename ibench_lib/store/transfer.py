"""Runs in another place: a folder, a .zip file, or an object store that fsspec knows, such as s3://bucket/lake.

A run lies there as it lies in data/runs, `<address>/<run_id>/`: Parquet, manifest, and what people say of it. The
manifest is copied last, so a run is there when all of it is. Credentials come from where the store's own library looks
for them (for S3: the environment, or the user's AWS configuration), never from an address.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import re
import shutil
import tempfile
import time
import zipfile
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO, Any, BinaryIO
from urllib.parse import urlsplit

import fsspec
import pyarrow as pa
from fsspec.implementations.zip import ZipFileSystem

from ibench_lib.base.durable import sync_directory, write_atomically, write_inside
from ibench_lib.base.scratch import scratch_directory
from ibench_lib.base.text_file import NotReadable, open_regular
from ibench_lib.errors import IbenchError, LakeError, NameRefused
from ibench_lib.paths import Workspace, check_run_id
from ibench_lib.schema import TABLES
from ibench_lib.store import contents
from ibench_lib.store.annotations import FILE as ANNOTATION
from ibench_lib.store.annotations import MOST_BYTES as MOST_BYTES_OF_NOTES
from ibench_lib.store.annotations import Annotation, parse_annotation, read_annotation
from ibench_lib.store.checksums import VerifiedFiles
from ibench_lib.store.discovery import (
    LakeContents,
    NewFile,
    batches,
    check_file,
    checked_manifest,
    entry_of,
    find_runs,
    is_worth_writing,
    refused_by_duckdb,
)
from ibench_lib.store.index import INDEXED, Index
from ibench_lib.store.manifest import (
    FILE_NAME,
    MOST_BYTES,
    OPTION_FILE,
    SERVER_LOG,
    TEXTS,
    FileRecord,
    Manifest,
    parse_manifest,
    unvouched,
)
from ibench_lib.store.sealing import table_of
from ibench_lib.store.verify import verify

_FOLDER = "store"
_PACKED = re.compile(r"\.index-[0-9a-f]{64}\.zip")
_MARKS = ("ETag", "etag", "md5Hash", "content_md5", "LastModified", "last_modified", "mtime", "created", "CRC")

ARRIVING = ".arriving-"
"""What the names of directories begin with, next to the runs, in which runs lie until all of them is there."""

_BESIDE = (*TEXTS, ANNOTATION)
_MOST_BYTES = {
    OPTION_FILE: 10_000_000,
    SERVER_LOG: 1_000_000_000,
    ANNOTATION: MOST_BYTES_OF_NOTES,
    FILE_NAME: MOST_BYTES,
}
"""Of what no manifest tells the size of."""
_PIECE = 1 << 20
_PART = 16 << 20
"""Bytes of a large file that an object store is given at once: S3 takes up to 10,000 parts of at least 5 MB."""
_LARGEST_INDEX = 500_000_000


@dataclass(frozen=True)
class Store:
    """A place that runs can be copied to and read from. `root` is its path in the file system's own words."""

    url: str
    files: Any  # fsspec ships no types
    root: str

    @property
    def is_local(self) -> bool:
        """Whether it is a folder of this machine."""
        return "file" in (self.files.protocol if isinstance(self.files.protocol, tuple) else (self.files.protocol,))

    def path(self, *parts: str) -> str:
        """A place below the store's root."""
        return str(PurePosixPath(self.root, *parts))

    @property
    def is_archive(self) -> bool:
        """Whether it is a .zip file of this machine."""
        return isinstance(self.files, ZipFileSystem)

    def run_ids(self) -> list[str]:
        """Names of the folders there that hold a manifest, sorted. Raises LakeError if the store cannot be reached."""
        if self.is_local:  # links as well, so that it is said why they are not read
            folders = Path(self.root).iterdir() if Path(self.root).is_dir() else []
            return sorted(folder.name for folder in folders if os.path.lexists(folder / FILE_NAME))
        paths = self.ask(lambda: self.files.glob(self.path("*", FILE_NAME)))
        if not paths:
            self.check_reachable()
        return sorted(PurePosixPath(path).parent.name for path in paths)

    def check_reachable(self) -> None:
        """Whether a store without a file answers: some libraries list what cannot be reached as empty."""

        def look() -> None:
            with contextlib.suppress(FileNotFoundError):  # an object store has no empty folders
                self.files.ls(self.root, detail=False)

        self.ask(look)

    def manifest(self, run_id: str) -> Manifest:
        """Raises LakeError where it cannot be read or is another run's."""
        manifest = parse_manifest(run_id, self.read(run_id, FILE_NAME, MOST_BYTES))
        if manifest.run_id != run_id:
            raise LakeError(f"run {run_id} in {self.url}: its manifest is of run {manifest.run_id!r:.80}")
        return manifest

    def read(self, run_id: str, name: str, most_bytes: int) -> bytes:
        """The content of a small file of a run; of one that is larger than it may be, its beginning and a byte more.

        Raises
        ------
        LakeError : it cannot be read, or is a link, a folder, a device or a pipe.
        """
        if self.is_local:
            with self._open_local(run_id, name) as file:
                return file.read(most_bytes + 1)
        content: bytes = self.ask(
            lambda: self.files.cat_file(self.path(run_id, name), start=0, end=most_bytes + 1)
        )  # nothing else is fetched
        return content

    def chunks(self, run_id: str, name: str) -> Iterator[bytes]:
        """The content of a file of a run, piece by piece. Raises LakeError as `read` does."""
        opened = (
            self._open_local(run_id, name)
            if self.is_local
            else self.ask(lambda: self.files.open(self.path(run_id, name), "rb"))
        )
        with opened as file:
            while piece := self.ask(lambda: file.read(_PIECE)):
                yield piece

    def _open_local(self, run_id: str, name: str) -> BinaryIO:
        """A file of a run in a folder that somebody else may write: no link is followed, and no pipe is waited for."""
        where = f"run {run_id} in {self.url}"
        try:
            with self._local_folder(run_id) as folder:
                return open_regular(Path(name), follow=False, inside=folder)
        except NotReadable as error:
            raise LakeError(f"{where}: {name} is unreadable: {error}") from error
        except FileNotFoundError as error:
            raise LakeError(f"{where}: {name} is missing") from error

    @contextlib.contextmanager
    def _local_folder(self, run_id: str) -> Iterator[int]:
        """The descriptor of a run's folder. Raises LakeError where a link or a file is in its place."""
        try:
            folder = os.open(self.path(run_id), os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except FileNotFoundError:
            raise
        except OSError as error:
            raise LakeError(f"run {run_id} in {self.url} is not a folder, but a link or a file") from error
        try:
            yield folder
        finally:
            os.close(folder)

    def write(self, run_id: str, source: Path) -> None:
        """Copy a file of a run here to the store, piece by piece. A link of that name there is replaced, not followed.

        Raises
        ------
        LakeError : the run's folder there is a link or a file, or the store cannot be written.
        """
        path = self.path(run_id, source.name)
        with open_regular(source, follow=False) as file:
            if self.is_local:
                self.ask(lambda: os.makedirs(self.path(run_id), exist_ok=True))
                with self._local_folder(run_id) as folder:
                    self.ask(partial(write_inside, folder, source.name, file))
                return

            def copy() -> None:
                with self._opened_to_write(path) as there:
                    shutil.copyfileobj(file, there, _PIECE)

            self.ask(copy)

    def _opened_to_write(self, path: str) -> Any:
        if self.is_archive:  # whose library would date each file 1980
            return self.files.zip.open(zipfile.ZipInfo(path, time.localtime()[:6]), "w", force_zip64=True)
        return self.files.open(path, "wb", block_size=_PART)

    def holds(self, run_id: str) -> bool:
        """Whether the store has a whole run of that id."""
        return bool(self.ask(lambda: self.files.exists(self.path(run_id, FILE_NAME))))

    def opened(self, address: str) -> Any:
        """A file of the store, for reading."""
        return self.files.open(self.files._strip_protocol(address), "rb")

    def ask(self, question: Callable[[], Any]) -> Any:
        """What the store answers; whatever its library raises becomes a LakeError."""
        try:
            return question()
        except Exception as error:  # every store's library has its own errors
            raise LakeError(
                f"{self.url}: {type(error).__name__}: {(str(error).splitlines() or ['no answer'])[0]}",
                hint="check the address, the credentials in your environment, and that the store can be reached",
            ) from error


def open_store(url: str) -> Store:
    """The store at an address.

    Raises
    ------
    LakeError : an unknown kind of address, a package that is missing, a password in the address, or a damaged archive.
    """
    if "@" in urlsplit(url).netloc:
        where = urlsplit(url)
        raise LakeError(
            f"{where.scheme}://…@{where.hostname}{where.path}: an address must not contain credentials",
            hint="put them where the store's library looks for them, such as AWS_ACCESS_KEY_ID or ~/.aws",
        )
    if is_archive(url):
        return _opened_archive(Path(url))
    try:
        files, root = fsspec.url_to_fs(url, use_listings_cache=False)
    except Exception as error:  # every kind of store has its own
        hint = "for S3: pip install 'ibench[s3]'" if isinstance(error, ImportError) else "such as s3://bucket/lake"
        raise LakeError(f"{url}: {(str(error).splitlines() or ['not an address'])[0]}", hint=hint) from error
    return Store(url, files, root)


def is_archive(url: str) -> bool:
    """Whether an address is that of a .zip file on this machine."""
    return url.endswith(".zip") and "://" not in url


class _Archive(ZipFileSystem):  # type: ignore[misc]  # fsspec ships no types
    """DuckDB wants to know when a file has changed: as part of an archive, never."""

    def modified(self, path: str) -> datetime:
        return datetime(1980, 1, 1, tzinfo=UTC)


def _opened_archive(path: Path) -> Store:
    """Raises LakeError where it is no zip file."""
    try:
        return Store(str(path), _Archive(str(path)), "")
    except (OSError, zipfile.BadZipFile) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else "not a zip file, or damaged"
        raise LakeError(f"{path}: {reason}", hint="`ibench runs push runs.zip` makes such a file") from error


@contextlib.contextmanager
def new_archive(path: Path) -> Iterator[Store]:
    """A zip file to push runs to. It is there when all of it is; Parquet is compressed already, so nothing else is.

    Raises
    ------
    LakeError : it is there already.
    OSError : it cannot be written.
    """
    if path.exists():
        raise LakeError(f"{path} exists already", hint="an archive is written once: give another name, or remove it")
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        with _nameless(path.parent) as (file, name):
            files = ZipFileSystem(file, mode="w")
            try:
                yield Store(str(path), files, "")
            except BaseException:
                with contextlib.suppress(OSError, ValueError):  # else it would try that when it is forgotten
                    files.close()
                raise
            files.close()
            file.flush()
            os.fchmod(file.fileno(), 0o644)
            # Unlike a rename, it never replaces what came in between. With a folder, os.link follows /proc's links.
            os.link(name, path, src_dir_fd=folder)
    except FileExistsError as error:
        raise LakeError(f"{path} exists already", hint="give another name, or remove it") from error
    finally:
        os.close(folder)


@contextlib.contextmanager
def _nameless(folder: Path) -> Iterator[tuple[IO[bytes], str]]:
    """A new file in a folder, and the path to link it by. Nothing is left of it, not even if this process is killed.

    On file systems that cannot do that it has a hidden name, which a killed process leaves.
    """
    hidden = None
    try:
        descriptor = os.open(folder, os.O_TMPFILE | os.O_RDWR, 0o600)
    except (OSError, AttributeError):  # macOS does not have it
        descriptor, hidden = tempfile.mkstemp(prefix=".ibench-", dir=folder)
    try:
        with os.fdopen(descriptor, "w+b") as file:
            yield file, hidden or f"/proc/self/fd/{descriptor}"
    finally:
        if hidden is not None:
            os.unlink(hidden)


def push(run_dir: Path, store: Store) -> bool:
    """Copy a sealed run to a store. False when it is there already, the same.

    Raises
    ------
    LakeError : it is not sealed, not good, or the store has another run of that name.
    """
    problems = verify(run_dir)
    if problems:
        raise LakeError(
            f"run {run_dir.name} is not good: {problems[0]}", hint="`ibench runs verify` lists all problems"
        )
    manifest = checked_manifest(run_dir)
    if store.holds(manifest.run_id):
        if store.manifest(manifest.run_id).files == manifest.files:
            _push_annotation(run_dir, store)
            return False
        raise LakeError(f"{store.url} has another run {manifest.run_id} already", hint="a run is never overwritten")
    unlisted = [name for name in _BESIDE if name not in manifest.files and (run_dir / name).is_file()]
    for name in (*manifest.files, *unlisted, FILE_NAME):
        store.write(run_dir.name, run_dir / name)
    return True


def pull(run_id: str, store: Store, workspace: Workspace, say: Callable[[str], None] = lambda _: None) -> bool:
    """Copy a run from a store into the lake, every file compared with its checksum. False when it is there already.

    `say` is given a sentence about notes of a run here that were replaced by later ones of the store, or were not.

    Raises
    ------
    LakeError : it cannot be read, is not what its manifest says, or is not the run of that name that is here. Then
        nothing is left of it here.
    """
    run_dir = workspace.run_dir(run_id)
    manifest = store.manifest(run_id)
    if not run_dir.exists():
        present = {PurePosixPath(path).name for path in store.ask(lambda: store.files.ls(store.path(run_id), False))}
        if take_in(manifest, present, partial(store.chunks, run_id), workspace, store.url):
            return True
    if manifest != checked_manifest(run_dir):
        raise LakeError(
            f"{store.url} has another run {run_id} than this lake",
            hint="a run is never overwritten, and nothing was taken from the other one, not its notes either",
        )
    _pull_annotation(run_dir, store, say)
    return False


def _push_annotation(run_dir: Path, store: Store) -> None:
    """Replace what the store says of a run by what was said here later."""
    mine, theirs = read_annotation(run_dir), _stored_annotation(run_dir.name, store)
    if mine is not None and (theirs is None or mine.moment > theirs.moment):
        store.write(run_dir.name, run_dir / ANNOTATION)


def _pull_annotation(run_dir: Path, store: Store, say: Callable[[str], None]) -> None:
    """Replace what is said here of a run by what the store says later."""
    mine, theirs = read_annotation(run_dir), _stored_annotation(run_dir.name, store)
    if theirs is None or str(theirs) == str(mine or Annotation()):
        return
    if mine is None or theirs.moment > mine.moment:
        write_atomically(run_dir / ANNOTATION, theirs.model_dump_json(indent=1).encode() + b"\n")
        say(f"its notes were replaced: {mine or Annotation()} -> {theirs}")
    elif theirs.moment.year == 1:
        say(f"its notes there are dated {theirs.changed}, in the future, and were not taken")


def _stored_annotation(run_id: str, store: Store) -> Annotation | None:
    path = store.path(run_id, ANNOTATION)
    if not store.ask(partial(store.files.exists, path)):
        return None
    return parse_annotation(run_id, store.read(run_id, ANNOTATION, MOST_BYTES_OF_NOTES))


def take_in(
    manifest: Manifest,
    present: Collection[str],
    read: Callable[[str], Iterable[bytes]],
    workspace: Workspace,
    where: str,
) -> bool:
    """Put a run that comes from `where` into the lake: all of it, each file as its manifest vouches for, or nothing.

    `present` are the names of its files, `read` gives the content of one in pieces, so
    that a store never decides how much memory it takes. False when the run is here already.

    Raises
    ------
    LakeError : a file is missing, or is not what the manifest says, or `ibench runs verify` would call the run bad.
    """
    run_id = manifest.run_id
    run_dir = workspace.run_dir(run_id)
    if run_dir.exists():
        return False
    workspace.runs.mkdir(parents=True, exist_ok=True)
    with scratch_directory(ARRIVING, workspace.runs) as scratch:
        arriving = scratch / run_id
        arriving.mkdir(0o755)
        for name in (*dict.fromkeys([*manifest.files, *(name for name in _BESIDE if name in present)]), FILE_NAME):
            if PurePosixPath(name).name != name:
                raise LakeError(f"run {run_id} in {where}: {name!r:.80} is not a file name")
            record = manifest.files.get(name)
            most = _MOST_BYTES[name] if record is None else record.bytes
            digest, size = hashlib.sha256(), 0
            with open(arriving / name, "wb") as file:
                for piece in read(name):
                    size += len(piece)
                    if size > most:
                        why = "that its manifest says" if record is not None else "that it may have"
                        raise LakeError(f"run {run_id} in {where}: {name} has more than the {most:,} bytes {why}")
                    digest.update(piece)
                    file.write(piece)
                file.flush()
                os.fsync(file.fileno())
            if record is not None and (size, digest.hexdigest()) != (record.bytes, record.sha256):
                raise LakeError(f"run {run_id} in {where}: {name} is not what its manifest vouches for")
        problems = verify(arriving)
        if problems:
            raise LakeError(f"run {run_id} in {where} is not good: {problems[0]}")
        try:
            os.rename(arriving, run_dir)
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise
            return False  # another process has taken it in meanwhile
        sync_directory(workspace.runs)
    return True


def find_stored_runs(store: Store, index: Index | None = None, *, at_once: bool = False) -> LakeContents:
    """All runs of a store. In an object store, files are compared by size only: `pull` compares checksums.

    An object store is listed, a request for each thousand files; what `index` or the index that `push_index` left there
    knows of runs that have not changed is not asked for again. `at_once` brings `index` up to date in any case.
    """
    if store.is_local:
        return find_runs([Path(store.root)], None, index)
    there, packed, odd = _listing(store)
    if not there:
        store.check_reachable()
    contents = LakeContents(index=index, folders={_FOLDER: store.files.unstrip_protocol(store.root)})
    unknown = dict(there)
    if index is not None:
        unknown = _unknown(there, index)
        if packed and is_worth_writing(len(unknown), len(there)):
            content: bytes = store.ask(
                partial(store.files.cat_file, store.path(packed[0]), start=0, end=_LARGEST_INDEX)
            )
            if hashlib.sha256(content).hexdigest() in packed[0] and index.unpack(content):
                unknown = _unknown(there, index)
        gone = len(index.stamps) - (len(there) - len(unknown))
        if is_worth_writing(len(unknown) + gone, len(there)) or (at_once and len(unknown) + gone > 0):
            entries = (
                entry_of((_FOLDER, run_id), _stamp(files), _read_stored(store, run_id, files), store.opened)
                for run_id, files in unknown.items()
            )
            if index.update(there.keys() - unknown.keys(), batches(entries)):
                unknown = _unknown(there, index)
        contents.not_indexed = sorted({name for _, name in index.stamps} - (there.keys() - unknown.keys()))
    for path in odd:
        contents.problem(path, None, "its name does not begin as that of its store: it is left out")
    for run_id, files in unknown.items():
        contents.take(_read_stored(store, run_id, files))
    return contents


def push_index(store: Store, index: Index) -> None:
    """Leave an index in an object store, so that others need not read every manifest there.

    Raises
    ------
    LakeError : the store cannot be read or written.
    """
    if store.is_local:
        return  # whoever reads a folder keeps an index of their own
    find_stored_runs(store, index, at_once=True)
    if not index.is_attached:
        return
    content = index.packed()
    name = f".index-{hashlib.sha256(content).hexdigest()}.zip"
    store.ask(partial(store.files.pipe_file, store.path(name), content))
    for other in _listing(store)[1]:
        if other != name:
            store.ask(partial(store.files.rm_file, store.path(other)))


def _listing(store: Store) -> tuple[dict[str, dict[str, dict[str, Any]]], list[str], list[str]]:
    """(what is known of each file of each run that has a manifest, names of packed indexes, paths from elsewhere)."""
    everything: dict[str, dict[str, Any]] = store.ask(lambda: store.files.find(store.root, detail=True))
    runs: dict[str, dict[str, dict[str, Any]]] = {}
    packed, odd = [], []
    for path, known in everything.items():
        try:
            parts = PurePosixPath(str(path)).relative_to(store.root).parts
        except ValueError:  # in an archive
            odd.append(str(path))
            continue
        if len(parts) == 2:
            runs.setdefault(parts[0], {})[parts[1]] = known
        elif len(parts) == 1 and _PACKED.fullmatch(parts[0]):
            packed.append(parts[0])
    return {run_id: runs[run_id] for run_id in sorted(runs) if FILE_NAME in runs[run_id]}, sorted(packed), odd


def _unknown(there: dict[str, dict[str, dict[str, Any]]], index: Index) -> dict[str, dict[str, dict[str, Any]]]:
    return {run_id: files for run_id, files in there.items() if index.stamps.get((_FOLDER, run_id)) != _stamp(files)}


def _stamp(files: dict[str, dict[str, Any]]) -> bytes:
    """What a listing shows of a run: sizes, and what the store says of each content (for S3: its MD5)."""
    seen = [
        (name, known.get("size"), str(next((known[key] for key in _MARKS if known.get(key) is not None), "")))
        for name, known in sorted(files.items())
    ]
    return hashlib.blake2b(repr(seen).encode(errors="backslashreplace"), digest_size=16).digest()


def _read_stored(store: Store, run_id: str, files: dict[str, dict[str, Any]]) -> LakeContents:
    """Everything of one run, or the reason why it cannot be read."""
    contents = LakeContents()
    try:
        manifest = store.manifest(check_run_id(run_id))
        if manifest.status == "running":
            raise LakeError(f"run {run_id}: {FILE_NAME} says that it is running, but what a store has is sealed")
        has_annotation = ANNOTATION in files
        unlisted = unvouched(manifest, store.read(run_id, FILE_NAME, MOST_BYTES), files.keys() - {ANNOTATION})
        contents.describe(manifest, lambda: _stored_annotation(run_id, store) if has_annotation else None, unlisted)
        _add_files(contents, store, manifest, {name: known.get("size") for name, known in files.items()})
    except NameRefused as error:
        contents = LakeContents()
        contents.problem(run_id, None, error.what)
    except IbenchError as error:
        contents = LakeContents()
        contents.problem(run_id, FILE_NAME, error.what)
    except Exception as error:  # an error in one run must not affect the others
        contents = LakeContents()
        contents.problem(run_id, FILE_NAME, f"it cannot be read: {type(error).__name__}: {str(error)[:200]}")
    return contents


def _check_copy(pieces: Iterable[bytes], record: FileRecord, run_id: str, name: str) -> pa.Schema:
    """The schema of a file that is copied to look at all of it. Raises any error if it is not good."""
    with tempfile.TemporaryDirectory(prefix="ibench-") as folder:
        path = Path(folder) / run_id / name
        path.parent.mkdir()
        with open(path, "wb") as copy:
            for piece in pieces:
                copy.write(piece)
                if copy.tell() > record.bytes:
                    break  # which is then said of its size
        new: list[NewFile] = []
        schema = check_file(path, record, run_id, VerifiedFiles(None), new)
        for _, why in refused_by_duckdb(new):
            raise ValueError(why)
        return schema


def _add_files(found: LakeContents, store: Store, manifest: Manifest, sizes: dict[str, Any]) -> None:
    for name, record in manifest.files.items():
        table = TABLES.get(table_of(name))
        if table is None:
            continue
        path = store.path(manifest.run_id, name)
        try:
            if sizes.get(name) != record.bytes:
                raise ValueError(f"{sizes.get(name, 'no')} bytes, but the manifest says {record.bytes}")
            if store.is_archive or table.name in INDEXED:
                schema = _check_copy(store.chunks(manifest.run_id, name), record, manifest.run_id, name)
            else:
                with store.files.open(path, "rb") as file:
                    schema = contents.check(file, table, record)
            found.add(table, store.files.unstrip_protocol(path), schema)
        except Exception as error:  # a file that is no table of ours can raise any error
            found.problem(manifest.run_id, name, (str(error).splitlines() or ["unreadable"])[0])
