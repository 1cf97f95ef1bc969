"""Sealing what a dead runner left: its journal becomes Parquet, its manifest says how it ended."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from ibench_lib.base.wording import count
from ibench_lib.errors import LakeError
from ibench_lib.paths import check_run_id
from ibench_lib.schema import TABLES
from ibench_lib.store import lock, sealing
from ibench_lib.store.checksums import VerifiedFiles
from ibench_lib.store.derive import response_times
from ibench_lib.store.discovery import check_file
from ibench_lib.store.journal import FOLDER, Journal, read_journal
from ibench_lib.store.manifest import DIED, FILE_NAME, OPTION_FILE, FileRecord, Manifest, read_manifest
from ibench_lib.store.masking import kept_mask, mask_texts, write_masked
from ibench_lib.store.open_steps import close_open_steps
from ibench_lib.store.parquet import write_table
from ibench_lib.store.writer import remove_superseded


def left_behind(runs: Path) -> list[Path]:
    """Run directories that are not sealed and that nobody writes."""
    folders = []
    for entry in sorted(runs.iterdir()) if runs.is_dir() else []:
        ours = not entry.name.startswith(".") and entry.is_dir() and not entry.is_symlink()
        if ours and lock.is_open(entry) and not lock.is_held(entry):
            folders.append(entry)
    return folders


def recover_all(runs: Path) -> tuple[list[Manifest], list[LakeError]]:
    """Seal every run that a dead runner left, and remove those in which nothing had begun.

    Returns their manifests, and why others could not be recovered: the lake names those as problems, too.
    """
    recovered, errors = [], []
    for run_dir in left_behind(runs):
        try:
            if not _removed_unborn(run_dir):
                recovered.append(recover(run_dir))
        except LakeError as error:
            errors.append(error)
        except Exception as error:  # an odd run must not keep the others from being recovered
            why = (str(error).splitlines() or ["unreadable"])[0]
            errors.append(LakeError(f"run {run_dir.name}: it cannot be recovered: {type(error).__name__}: {why}"))
    return recovered, errors


def recover(run_dir: Path) -> Manifest:
    """Seal one run from its parts and its journal. Its steps that had not ended count as failed.

    A part that is not what the manifest says, and a batch of the journal that is damaged, is left out, and a warning
    names it. A step of which seconds are left out counts as failed.

    Raises
    ------
    LakeError : somebody writes it, there is nothing to recover, or the manifest is damaged. Nothing is lost.
    """
    check_run_id(run_dir.name)
    if run_dir.is_symlink() or not lock.is_open(run_dir):
        raise LakeError(f"run {run_dir.name} is sealed, or no run of ours", hint="`ibench runs` lists the runs")
    held = lock.hold(run_dir)
    if held is None:
        raise LakeError(f"run {run_dir.name} is being written", hint="wait for it, or stop its runner")
    with held:
        manifest = read_manifest(run_dir)
        journal = read_journal(run_dir / FOLDER, after=manifest.sealed_generation)
        try:
            mask_texts(run_dir, kept_mask(run_dir))
        except OSError as error:
            raise _not_recovered(run_dir, error) from error
        if manifest.status == "running" or journal.batches:
            _seal(run_dir, manifest, journal)
        remove_superseded(run_dir)
    return manifest


def _removed_unborn(run_dir: Path) -> bool:
    """Remove a run whose runner died before it wrote the first manifest: nothing was captured."""
    streams = list((run_dir / FOLDER).glob("*.arrows"))
    names = {path.name for path in run_dir.iterdir()}
    if FILE_NAME in names or streams or not names <= {FOLDER, OPTION_FILE, f".{FILE_NAME}.tmp"}:
        return False
    held = lock.hold(run_dir)
    if held is None:
        return False
    with held:
        shutil.rmtree(run_dir)
    return True


def _without_damage(run_dir: Path, manifest: Manifest, tables: dict[str, pa.Table]) -> None:
    """Take damaged parts out of the manifest and name them in its warnings; `tables` get what follows from that.

    A step whose seconds, workers or own row are in a damaged part counts as failed. Its workers are left out where
    their seconds are, because nothing else says what they have done.
    """
    damaged = {name: why for name, record in manifest.files.items() if (why := _damage(run_dir, name, record))}
    for name, why in damaged.items():
        rows = manifest.files.pop(name).rows
        manifest.warnings.append(f"{name}: {count(rows, 'row')} left out of the recovered run: {why}")
    for generation in sorted({int(name.split(".")[1]) for name in damaged if name.count(".") == 2}):
        names = {table: f"{table}.{generation}.parquet" for table in TABLES}
        without_seconds = names["ops"] in damaged
        if without_seconds:
            for table in ("response_times", "workers"):
                if manifest.files.pop(names[table], None) is not None:
                    manifest.warnings.append(f"{names[table]}: left out as well: its rows are about {names['ops']}")
        elif names["response_times"] in damaged and names["ops"] in manifest.files:
            made = response_times(pq.read_table(run_dir / names["ops"]).cast(TABLES["ops"].arrow_schema))
            ordered = sealing.in_order(TABLES["response_times"], made)
            path = run_dir / names["response_times"]
            manifest.files[path.name] = write_table(path, TABLES["response_times"], [ordered])
            manifest.warnings.append(f"{path.name}: made again from {names['ops']}")
        if (without_seconds or names["workers"] in damaged) and names["steps"] in manifest.files:
            steps = pq.read_table(run_dir / names["steps"]).cast(TABLES["steps"].arrow_schema)
            failed = steps.set_column(
                steps.schema.get_field_index("status"),
                steps.schema.field("status"),
                pa.array(["failed"] * steps.num_rows, pa.string()),
            )
            tables["steps"] = pa.concat_tables([failed, *([tables["steps"]] if "steps" in tables else [])])


def _damage(run_dir: Path, name: str, record: FileRecord) -> str | None:
    """Why a part is not what the manifest says; None if it is."""
    if sealing.table_of(name) not in TABLES:
        return None
    try:
        check_file(run_dir / name, record, run_dir.name, VerifiedFiles(None), [])
        pq.read_table(run_dir / name, page_checksum_verification=True).cast(TABLES[sealing.table_of(name)].arrow_schema)
    except Exception as error:  # a damaged file can raise any error
        return (str(error).splitlines() or [type(error).__name__])[0]
    return None


def _seal(run_dir: Path, manifest: Manifest, journal: Journal) -> None:
    tables = close_open_steps(journal.tables(), "failed")
    _without_damage(run_dir, manifest, tables)
    if manifest.status == "running":
        manifest.status = "failed"
        manifest.failed_step = _step_under_way(run_dir, manifest, tables)
        manifest.error = f"{DIED}; sealed from its journal, which may lack the last second"
    manifest.warnings += journal.problems
    try:
        manifest.files = sealing.write_whole(run_dir, manifest.files, tables) | sealing.text_records(run_dir)
        manifest.sealed_generation = max(manifest.sealed_generation, journal.generation)
        write_masked(run_dir, manifest, kept_mask(run_dir))
    except OSError as error:
        raise _not_recovered(run_dir, error) from error


def _not_recovered(run_dir: Path, error: OSError) -> LakeError:
    return LakeError(f"run {run_dir.name}: it could not be recovered: {error}")


def _step_under_way(run_dir: Path, manifest: Manifest, tables: Mapping[str, pa.Table]) -> str | None:
    """The first planned step that did not complete."""
    pieces = [pq.read_table(run_dir / name) for name in manifest.files if sealing.table_of(name) == "steps"]
    pieces += [tables["steps"]] if "steps" in tables else []
    status = {row["step"]: row["status"] for piece in pieces for row in piece.to_pylist()}
    done = {step for step, ended in status.items() if ended == "complete"}
    planned = [str(step["name"]) for step in manifest.workload.get("resolved_steps", [])]
    return next((step for step in planned if step not in done and step not in manifest.steps_loaded), None)
