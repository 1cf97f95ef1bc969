"""Whether a sealed run is what it says: every file, count and checksum, and that its tables agree with each other."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from ibench_lib.base.text_file import NotReadable, open_regular
from ibench_lib.errors import LakeError
from ibench_lib.schema import TABLES, Table
from ibench_lib.store import lock
from ibench_lib.store.annotations import FILE as ANNOTATION
from ibench_lib.store.annotations import read_annotation
from ibench_lib.store.checksums import VerifiedFiles
from ibench_lib.store.derive import response_times
from ibench_lib.store.discovery import NewFile, check_content, check_file, checked_manifest, refused_by_duckdb
from ibench_lib.store.manifest import FILE_NAME, TEXTS, FileRecord, Manifest, read_manifest, read_text, unvouched
from ibench_lib.store.sealing import table_of


def verify(run_dir: Path) -> list[str]:
    """Read all of a run. Returns a sentence for each thing that is wrong; none for a run that is whole.

    Raises
    ------
    LakeError : its manifest cannot be read, or the run is not sealed.
    """
    manifest = checked_manifest(run_dir)
    if lock.is_open(run_dir):
        hint = "`ibench runs recover` seals a run whose runner died"
        raise LakeError(f"run {run_dir.name} is not sealed", hint=hint)
    problems: list[str] = []
    if manifest.status == "running":
        problems.append(f"{FILE_NAME}: it says that the run is running, but it has no journal")
    tables: dict[str, pa.Table] = {}
    for file_name, record in manifest.files.items():
        if table_of(file_name) in TABLES:
            try:
                tables[table_of(file_name)] = _read(run_dir / file_name, record, problems)
            except Exception as error:  # a file that is no table of ours can raise any error
                problems.append(f"{file_name}: {(str(error).splitlines() or ['unreadable'])[0]}")
        elif file_name in TEXTS:
            try:
                check_content(run_dir / file_name, record)
            except (OSError, ValueError) as error:
                problems.append(f"{file_name}: {(str(error).splitlines() or ['unreadable'])[0]}")
    try:
        read_annotation(run_dir)
    except LakeError as error:
        problems.append(error.what.removeprefix(f"run {run_dir.name}: "))
    for name in _unlisted_texts(run_dir, manifest):
        try:
            open_regular(run_dir / name, follow=False).close()
        except FileNotFoundError:
            continue
        except NotReadable as error:
            problems.append(f"{name}: {error}")
    listed = {FILE_NAME, ANNOTATION, *manifest.files, *_unlisted_texts(run_dir, manifest)}
    extra = sorted(path.name for path in run_dir.iterdir() if path.name not in listed)
    problems += [f"{name}: not listed in the manifest" for name in extra]
    try:
        problems += _disagreements(tables)
    except Exception as error:  # such as histograms with fewer counts than bins
        problems.append(f"its tables cannot be compared: {(str(error).splitlines() or [type(error).__name__])[0]}")
    return problems


def without_checksum(run_dir: Path) -> list[str]:
    """Names of the files that nothing vouches for, because an older version made the run. Raises LakeError."""
    kinds = unvouched(read_manifest(run_dir), read_text(run_dir), _texts(run_dir))
    return [name for name, kind in kinds.items() if kind in ("manifest", "text")]


def _unlisted_texts(run_dir: Path, manifest: Manifest) -> list[str]:
    """The texts of a run of a version that listed none."""
    if any(name in manifest.files for name in TEXTS):
        return []
    return _texts(run_dir)


def _texts(run_dir: Path) -> list[str]:
    return [name for name in TEXTS if os.path.lexists(run_dir / name)]


def _read(path: Path, record: FileRecord, problems: list[str]) -> pa.Table:
    new: list[NewFile] = []
    check_file(path, record, path.parent.name, VerifiedFiles(None), new)
    problems += [f"{path.name}: {why}" for _, why in refused_by_duckdb(new)]
    data = pq.read_table(path, page_checksum_verification=True)
    if data.num_rows != record.rows:
        problems.append(f"{path.name}: {data.num_rows} rows, but the manifest says {record.rows}")
    table = TABLES[table_of(path.name)]
    for name in table.required:
        if name in data.column_names and data.column(name).null_count:
            problems.append(f"{path.name}: {name} has NULLs and may not")
    if set(data.column("run_id").unique().to_pylist()) - {path.parent.name}:
        problems.append(f"{path.name}: it has rows of another run")
    twice = _keys_twice(table, data)
    if twice:
        problems.append(f"{path.name}: {twice} keys are there more than once")
    return data


def _keys_twice(table: Table, data: pa.Table) -> int:
    import pyarrow.compute as pc  # as slow to import as a lake of a hundred runs is to open

    counted = data.select(list(table.key)).group_by(list(table.key)).aggregate([([], "count_all")])
    return int(pc.sum(pc.greater(counted.column("count_all"), 1)).as_py() or 0)


def _disagreements(tables: dict[str, pa.Table]) -> list[str]:
    """Totals that the seconds do not make."""
    problems: list[str] = []
    ops, workers, times = (tables.get(name) for name in ("ops", "workers", "response_times"))
    if ops is not None and times is not None:
        key = [(column, "ascending") for column in TABLES["response_times"].key]
        derived = response_times(ops).sort_by(key)
        if derived.to_pylist() != times.select(derived.column_names).sort_by(key).to_pylist():
            problems.append("response_times.parquet: not what ops.parquet adds up to")
    if ops is not None and workers is not None:
        sums = ops.group_by(["step_id", "worker"]).aggregate([("ops", "sum"), ("rows", "sum")]).to_pylist()
        counted = {(row["step_id"], row["worker"]): (row["ops_sum"], row["rows_sum"]) for row in sums}
        for row in workers.to_pylist():
            ops_sum, rows_sum = counted.get((row["step_id"], row["worker"]), (0, 0))
            if row.get("ops_from") is not None:  # a driven program may count what it does not report by the second
                if ops_sum > row["ops"]:
                    problems.append(
                        f"workers.parquet: step {row['step']}, worker {row['worker']}: less than its seconds have"
                    )
            elif (ops_sum, rows_sum) != (row["ops"], row["rows"]):
                problems.append(
                    f"workers.parquet: step {row['step']}, worker {row['worker']}: not what its seconds add up to"
                )
    return problems
