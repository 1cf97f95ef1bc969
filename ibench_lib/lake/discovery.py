"""Which runs a lake has, and which of their files and rows count. What cannot be read is left out and named."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from ibench_lib.errors import IbenchError, LakeError
from ibench_lib.lake import lock
from ibench_lib.lake.checksums import Verified
from ibench_lib.lake.journal import FOLDER, read_journal
from ibench_lib.lake.manifest import FILE_NAME, FileRecord, Manifest, read_manifest
from ibench_lib.lake.open_steps import close_open_steps
from ibench_lib.lake.recover import DIED
from ibench_lib.lake.sealing import table_of, with_derived
from ibench_lib.paths import check_run_id
from ibench_lib.schema import TABLES, Table

_ATTEMPTS = 5


@dataclass
class Sources:
    """Where the rows of one table come from: files of sealed runs, by path or address, rows of runs that are not."""

    files: list[tuple[str, pa.Schema]] = field(default_factory=list)
    live: list[pa.Table] = field(default_factory=list)

    def alike(self) -> list[tuple[set[str], list[str]]]:
        """The files by what columns of what types they have: (names of the columns, files)."""
        groups: dict[tuple[tuple[str, str], ...], list[str]] = {}
        for file, schema in self.files:
            groups.setdefault(tuple((column.name, str(column.type)) for column in schema), []).append(file)
        return [({name for name, _ in columns}, files) for columns, files in groups.items()]


@dataclass
class Found:
    """What a lake has. `problems` has the columns of the table of that name."""

    manifests: list[Manifest] = field(default_factory=list)
    sources: dict[str, Sources] = field(default_factory=lambda: {name: Sources() for name in TABLES})
    problems: list[dict[str, str | None]] = field(default_factory=list)

    def add(self, table: Table, file: str, schema: pa.Schema) -> None:
        """Add a file of a sealed run. Raises ValueError when a column is not of the declared type."""
        check_columns(schema, table)
        self.sources[table.name].files.append((file, schema))

    def problem(self, run_id: str, file: str | None, what: str) -> None:
        self.problems.append({"run_id": run_id, "file": file, "problem": what})


def find_runs(folders: Sequence[Path], cache: Path | None) -> Found:
    """Read all manifests below some folders, and check the files that they vouch for.

    `cache` is where it is kept what has been compared with its checksum; None compares everything. Of a run that is in
    two folders the first counts.
    """
    found = Found()
    verified = Verified(cache)
    known: set[str] = set()
    for run_dir in [run_dir for folder in folders for run_dir in run_dirs(folder, found)]:
        if run_dir.name in known:
            found.problem(run_dir.name, None, f"it is also in {run_dir.parent.name}/ and is counted once")
            continue
        known.add(run_dir.name)
        try:
            manifest = checked_manifest(run_dir)
            # A journal next to complete files is only waiting to be removed.
            if lock.is_open(run_dir) and not _is_whole(manifest):
                _add_open_run(found, run_dir)
            else:
                _add_sealed_run(found, run_dir, manifest, verified)
        except IbenchError as error:
            found.problem(run_dir.name, FILE_NAME, error.what)
    verified.save()
    return found


def checked_manifest(run_dir: Path) -> Manifest:
    """The manifest of a run directory, which must be its own.

    Raises
    ------
    LakeError : it cannot be read, or is another run's.
    """
    if (run_dir / FILE_NAME).is_symlink():
        raise LakeError(f"run {run_dir.name}: {FILE_NAME} is a symbolic link")
    manifest = read_manifest(run_dir)
    if manifest.run_id != run_dir.name:
        raise LakeError(f"run {run_dir.name}: its manifest is of run {manifest.run_id!r:.80}")
    try:
        datetime.fromisoformat(manifest.origin_wall).astimezone(UTC)
    except ValueError as error:
        raise LakeError(f"run {run_dir.name}: {FILE_NAME}: origin_wall: {error}") from None
    return manifest


def check_file(path: Path, record: FileRecord, verified: Verified) -> pa.Schema:
    """Whether a file is what its manifest vouches for. Returns its schema.

    Raises
    ------
    ValueError, OSError, pa.ArrowException : it is not, and why.
    """
    if path.is_symlink():
        raise ValueError("symbolic links are not followed")
    if not path.exists():
        raise ValueError("missing, though the manifest lists it")
    size = path.stat().st_size
    if size != record.bytes:
        raise ValueError(f"{size} bytes, but the manifest says {record.bytes}")
    if not verified.holds(path, record.sha256):
        raise ValueError("its content does not match the SHA-256 in the manifest")
    return pq.read_schema(path)


def check_columns(found: pa.Schema, table: Table) -> None:
    """Whether the columns that a file has are of the declared types. Raises ValueError."""
    for column in table.columns:
        if column.name in found.names and not _fits(found.field(column.name).type, column.type):
            raise ValueError(f"column {column.name} is {found.field(column.name).type}, not {column.type}")


def run_dirs(runs: Path, found: Found) -> list[Path]:
    """Every run directory, sealed or not. What looks like one and cannot be is named in `found`."""
    directories = []
    for entry in sorted(runs.iterdir()) if runs.is_dir() else []:
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
    return bool(manifest.files) and all(name == f"{table_of(name)}.parquet" for name in manifest.files)


def _add_sealed_run(found: Found, run_dir: Path, manifest: Manifest, verified: Verified) -> None:
    found.manifests.append(manifest)
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
    found.manifests.append(manifest)
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


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
