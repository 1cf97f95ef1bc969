"""Writes a run directory: a journal while the run is made, Parquet when a step ends, whole tables when the run ends.

Rows may come from any thread. A thread of the writer's own puts them into the journal about once a second. Files get
names that nothing has used before, and the manifest, replaced as the last act, says which of them count: whatever dies
in between leaves the old state or the new one.
"""

from __future__ import annotations

import contextlib
import errno
import shutil
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa

from ibench_lib.base.durable import sync_directory
from ibench_lib.base.mask import NOTHING, Mask
from ibench_lib.errors import CaptureFailed, LakeError
from ibench_lib.schema import TABLES, Table
from ibench_lib.store import lock, sealing
from ibench_lib.store.journal import FOLDER, JournalWriter, read_journal, remove_generations
from ibench_lib.store.manifest import FileRecord, Manifest
from ibench_lib.store.masking import keep_mask, mask_texts, write_masked

FLUSH_EVERY_S = 1.0
_RESERVE = "reserve"
_RESERVE_BYTES = 1 << 20


class RunWriter:
    """The one writer of one run directory. Creating it creates the directory and refuses one that exists.

    `mask` is put on all that is written; my.cnf and server.log, which others write or read, get it when the run is
    sealed. `problems` are sentences on rows of collectors that did not fit their table and were left out.
    """

    def __init__(self, run_dir: Path, *, mask: Mask = NOTHING, flush_every_s: float = FLUSH_EVERY_S) -> None:
        self.run_dir = run_dir
        self._mask = mask
        self._journal_dir = run_dir / FOLDER
        self.problems: list[str] = []
        self._pending: dict[str, list[dict[str, Any]]] = {}
        self._pending_lock, self._journal_lock = threading.Lock(), threading.Lock()
        self._failure: Exception | None = None
        self._generation, self._sealed, self._flushes = 1, 0, 0
        self._files: dict[str, FileRecord] = {}
        self._whole: dict[str, FileRecord] = {}
        run_dir.parent.mkdir(parents=True, exist_ok=True)
        try:
            run_dir.mkdir()
        except FileExistsError:
            raise LakeError(f"run {run_dir.name} already exists", hint="a run is never overwritten") from None
        self._journal_dir.mkdir()
        self._lock = lock.hold(run_dir)
        if mask:
            keep_mask(run_dir, mask)
        # Room for a last manifest on a disk that has filled up.
        (self._journal_dir / _RESERVE).write_bytes(bytes(_RESERVE_BYTES))
        sync_directory(run_dir.parent)
        self._journal = JournalWriter(self._journal_dir, self._generation)
        self._stop = threading.Event()
        self._flusher = threading.Thread(target=self._flush_now_and_then, args=(flush_every_s,), daemon=True)
        self._flusher.start()

    def append(self, table: str, **row: Any) -> None:
        """Add one row; `run_id` is filled in.

        Raises
        ------
        LakeError : a column that the table does not have, or a NULL where none may be.
        """
        declared = TABLES[table]
        row["run_id"] = self.run_dir.name
        for name in declared.required:
            if row.get(name) is None:
                raise LakeError(f"run {self.run_dir.name}: {table}.{name} has NULLs and may not")
        if not row.keys() <= set(declared.arrow_schema.names):
            unknown = sorted(row.keys() - set(declared.arrow_schema.names))
            raise LakeError(f"run {self.run_dir.name}: table {table} has no column {unknown[0]}")
        for name in declared.free_text:
            if isinstance(row.get(name), str):
                row[name] = self._mask.text(row[name])
        with self._pending_lock:
            self._pending.setdefault(table, []).append(row)

    def add_whole(self, table: str, pieces: Iterable[pa.Table]) -> None:
        """Write all rows of a table at once, without a journal: pieces in the order of its key, with all its columns.

        What is worked out from the table, such as `response_times` from `ops`, is written, too. Nothing else of the
        run may have rows of it. The manifest vouches for it when the run is sealed.

        Raises
        ------
        LakeError : the disk is full, or cannot be written.
        """
        try:
            self._whole |= sealing.write_streamed(self.run_dir, table, pieces)
        except OSError as error:
            raise LakeError(f"run {self.run_dir.name}: {table} could not be written: {_reason(error)}") from error

    def check(self) -> None:
        """Whether rows reach the disk.

        Raises
        ------
        CaptureFailed : they do not: the disk is full, or cannot be written. What has come in since is kept in memory.
        """
        if self._failure is not None:
            raise CaptureFailed(
                f"capture cannot be written: {_reason(self._failure)}",
                hint="make room on the disk of data/runs, then `ibench runs recover`; what was sealed is safe",
            ) from self._failure

    def write_manifest(self, manifest: Manifest) -> None:
        """Write the manifest of a run that goes on. It vouches for the steps sealed so far."""
        manifest.files, manifest.sealed_generation = dict(self._files), self._sealed
        write_masked(self.run_dir, manifest, self._mask)

    def seal_step(self, manifest: Manifest) -> None:
        """Make Parquet of what has come in since the last seal; the manifest vouches for it when this returns.

        Raises
        ------
        CaptureFailed : the disk is full, or cannot be written. The journal keeps the rows.
        """
        self.check()
        generation = self._next_generation()
        try:
            self._files.update(sealing.write_part(self.run_dir, generation, self._unsealed()))
            self._sealed = generation
            self.write_manifest(manifest)
            remove_generations(self._journal_dir, generation)
        except OSError as error:
            self._failure = error
        self.check()

    def seal(self, manifest: Manifest) -> None:
        """Make one Parquet file per table, then the manifest with the record of each. The last act of a run.

        Raises
        ------
        LakeError : the disk is full, or cannot be written. Then the manifest says so, as far as it can be written, and
            the journal stays for `recover`.
        """
        self._stop.set()
        self._flusher.join()
        generation = self._next_generation()
        rest, was_complete = self._unsealed(), manifest.status == "complete"
        if self._failure is not None and was_complete:
            manifest.status, manifest.error = "failed", f"sealing the run: {_reason(self._failure)}"
        manifest.warnings += self.problems
        try:
            mask_texts(self.run_dir, self._mask)
            tables = sealing.write_whole(self.run_dir, self._files, rest)
            manifest.files = tables | self._whole | sealing.text_records(self.run_dir)
            manifest.sealed_generation = generation
            write_masked(self.run_dir, manifest, self._mask)
        except OSError as error:
            self._failure = error
            (self._journal_dir / _RESERVE).unlink(missing_ok=True)
            manifest.status = "failed" if manifest.status == "complete" else manifest.status
            manifest.error = manifest.error or f"sealing the run: {_reason(error)}"
            with contextlib.suppress(OSError):
                self._save_unwritten()
                self.write_manifest(manifest)
            raise LakeError(
                f"run {self.run_dir.name}: it could not be sealed: {_reason(error)}",
                hint="make room on the disk of data/runs, then `ibench runs recover`: the journal has the rest",
            ) from error
        finally:
            if self._lock is not None and self._failure is not None:
                self._lock.close()
        remove_superseded(self.run_dir)
        if self._lock is not None:
            self._lock.close()
        if self._failure is not None and was_complete:
            raise LakeError(f"run {self.run_dir.name}: rows were lost before it was sealed: {_reason(self._failure)}")

    def _flush_now_and_then(self, every_s: float) -> None:
        while not self._stop.wait(every_s):
            with self._journal_lock:
                self._flush()

    def _flush(self) -> None:
        """Write what is pending as one flush. After a failure nothing more is written: rows stay in memory."""
        if self._failure is not None:
            return
        with self._pending_lock:
            rows, self._pending = self._pending, {}
        batches = {name: batch for name in rows if (batch := self._batch(name, rows[name])).num_rows}
        if not batches:
            return
        self._flushes += 1
        try:
            self._journal.write(self._flushes, batches)
        except OSError as error:
            self._failure = error
            with self._pending_lock:
                for name in batches:  # what is left was not written
                    self._pending[name] = rows[name] + self._pending.get(name, [])

    def _save_unwritten(self) -> None:
        """Give the journal what it could not take when the disk was full, now that the reserve is free."""
        failure, self._failure = self._failure, None
        with self._journal_lock:
            self._flush()
            self._journal.close()
        self._failure = failure

    def _batch(self, name: str, rows: list[dict[str, Any]]) -> pa.RecordBatch:
        table = TABLES[name]
        try:
            return pa.RecordBatch.from_pylist(rows, schema=table.arrow_schema)
        except (pa.ArrowException, OverflowError) as error:
            # What a collector cannot put into its columns must not end the load; a hole in anything else must.
            self.problems.append(f"{name}: a row was left out: {(str(error).splitlines() or ['?'])[0]}")
            if not table.collected:
                self._failure = self._failure or error
            fitting = [row for row in rows if _fits(row, table)]
            return pa.RecordBatch.from_pylist(fitting, schema=table.arrow_schema)

    def _next_generation(self) -> int:
        """End the current generation and return its number; rows that come in from now on belong to the next."""
        with self._journal_lock:
            self._flush()
            self._journal.close()
            self._generation += 1
            self._journal = JournalWriter(self._journal_dir, self._generation)
            return self._generation - 1

    def _unsealed(self) -> dict[str, pa.Table]:
        """Rows of ended generations that no sealed file has, and those that could not be written to the journal.

        What the journal has lost is a failure: a figure that lacks rows would be wrong.
        """
        journal = read_journal(self._journal_dir, after=self._sealed, up_to=self._generation - 1)
        rows = journal.tables()
        if journal.problems and self._failure is None:
            self.problems += journal.problems
            self._failure = LakeError(journal.problems[0])
        if self._failure is not None:
            with self._pending_lock:
                unwritten = {name: self._batch(name, pending) for name, pending in self._pending.items()}
            for name, batch in unwritten.items():
                written = [rows[name]] if name in rows else []
                rows[name] = pa.concat_tables([*written, pa.Table.from_batches([batch])])
        return rows


def remove_superseded(run_dir: Path) -> None:
    """Delete what a sealed run's manifest no longer needs: its parts, its journal, and what was half written."""
    for path in (*run_dir.glob("*.*.parquet"), *run_dir.glob(".*.tmp")):
        path.unlink(missing_ok=True)
    shutil.rmtree(run_dir / FOLDER, ignore_errors=True)
    sync_directory(run_dir)


def _fits(row: dict[str, Any], table: Table) -> bool:
    try:
        pa.RecordBatch.from_pylist([row], schema=table.arrow_schema)
    except (pa.ArrowException, OverflowError):
        return False
    return True


def _reason(error: Exception) -> str:
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return "the disk is full"
    return (str(error).splitlines() or [type(error).__name__])[0]
