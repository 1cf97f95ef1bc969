"""Which runs a lake has, and which of their files and rows count. What cannot be read is left out and named.

Whatever goes wrong while one run is read is that run's problem: the others load.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from operator import itemgetter
from pathlib import Path, PurePosixPath
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from ibench_lib.errors import IbenchError, LakeError
from ibench_lib.lake import checksums, lock
from ibench_lib.lake.annotations import FILE as ANNOTATION
from ibench_lib.lake.annotations import Annotation, read_annotation
from ibench_lib.lake.checksums import Verified
from ibench_lib.lake.index import INDEXED, Entry, Index
from ibench_lib.lake.journal import FOLDER, read_journal
from ibench_lib.lake.manifest import FILE_NAME, TEXTS, FileRecord, Manifest, read_manifest
from ibench_lib.lake.manifest_tables import MANIFEST_TABLES, manifest_rows
from ibench_lib.lake.open_steps import close_open_steps
from ibench_lib.lake.recover import DIED
from ibench_lib.lake.sealing import table_of, with_derived
from ibench_lib.paths import check_run_id
from ibench_lib.schema import TABLES, Table

_ATTEMPTS = 5
# Reading a run takes milliseconds, writing the index a second: so many runs may wait until it is written.
_MAY_WAIT, _SHARE_THAT_MAY_WAIT = 8, 1 / 100
_BATCH = 50
_SCHEMAS_REMEMBERED = 1000
_ADDED = "filename"  # by the views of the reader


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
class Found:
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
    indexed_files: list[tuple[str, str, int]] = field(default_factory=list)

    def describe(self, manifest: Manifest, annotation: Callable[[], Annotation | None] = lambda: None) -> None:
        """Add the content of a run's manifest, and what people say of the run.

        Raises any error for a manifest that the tables cannot hold. An annotation that cannot be read is a problem.
        """
        content = manifest_rows([manifest])
        try:
            said = annotation()
        except LakeError as error:
            said = None
            self.problem(manifest.run_id, ANNOTATION, error.what)
        if said is not None:
            content["annotations"] = [{"run_id": manifest.run_id, **said.model_dump(exclude={"changed"})}]
        tables = {name: pa.Table.from_pylist(rows, schema=MANIFEST_TABLES[name]) for name, rows in content.items()}
        for name, content in tables.items():
            content.validate(full=True)
            self.rows[name].append(content)

    def add(self, table: Table, file: str, schema: pa.Schema) -> None:
        """Add a file of a sealed run. Raises ValueError when a column is not of the declared type."""
        check_columns(schema, table)
        self.sources[table.name].files.append((file, columns_of(schema)))

    def problem(self, run_id: str, file: str | None, what: str) -> None:
        self.problems.append(
            {"run_id": _readable(run_id), "file": file and _readable(file), "problem": _readable(what)}
        )

    def take(self, other: Found) -> None:
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


def find_runs(folders: Sequence[Path], cache: Path | None, index: Index | None = None) -> Found:
    """Find the runs below some folders, and check the files that their manifests vouch for.

    `cache` is where it is kept what has been compared with its checksum; None compares everything. What `index` knows
    of runs that have not changed is not read again, and it is brought up to date. Of a run that is in two folders the
    first counts.
    """
    found = Found(index=index, folders={folder.name: str(folder) for folder in folders})
    verified = Verified(cache)
    places: dict[str, RunPlace] = {}
    for run_dir in [run_dir for folder in folders for run_dir in run_dirs(folder, found)]:
        if run_dir.name in places:
            found.problem(run_dir.name, None, f"it is also in {run_dir.parent.name}/ and is counted once")
            continue
        places[run_dir.name] = _look_at(run_dir)
    unknown = list(places.values())
    if index is not None:
        unknown = [place for place in unknown if not _is_known(place, index)]
        sealed = [place for place in unknown if place.stamp is not None]
        gone = len(index.stamps) - (len(places) - len(unknown))
        if is_worth_writing(len(sealed) + gone, len(places)):
            known = places.keys() - {place.path.name for place in unknown}
            entries = (entry_of(place.key, place.stamp, _read(place, verified), Path) for place in sealed)
            if index.update(known, batches(entries)):
                unknown = [place for place in unknown if not _is_known(place, index)]
        found.not_indexed = sorted(
            {name for _, name in index.stamps} - (places.keys() - {p.path.name for p in unknown})
        )
    for place in unknown:
        found.take(_read(place, verified))
    verified.save()
    return found


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


def batches(entries: Iterable[Entry]) -> Iterator[list[Entry]]:
    waiting = iter(entries)
    while batch := list(islice(waiting, _BATCH)):
        yield batch


def entry_of(key: tuple[str, str], stamp: bytes | None, found: Found, at: Callable[[str], Any]) -> Entry:
    """What the index keeps of a sealed run. `at` makes what pyarrow can read of the address of a file."""
    folder, run_id = key
    entry = Entry(run_id, folder, stamp)
    try:
        for name in INDEXED:
            for file, _ in found.sources[name].files:
                entry.rows[name] = _rows_of(at(file), run_id, TABLES[name])
            found.sources[name].files = []
    except Exception as error:  # the file is what was written, but not one of our tables
        found = Found()
        found.problem(run_id, None, f"it cannot be read: {_first_line(error)}")
        entry.rows = {}
    entry.problems = found.problems
    entry.rows |= {name: tables[0] for name, tables in found.rows.items() if tables}
    entry.files = [
        (PurePosixPath(file).name, name, columns)
        for name, source in found.sources.items()
        for file, columns in source.files
    ]
    return entry


def _rows_of(file: Any, run_id: str, table: Table) -> pa.Table:
    """The rows of a file that are of its run, with all declared columns."""
    import pyarrow.compute as pc  # as slow to import as a lake of a hundred runs is to open

    schema = pa.schema([pa.field(column.name, column.type) for column in table.columns])
    content = pq.read_table(file)
    content = content.select([name for name in content.schema.names if name in schema.names])
    content = pa.concat_tables([schema.empty_table(), content], promote_options="permissive")
    content = content.select(schema.names).cast(schema)
    return content.filter(pc.equal(content.column("run_id"), run_id))


def _read(place: RunPlace, verified: Verified) -> Found:
    """Everything of one run, or the reason why it cannot be read."""
    found, run_dir = Found(), place.path
    try:
        manifest = checked_manifest(run_dir)
        # A journal next to complete files is only waiting to be removed.
        if place.is_open and lock.is_open(run_dir) and not _is_whole(manifest):
            _add_open_run(found, run_dir)
        else:
            _add_sealed_run(found, run_dir, _sealed_manifest(run_dir, manifest), verified)
    except IbenchError as error:
        found = Found()
        found.problem(run_dir.name, FILE_NAME, error.what)
    except Exception as error:  # an error in one run must not affect the others
        found = Found()
        found.problem(run_dir.name, FILE_NAME, f"it cannot be read: {type(error).__name__}: {_first_line(error)}")
    return found


def _sealed_manifest(run_dir: Path, manifest: Manifest) -> Manifest:
    """The manifest of a run without a journal, which must have ended. Raises LakeError."""
    if manifest.status == "running" and not lock.is_open(run_dir):
        manifest = checked_manifest(run_dir)  # it may have been sealed since
        if manifest.status == "running" and not lock.is_open(run_dir):
            raise LakeError(f"run {run_dir.name}: {FILE_NAME} says that it is running, but it has no journal")
    return manifest


def checked_manifest(run_dir: Path, run_id: str | None = None) -> Manifest:
    """The manifest of a run directory, which must be its own: of the run `run_id`, by default of that name.

    Raises
    ------
    LakeError : it cannot be read, or is another run's.
    """
    if (run_dir / FILE_NAME).is_symlink():
        raise LakeError(f"run {run_dir.name}: {FILE_NAME} is a symbolic link")
    manifest = read_manifest(run_dir)
    if manifest.run_id != (run_id or run_dir.name):
        raise LakeError(f"run {run_dir.name}: its manifest is of run {manifest.run_id!r:.80}")
    return manifest


def check_file(path: Path, record: FileRecord, verified: Verified) -> pa.Schema:
    """Whether a file is what its manifest vouches for. Returns its schema.

    Raises
    ------
    ValueError, OSError, pa.ArrowException : it is not, and why.
    """
    check_content(path, record, verified)
    return _schema_of(path, record.sha256)


def check_content(path: Path, record: FileRecord, verified: Verified) -> None:
    """Compare a file of any kind with its record. Raises ValueError and OSError as `check_file` does."""
    if path.is_symlink():
        raise ValueError("symbolic links are not followed")
    if not path.exists():
        raise ValueError("missing, though the manifest lists it")
    size = path.stat().st_size
    if size != record.bytes:
        raise ValueError(f"{size} bytes, but the manifest says {record.bytes}")
    if not verified.holds(path, record.sha256):
        raise ValueError("its content does not match the SHA-256 in the manifest")


_schemas: dict[str, pa.Schema] = {}


def _schema_of(path: Path, sha256: str) -> pa.Schema:
    """The schema of a file with this content. Copies of one run are common, and so are tables without a row."""
    if sha256 not in _schemas:
        if len(_schemas) > _SCHEMAS_REMEMBERED:
            _schemas.clear()
        _schemas[sha256] = pq.read_schema(path)
    return _schemas[sha256]


def columns_of(schema: pa.Schema) -> str:
    """The columns of a file as text: files of which it is the same can be read together."""
    return json.dumps([[column.name, str(column.type)] for column in schema])


def check_columns(found: pa.Schema, table: Table) -> None:
    """Whether a file has the columns of its table. Only those may be absent that may be NULL, or came later.

    Raises
    ------
    ValueError : a column is absent, there twice, or not of the declared type, and which one.
    """
    # DuckDB takes no notice of case, and adds a column itself.
    names = [_ADDED, *(name.lower() for name in found.names)]
    if len(set(names)) < len(names):
        ((name, _),) = Counter(names).most_common(1)
        raise ValueError(f"column {name:.80} is there {'twice' if name != _ADDED else 'though it may not be'}")
    for column in table.columns:
        if column.name not in found.names:
            if not column.nullable and column.since == 0:
                raise ValueError(f"column {column.name} is missing")
        elif not _fits(found.field(column.name).type, column.type):
            raise ValueError(f"column {column.name} is {found.field(column.name).type}, not {column.type}")


def run_dirs(runs: Path, found: Found) -> list[Path]:
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
    return bool(manifest.files) and all(name == f"{table_of(name)}.parquet" or name in TEXTS for name in manifest.files)


def _add_sealed_run(found: Found, run_dir: Path, manifest: Manifest, verified: Verified) -> None:
    found.describe(manifest, partial(read_annotation, run_dir))
    for file_name, record in manifest.files.items():
        if table_of(file_name) not in TABLES:
            continue  # of a later minor version
        try:
            schema = check_file(run_dir / file_name, record, verified)
            found.add(TABLES[table_of(file_name)], str(run_dir / file_name), schema)
        except (OSError, ValueError, pa.ArrowException) as error:
            found.problem(run_dir.name, file_name, _first_line(error))


def _add_open_run(found: Found, run_dir: Path) -> None:
    """Add a run that is being written, or was when its writer died, as it was at one moment."""
    for _ in range(_ATTEMPTS):
        manifest = checked_manifest(run_dir)
        held = lock.is_held(run_dir)
        tables, problems = _open_tables(run_dir, manifest)
        # What was replaced while we read belongs to another moment: read again.
        if lock.is_open(run_dir) and checked_manifest(run_dir) == manifest:
            break
        if not lock.is_open(run_dir):
            _add_sealed_run(found, run_dir, checked_manifest(run_dir), Verified(None))
            return
    if manifest.status == "running" and not held:
        manifest.status, manifest.error = "failed", f"{DIED}; `ibench runs recover` seals what it left"
    found.describe(manifest, partial(read_annotation, run_dir))
    for file_name, problem in problems:
        found.problem(run_dir.name, file_name, problem)
    for name, data in with_derived(close_open_steps(tables, manifest.status)).items():
        found.sources[name].live.append(data)


def _open_tables(run_dir: Path, manifest: Manifest) -> tuple[dict[str, pa.Table], list[tuple[str, str]]]:
    """Rows of a run that is not sealed, per table, and what could not be read of it: (file, problem)."""
    pieces: dict[str, list[pa.Table]] = {}
    problems: list[tuple[str, str]] = []
    for file_name, record in manifest.files.items():
        table = TABLES.get(table_of(file_name))
        if table is None or table.derived:
            continue
        try:
            check_columns(check_file(run_dir / file_name, record, Verified(None)), table)
            content = pq.read_table(run_dir / file_name).cast(
                table.arrow_schema
            )  # which may just have been sealed away
            pieces.setdefault(table.name, []).append(content)
        except (OSError, ValueError, pa.ArrowException) as error:
            problems.append((file_name, _first_line(error)))
    journal = read_journal(run_dir / FOLDER, after=manifest.sealed_generation, whole_flushes=True)
    for name, data in journal.tables().items():
        pieces.setdefault(name, []).append(data)
    return {name: pa.concat_tables(tables) for name, tables in pieces.items()}, problems


def _fits(found: pa.DataType, expected: pa.DataType) -> bool:
    if pa.types.is_list(expected):
        return pa.types.is_list(found) and _fits(found.value_type, expected.value_type)
    if pa.types.is_integer(expected):
        return bool(pa.types.is_integer(found))
    return bool(found == expected)


def _readable(text: str) -> str:
    """The text with escapes for what is no text: a name on disk may be any bytes."""
    return text.encode(errors="backslashreplace").decode()


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
