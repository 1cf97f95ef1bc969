"""Which runs a lake has, and which of their files and rows count. What cannot be read is left out and named.

Whatever goes wrong while one run is read is that run's problem: the others load.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from io import BufferedReader
from itertools import islice
from operator import itemgetter
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

from ibench_lib.base.later import later
from ibench_lib.base.text_file import NotReadable, open_regular
from ibench_lib.errors import IbenchError, LakeError
from ibench_lib.paths import check_run_id
from ibench_lib.schema import TABLES, Table, nullable_schema
from ibench_lib.store import checksums, lock
from ibench_lib.store.checksums import VerifiedFiles
from ibench_lib.store.index import INDEXED, Entry, Index
from ibench_lib.store.journal import FOLDER, Journal, joined, read_streams
from ibench_lib.store.manifest_tables import MANIFEST_TABLES, manifest_rows

# What reads a run takes longer to import than all runs of a lake take to find in its index.
if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

    from ibench_lib.store import annotations as notes
    from ibench_lib.store import contents, open_steps, sealing
    from ibench_lib.store import manifest as manifests
    from ibench_lib.store.annotations import Annotation
    from ibench_lib.store.manifest import FileRecord, Manifest
else:
    pa, pq = later("pyarrow"), later("pyarrow.parquet")
    notes, contents, manifests, open_steps, sealing = (
        later(f"ibench_lib.store.{name}") for name in ("annotations", "contents", "manifest", "open_steps", "sealing")
    )

_T = TypeVar("_T")

_ATTEMPTS = 5
# Reading a run takes milliseconds, writing the index a second: so many runs may wait until it is written.
_MAY_WAIT, _SHARE_THAT_MAY_WAIT = 8, 1 / 100
_BATCH = 50
_SCHEMAS_REMEMBERED = 1000
_SMALL = 10_000_000
_ANOTHER = "its content does not match the SHA-256 in the manifest"


@dataclass
class Sources:
    """Where the rows of one table come from: files of sealed runs, by path or address, rows of runs that are not."""

    files: list[tuple[str, str]] = field(default_factory=list)
    live: list[pa.Table] = field(default_factory=list)

    def alike(self) -> list[tuple[str, list[str]]]:
        """The files by what columns of what types they have: (columns as `columns_of` writes them, files)."""
        groups: dict[str, list[str]] = {}
        for file, columns in self.files:
            groups.setdefault(columns, []).append(file)
        return list(groups.items())


@dataclass
class LakeContents:
    """What a lake has. `problems` has the columns of the table of that name, `rows` those of the others from manifests.

    Of runs that are in `index` and not in `not_indexed` only the index has rows and files; `folders` has the address
    of each folder by the name that the index calls it.
    """

    rows: dict[str, list[pa.Table]] = field(
        default_factory=lambda: {name: [] for name in MANIFEST_TABLES if name != "problems"}
    )
    sources: dict[str, Sources] = field(default_factory=lambda: {name: Sources() for name in TABLES})
    problems: list[dict[str, str | None]] = field(default_factory=list)
    index: Index | None = None
    not_indexed: list[str] = field(default_factory=list)
    folders: dict[str, str] = field(default_factory=dict)
    indexed_files: list[tuple[str, str, list[str] | None]] = field(default_factory=list)

    def describe(
        self,
        manifest: Manifest,
        annotation: Callable[[], Annotation | None] = lambda: None,
        unvouched: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """Add the content of a run's manifest, what people say of the run, and its files without a checksum.

        Raises any error for a manifest that the tables cannot hold. An annotation that cannot be read is a problem.
        """
        content = manifest_rows([manifest])
        try:
            said = annotation()
        except LakeError as error:
            said = None
            self.problem(manifest.run_id, notes.FILE, error.what)
        if said is not None:
            content["annotations"] = [{"run_id": manifest.run_id, **said.model_dump(exclude={"changed"})}]
        content["unvouched"] = [
            {"run_id": manifest.run_id, "file": _readable(name), "kind": kind} for name, kind in unvouched.items()
        ]
        tables = {
            name: pa.Table.from_pylist(rows, schema=nullable_schema(MANIFEST_TABLES[name]))
            for name, rows in content.items()
        }
        for name, table in tables.items():
            table.validate(full=True)
            self.rows[name].append(table)

    def add(self, table: Table, file: str, schema: pa.Schema) -> None:
        """Add a file of a sealed run, which has been checked."""
        self.sources[table.name].files.append((file, columns_of(schema)))

    def problem(self, run_id: str, file: str | None, what: str) -> None:
        """Note what is wrong with a run, and in which file; None: with all of it."""
        self.problems.append(
            {"run_id": _readable(run_id), "file": file and _readable(file), "problem": _readable(what, 500)}
        )

    def take(self, other: LakeContents) -> None:
        """Add everything that was found of another run."""
        for name, tables in other.rows.items():
            self.rows[name] += tables
        for name, source in other.sources.items():
            self.sources[name].files += source.files
            self.sources[name].live += source.live
        self.problems += other.problems


@dataclass(frozen=True)
class RunPlace:
    """A run directory as a listing shows it. `stamp` is None where it may change without showing it."""

    path: Path
    is_open: bool
    stamp: bytes | None

    @property
    def key(self) -> tuple[str, str]:
        """Its name in the index."""
        return self.path.parent.name, self.path.name


def find_runs(folders: Sequence[Path], cache: Path | None, index: Index | None = None) -> LakeContents:
    """Find the runs below some folders, and check the files that their manifests vouch for.

    `cache` is where it is kept what has been compared with its checksum; None compares everything. What `index` knows
    of runs that have not changed is not read again, and it is brought up to date. Of a run that is in two folders the
    first counts.
    """
    contents = LakeContents(index=index, folders={folder.name: str(folder) for folder in folders})
    verified = VerifiedFiles(cache)
    places: dict[str, RunPlace] = {}
    for run_dir in [run_dir for folder in folders for run_dir in run_dirs(folder, contents)]:
        if run_dir.name in places:
            contents.problem(run_dir.name, None, f"it is also in {run_dir.parent.name}/ and is counted once")
            continue
        places[run_dir.name] = _look_at(run_dir)
    unknown = list(places.values())
    if index is not None:
        unknown = [place for place in unknown if not _is_known(place, index)]
        sealed = [place for place in unknown if place.stamp is not None]
        gone = len(index.stamps) - (len(places) - len(unknown))
        if is_worth_writing(len(sealed) + gone, len(places)):
            known = places.keys() - {place.path.name for place in unknown}
            read = (each for some in batches(sealed) for each in _read_all(some, verified))
            entries = (entry_of(place.key, place.stamp, found_of_it, Path) for place, found_of_it in read)
            if index.update(known, batches(entries)):
                unknown = [place for place in unknown if not _is_known(place, index)]
        contents.not_indexed = sorted(
            {name for _, name in index.stamps} - (places.keys() - {p.path.name for p in unknown})
        )
    for some in batches(unknown):
        for _, found_of_it in _read_all(some, verified):
            contents.take(found_of_it)
    verified.save()
    return contents


def _is_known(place: RunPlace, index: Index) -> bool:
    return place.stamp is not None and index.stamps.get(place.key) == place.stamp


def _look_at(run_dir: Path) -> RunPlace:
    """What a listing of a run directory shows: change times cannot be set back without privileges."""
    try:
        # By its descriptor, so that the kernel need not look up the path of each entry.
        descriptor = os.open(run_dir, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        return RunPlace(run_dir, False, None)  # reading it will report the reason
    try:
        with os.scandir(descriptor) as listing:
            # Five thousand runs have 85,000 entries: nothing else is done for each of them.
            seen = [(entry.name, entry.stat(follow_symlinks=False)) for entry in listing]
    except OSError:
        return RunPlace(run_dir, False, None)
    finally:
        os.close(descriptor)
    seen.sort(key=itemgetter(0))
    names = [name for name, _ in seen]
    changed = [status.st_ctime_ns for _, status in seen]
    if FOLDER in names or time.time_ns() - max(changed, default=0) < checksums.YOUNG_NS:
        return RunPlace(run_dir, lock.is_open(run_dir), None)
    numbers = array("q", changed)
    numbers.extend([number for _, status in seen for number in status[:2]])  # mode and inode
    numbers.extend([status.st_size for _, status in seen])
    content = os.fsencode("\0".join(names)) + numbers.tobytes()
    return RunPlace(run_dir, False, hashlib.blake2b(content, digest_size=16).digest())


def is_worth_writing(changes: int, runs: int) -> bool:
    """Whether the index has fallen behind by so much."""
    return changes > max(_MAY_WAIT, _SHARE_THAT_MAY_WAIT * runs)


def batches(entries: Iterable[_T]) -> Iterator[list[_T]]:
    """The entries in lists of at most `_BATCH`."""
    waiting = iter(entries)
    while batch := list(islice(waiting, _BATCH)):
        yield batch


def entry_of(key: tuple[str, str], stamp: bytes | None, contents: LakeContents, at: Callable[[str], Any]) -> Entry:
    """What the index keeps of a sealed run. `at` makes what pyarrow can read of the address of a file."""
    folder, run_id = key
    entry = Entry(run_id, folder, stamp)
    try:
        for name in INDEXED:
            for file, _ in contents.sources[name].files:
                entry.rows[name] = _rows_of(at(file), run_id, TABLES[name])
            contents.sources[name].files = []
    except Exception as error:  # the file is what was written, but not one of our tables
        contents = LakeContents()
        contents.problem(run_id, None, f"it cannot be read: {_first_line(error)}")
        entry.rows = {}
    entry.problems = contents.problems
    entry.rows |= {name: tables[0] for name, tables in contents.rows.items() if tables}
    entry.files = [
        (PurePosixPath(file).name, name, columns)
        for name, source in contents.sources.items()
        for file, columns in source.files
    ]
    return entry


def _rows_of(file: Any, run_id: str, table: Table) -> pa.Table:
    """The rows of a file that are of its run, with all declared columns."""
    import pyarrow.compute as pc  # as slow to import as a lake of a hundred runs is to open

    schema = nullable_schema(table.kinds)
    content = pq.read_table(file)
    content = content.select([name for name in content.schema.names if name in schema.names])
    content = pa.concat_tables([schema.empty_table(), content], promote_options="permissive")
    content = content.select(schema.names).cast(schema)
    return content.filter(pc.equal(content.column("run_id"), run_id))


def _read_all(places: Sequence[RunPlace], verified: VerifiedFiles) -> list[tuple[RunPlace, LakeContents]]:
    """Everything of each of some runs."""
    new: list[NewFile] = []
    read = {place.path: (place, _read(place, verified, new)) for place in places}
    refused = refused_by_duckdb(new)
    for each, why in refused:
        _, contents = read[each.path.parent]
        source = contents.sources[each.table.name]
        source.files = [(file, columns) for file, columns in source.files if file != str(each.path)]
        contents.problem(each.path.parent.name, each.path.name, why)
    bad = {each.path for each, _ in refused}
    for each in new:
        if each.path not in bad:
            verified.remember(each.path, each.status, each.record.sha256)
    return list(read.values())


def _read(place: RunPlace, verified: VerifiedFiles, new: list[NewFile]) -> LakeContents:
    """Everything of one run, or the reason why it cannot be read."""
    contents, run_dir = LakeContents(), place.path
    try:
        manifest = checked_manifest(run_dir)
        # A journal next to complete files is only waiting to be removed.
        if place.is_open and lock.is_open(run_dir) and not _is_whole(manifest):
            _add_open_run(contents, run_dir, new)
        else:
            _add_sealed_run(contents, run_dir, _sealed_manifest(run_dir, manifest), verified, new)
    except IbenchError as error:
        contents = LakeContents()
        contents.problem(run_dir.name, manifests.FILE_NAME, error.what)
    except Exception as error:  # an error in one run must not affect the others
        contents = LakeContents()
        why = f"it cannot be read: {type(error).__name__}: {_first_line(error)}"
        contents.problem(run_dir.name, manifests.FILE_NAME, why)
    return contents


def _sealed_manifest(run_dir: Path, manifest: Manifest) -> Manifest:
    """The manifest of a run without a journal, which must have ended. Raises LakeError."""
    if manifest.status == "running" and not lock.is_open(run_dir):
        manifest = checked_manifest(run_dir)  # it may have been sealed since
        if manifest.status == "running" and not lock.is_open(run_dir):
            raise LakeError(f"run {run_dir.name}: {manifests.FILE_NAME} says that it is running, but it has no journal")
    return manifest


def checked_manifest(run_dir: Path) -> Manifest:
    """The manifest of a run directory, which must be its own.

    Raises
    ------
    LakeError : it cannot be read, or is another run's.
    """
    manifest = manifests.read_manifest(run_dir)
    if manifest.run_id != run_dir.name:
        raise LakeError(f"run {run_dir.name}: its manifest is of run {manifest.run_id!r:.80}")
    return manifest


@dataclass(frozen=True)
class NewFile:
    """A file that is good as far as Arrow can tell. `status` is what the system said of it when it was open."""

    path: Path
    record: FileRecord
    table: Table
    schema: pa.Schema
    status: os.stat_result


def check_file(path: Path, record: FileRecord, run_id: str, verified: VerifiedFiles, new: list[NewFile]) -> pa.Schema:
    """Whether a file is what the manifest of its run vouches for, and has rows of its table. Returns its schema.

    A file that was not known to be good is added to `new`, for `refused_by_duckdb`.

    Raises
    ------
    ValueError, OSError, pa.ArrowException, MemoryError : it is not, and why.
    """
    table = TABLES[sealing.table_of(path.name)]
    with _opened(path, record) as file:
        status = os.fstat(file.fileno())
        is_known = verified.knows(path, status, record.sha256)
        if not is_known and not checksums.is_sha256_of(file, record.sha256):
            raise ValueError(_ANOTHER)
        schema = _schema_of(file, record, table, run_id, is_known=is_known)
    if not is_known:
        new.append(NewFile(path, record, table, schema, status))
    return schema


def check_content(path: Path, record: FileRecord) -> None:
    """Compare a file of any kind with its record. Raises ValueError and OSError as `check_file` does."""
    with _opened(path, record) as file:
        if not checksums.is_sha256_of(file, record.sha256):
            raise ValueError(_ANOTHER)


def _opened(path: Path, record: FileRecord) -> BufferedReader:
    """A regular file of the size that its record has. Raises ValueError where it is none."""
    try:
        file = open_regular(path, follow=False)
    except FileNotFoundError:
        raise ValueError("missing, though the manifest lists it") from None
    except NotReadable as error:
        raise ValueError(str(error)) from None
    size = os.fstat(file.fileno()).st_size
    if size != record.bytes:
        file.close()
        raise ValueError(f"{size} bytes, but the manifest says {record.bytes}")
    return file


def refused_by_duckdb(new: Sequence[NewFile]) -> list[tuple[NewFile, str]]:
    """The files that DuckDB cannot read, or in which it does not find the rows of their run, and why.

    Files with the same columns are read at once, and one by one only if that fails.
    """
    groups: dict[tuple[str, str], list[NewFile]] = {}
    for each in new:
        groups.setdefault((each.table.name, columns_of(each.schema)), []).append(each)
    refused = []
    for alike in groups.values():
        names = [column.name for column in alike[0].table.columns if column.name in alike[0].schema.names]
        for some in (alike, *([each] for each in alike)):
            try:
                rows = contents.check_as_duckdb([str(each.path) for each in some], names)
            except ValueError as error:
                refused += [(each, str(error)) for each in some if len(some) == 1 and some is not alike]
                continue
            counted = ((each, rows.get(str(each.path), 0)) for each in some)
            refused += [(e, f"DuckDB finds {n} rows, not {e.record.rows}") for e, n in counted if n != e.record.rows]
            if some is alike:
                break
    return refused


_schemas: dict[tuple[str, str, int, str], pa.Schema] = {}


def _schema_of(file: BufferedReader, record: FileRecord, table: Table, run_id: str, *, is_known: bool) -> pa.Schema:
    """The schema of a file with this content. Copies of one run are common, and so are tables without a row."""
    key = (record.sha256, table.name, record.rows, run_id if record.rows else "")
    if key not in _schemas:
        file.seek(0)
        # Arrow reads a small file in half the time if it is in memory.
        source = pa.BufferReader(file.read()) if not is_known and record.bytes <= _SMALL else file
        schema = contents.check(source, table, record)
        if not is_known:
            contents.check_rows(source, table, run_id)
        if len(_schemas) > _SCHEMAS_REMEMBERED:
            _schemas.clear()
        _schemas[key] = schema
    return _schemas[key]


def columns_of(schema: pa.Schema) -> str:
    """The columns of a file as text: files of which it is the same can be read together."""
    return json.dumps([[column.name, str(column.type)] for column in schema])


def run_dirs(runs: Path, found: LakeContents) -> list[Path]:
    """Every run directory, sealed or not. What looks like one and cannot be is named in `found`."""
    directories = []
    try:
        with os.scandir(runs) as listing:
            entries = sorted(listing, key=lambda entry: entry.name)
    except (FileNotFoundError, NotADirectoryError):
        return []
    for entry in entries:
        if entry.name.startswith("."):
            continue  # on its way in or out
        if entry.is_symlink():
            found.problem(entry.name, None, "a symbolic link is not a run directory")
        elif entry.is_dir():
            try:
                directories.append(runs / check_run_id(entry.name))
            except IbenchError as error:
                found.problem(entry.name, None, error.what)
    return directories


def _is_whole(manifest: Manifest) -> bool:
    return bool(manifest.files) and all(
        name == f"{sealing.table_of(name)}.parquet" or name in manifests.TEXTS for name in manifest.files
    )


def _add_sealed_run(
    found: LakeContents, run_dir: Path, manifest: Manifest, verified: VerifiedFiles, new: list[NewFile]
) -> None:
    present = set(os.listdir(run_dir)) - {notes.FILE, FOLDER}
    unvouched = manifests.unvouched(manifest, manifests.read_text(run_dir), present)
    found.describe(manifest, partial(notes.read_annotation, run_dir), unvouched)
    for file_name, record in manifest.files.items():
        if sealing.table_of(file_name) not in TABLES:
            continue  # of a later minor version
        try:
            schema = check_file(run_dir / file_name, record, manifest.run_id, verified, new)
            found.add(TABLES[sealing.table_of(file_name)], str(run_dir / file_name), schema)
        except Exception as error:  # a file that is no table of ours can raise any error
            found.problem(run_dir.name, file_name, _first_line(error))


def _add_open_run(found: LakeContents, run_dir: Path, new: list[NewFile]) -> None:
    """Add a run that is being written, or was when its writer died, as it was at one moment."""
    for _ in range(_ATTEMPTS):
        held = lock.is_held(run_dir)
        # The journal first: what its writer seals meanwhile is in the parts that the later manifest vouches for.
        streams = read_streams(run_dir / FOLDER)
        manifest = checked_manifest(run_dir)
        journal = joined(streams, after=manifest.sealed_generation, whole_flushes=True)
        if manifest.status != "running":
            journal.gaps.clear()  # its writer lived to say so, and wrote again what a full disk had not taken
        tables, problems = _open_tables(run_dir, manifest, journal)
        # While it is written, flushes seem to be missing whose streams were read too early. While it is sealed, parts
        # are removed before the journal's directory. Both are so for a moment only: read again.
        same = checked_manifest(run_dir) == manifest and not (held and journal.problems)
        if lock.is_open(run_dir) and (not problems or same):
            break
        if not lock.is_open(run_dir):
            _add_sealed_run(found, run_dir, checked_manifest(run_dir), VerifiedFiles(None), new)
            return
    if manifest.status == "running" and not held:
        manifest.status, manifest.error = "failed", f"{manifests.DIED}; `ibench runs recover` seals what it left"
    found.describe(manifest, partial(notes.read_annotation, run_dir))
    for file_name, problem in problems:
        found.problem(run_dir.name, file_name, problem)
    for name, data in sealing.with_derived(open_steps.close_open_steps(tables, manifest.status)).items():
        found.sources[name].live.append(data)


def _open_tables(
    run_dir: Path, manifest: Manifest, journal: Journal
) -> tuple[dict[str, pa.Table], list[tuple[str, str]]]:
    """Rows of a run that is not sealed, per table, and what could not be read of it: (file, problem)."""
    pieces: dict[str, list[pa.Table]] = {}
    problems: list[tuple[str, str]] = []
    for file_name, record in manifest.files.items():
        table = TABLES.get(sealing.table_of(file_name))
        if table is None or table.derived:
            continue
        try:
            check_file(run_dir / file_name, record, manifest.run_id, VerifiedFiles(None), [])
            content = pq.read_table(run_dir / file_name).cast(
                table.arrow_schema
            )  # which may just have been sealed away
            pieces.setdefault(table.name, []).append(content)
        except Exception as error:  # a file that is no table of ours can raise any error
            problems.append((file_name, _first_line(error)))
    problems += [(FOLDER, problem) for problem in journal.problems]
    for name, data in journal.tables().items():
        pieces.setdefault(name, []).append(data)
    return {name: pa.concat_tables(tables) for name, tables in pieces.items()}, problems


def _readable(text: str, most: int = 200) -> str:
    """The text with escapes for what is no text, and its beginning if it is long: a name may be any bytes."""
    shown = text if len(text) <= most else f"{text[:most]}…"
    return shown.encode(errors="backslashreplace").decode()


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
