"""Small files that stand for much: refused by name, in little memory, and the other runs load."""

from __future__ import annotations

import os
import re
import resource
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ibench_lib.paths import Workspace
from tests.command import PROGRAM, ibench
from tests.places import ROOT
from tests.shared import give_views, made_once
from tests.store.lakes import vouch
from tests.synthetic import Run, write_runs

pytestmark = pytest.mark.lake

GOOD, BAD = Run(), Run("bad", minute=1)
MEMORY = 3_000_000_000
"""Bytes of address space."""
MEMBERS = {"manifest.json": 10_000_001, "notes.json": 100_001, "my.cnf": 10_000_001, "server.log": 1_000_000_001}
"""Bytes that are too many of a file whose size no manifest tells."""


def in_little_memory(workspace: Workspace, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", PROGRAM, *words],
        cwd=ROOT,
        env={**os.environ, "IBENCH_HOME": str(workspace.root), "COLUMNS": "200", **environment},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY)),
        capture_output=True,
        text=True,
    )


def archive_with(path: Path, runs: Path, member: str, size: int) -> None:
    """The runs as a .zip file; in the bad one a member has so many blanks."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for run in (GOOD, BAD):
            for file in sorted((runs / run.run_id).iterdir()):
                if (run, file.name) != (BAD, member):
                    archive.write(file, f"{run.run_id}/{file.name}")
        with archive.open(f"{BAD.run_id}/{member}", "w", force_zip64=True) as bomb:
            while size > 0:
                size -= bomb.write(b" " * min(size, 1 << 20))


def refused_alone(pulled: subprocess.CompletedProcess[str], here: Workspace, member: str) -> None:
    """Only the good run came, and it is said why."""
    assert pulled.returncode == 1 and "Traceback" not in pulled.stderr, pulled.stderr
    assert re.search(rf"not pulled: run {BAD.run_id}\b.*: {re.escape(member)} ", pulled.stderr), pulled.stderr
    assert [path.name for path in here.runs.iterdir()] == [GOOD.run_id]


@pytest.mark.slow
@pytest.mark.parametrize("member", ["manifest.json", "notes.json", "my.cnf"])
def test_a_member_that_is_too_large_is_refused(workspace: Workspace, tmp_path: Path, member: str) -> None:
    there = Workspace(tmp_path / "there")
    write_runs(there, GOOD, BAD)
    path = tmp_path / "bomb.zip"
    archive_with(path, there.runs, member, MEMBERS[member])
    refused_alone(ibench(workspace, "runs", "pull", str(path)), workspace, member)
    listed = ibench(workspace, "runs", IBENCH_LAKE=str(path))
    assert listed.returncode == 0 and GOOD.run_id in listed.stdout
    assert (f"skipped {BAD.run_id} {member}: " in listed.stderr) == (member != "my.cnf")


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("member", MEMBERS)
def test_members_of_2_500_mb_need_little_memory(workspace: Workspace, tmp_path: Path, member: str) -> None:
    there = Workspace(tmp_path / "there")
    write_runs(there, GOOD, BAD)
    give_views(workspace)
    path = tmp_path / "bomb.zip"
    archive_with(path, there.runs, member, 2_500_000_000)
    refused_alone(in_little_memory(workspace, "runs", "pull", str(path)), workspace, member)
    for words in (["runs"], ["summary", "demo"]):
        shown = in_little_memory(workspace, *words, IBENCH_LAKE=str(path))
        assert shown.returncode == 0 and GOOD.config in shown.stdout, shown.stderr


def many_rows(path: Path, groups: int, rows: int) -> None:
    """So many groups of so many rows, all of them the first one."""
    (row, *_) = pq.read_table(path).to_batches(max_chunksize=1)
    columns = [column.take(pa.array([0] * rows)) for column in row.columns]
    batch = pa.RecordBatch.from_arrays(columns, schema=row.schema)
    with pq.ParquetWriter(path, row.schema, compression="zstd", store_schema=False) as writer:
        for _ in range(groups):
            writer.write_batch(batch, row_group_size=rows)


def long_names(path: Path, _groups: int, rows: int) -> None:
    """Rows with a name of 10 MB."""
    table = pq.read_table(path)
    name = pa.DictionaryArray.from_arrays(pa.array([0] * rows, pa.int32()), pa.array(["x" * 10_000_000]))
    table = table.slice(0, 1).take(pa.array([0] * rows))
    table = table.set_column(2, "step", name).set_column(1, "step_id", pa.array(range(rows), pa.int16()))
    pq.write_table(table, path, compression="zstd", store_schema=False)


ROWS: dict[str, tuple[Callable[[Path, int, int], None], int, int, str]] = {
    "rows": (many_rows, 60, 1_000_000, "60000000 rows: "),
    "names": (long_names, 1, 5_000, "a text of 10000000 bytes"),
}


@pytest.mark.slow
def test_a_table_of_more_rows_than_it_can_have_is_named(workspace: Workspace) -> None:
    write_runs(workspace, GOOD, BAD)
    many_rows(workspace.run_dir(BAD.run_id) / "steps.parquet", 1, 10_001)
    vouch(workspace.run_dir(BAD.run_id), "steps")
    listed = ibench(workspace, "runs")
    assert listed.returncode == 0 and "steps.parquet: 10001 rows: " in listed.stderr


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("others", [0, 9])  # read one by one, and by the index
@pytest.mark.parametrize("name", ROWS)
def test_tables_that_would_fill_the_memory_are_named(workspace: Workspace, name: str, others: int) -> None:
    make, groups, rows, said = ROWS[name]
    write_runs(workspace, GOOD, BAD, *(Run(minute=10 + number) for number in range(others)))
    give_views(workspace)
    path = workspace.run_dir(BAD.run_id) / "steps.parquet"

    def bomb(folder: Path) -> Path:
        made = folder / path.name
        shutil.copy(path, made)
        make(made, groups, rows)
        return made

    shutil.copy(made_once(f"bomb-of-{name}", bomb), path)  # to write 60,000,000 rows takes longer than to refuse them
    vouch(path.parent, "steps")
    assert path.stat().st_size < 4_000_000
    for words in (["runs"], ["summary", "demo"], ["sql", "SELECT count(*) FROM steps"]):
        shown = in_little_memory(workspace, *words)
        assert shown.returncode == 0, shown.stderr
        assert f"skipped {BAD.run_id} steps.parquet: " in shown.stderr and said in shown.stderr
    verified = in_little_memory(workspace, "runs", "verify")
    assert verified.returncode == 1 and said in verified.stdout and f"{GOOD.run_id}: good" in verified.stdout
