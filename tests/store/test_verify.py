"""Verifying names what is wrong with a run."""

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from ibench_lib.errors import LakeError
from ibench_lib.paths import Workspace
from ibench_lib.store import reader
from ibench_lib.store.annotations import annotate
from ibench_lib.store.manifest import TEXTS, read_manifest
from ibench_lib.store.recover import recover
from ibench_lib.store.transfer import new_archive, open_store, pull, push
from ibench_lib.store.verify import verify, without_checksum
from tests.command import ibench
from tests.synthetic import Run, begin_run, die, end_run, write_runs

pytestmark = pytest.mark.lake


def test_verify_names_what_is_wrong(workspace: Workspace) -> None:
    run = Run()
    write_runs(workspace, run)
    run_dir = workspace.run_dir(run.run_id)
    assert verify(run_dir) == []
    (run_dir / "notes.txt").write_text("mine")
    content = bytearray((run_dir / "ops.parquet").read_bytes())
    content[len(content) // 2] ^= 1
    (run_dir / "ops.parquet").write_bytes(content)
    (run_dir / "probes.parquet").unlink()
    problems = verify(run_dir)
    assert len(problems) == 3
    assert {problem.split(":")[0] for problem in problems} == {"ops.parquet", "probes.parquet", "notes.txt"}


def with_texts(workspace: Workspace, run: Run) -> Path:
    """A sealed run with the files that a server's run has."""
    writer = begin_run(workspace, run, run.steps)
    (writer.run_dir / "my.cnf").write_text("[mysqld]\n")
    (writer.run_dir / "server.log").write_bytes(b"ready \xff\n")
    end_run(writer, run)
    return writer.run_dir


@pytest.mark.parametrize("name", TEXTS)
def test_the_option_file_and_the_log_are_vouched_for(workspace: Workspace, tmp_path: Path, name: str) -> None:
    run_dir = with_texts(workspace, Run())
    assert verify(run_dir) == [] and without_checksum(run_dir) == []
    assert set(TEXTS) < read_manifest(run_dir).files.keys()
    store, elsewhere = open_store(str(tmp_path / "there")), Workspace(tmp_path / "elsewhere")
    assert push(run_dir, store)
    there = tmp_path / "there" / run_dir.name
    assert pull(run_dir.name, store, elsewhere) and verify(elsewhere.run_dir(run_dir.name)) == []
    whole = (there / name).read_bytes()
    (there / name).write_bytes(whole[:-2] + b"X\n")
    with pytest.raises(LakeError, match=f"{name} is not what its manifest vouches for"):
        pull(run_dir.name, store, Workspace(tmp_path / "third"))
    for damage, said in ((b"", "bytes, but the manifest says"), (whole[:-2] + b"X\n", "SHA-256"), (None, "missing")):
        (run_dir / name).unlink() if damage is None else (run_dir / name).write_bytes(damage)
        assert [problem for problem in verify(run_dir) if problem.startswith(f"{name}: ") and said in problem]
        with pytest.raises(LakeError, match=f"is not good: {name}: "):
            push(run_dir, open_store(str(tmp_path / "next")))
    lake = reader.lake(workspace)
    assert len(reader.sql(lake, "FROM runs")) == 1, "its tables are as they were"


def test_a_recovered_run_vouches_for_its_log_as_it_was_left(workspace: Workspace) -> None:
    writer = begin_run(workspace, Run(), ("l.i0",))
    (writer.run_dir / "server.log").write_text("ready\n")
    die(writer)
    manifest = recover(writer.run_dir)
    assert manifest.files["server.log"].bytes == len("ready\n")
    assert verify(writer.run_dir) == []


def test_a_run_of_an_older_version_is_good_and_says_what_nothing_vouches_for(workspace: Workspace) -> None:
    """A file that is added to a run of this version is not part of it."""
    write_runs(workspace, Run())
    run_dir = workspace.run_dir(Run().run_id)
    (run_dir / "server.log").write_text("ready\n")
    assert verify(run_dir) == [] and without_checksum(run_dir) == ["server.log"]
    said = ibench(workspace, "runs", "verify").stdout.splitlines()[0]
    assert said == f"{run_dir.name}: good; made by an older ibench, without a checksum of server.log"
    newer = Run("other", minute=9)
    writer = begin_run(workspace, newer, newer.steps)
    (writer.run_dir / "my.cnf").write_text("[mysqld]\n")
    end_run(writer, newer)
    (writer.run_dir / "server.log").write_text("not of this run")
    assert verify(writer.run_dir) == ["server.log: not listed in the manifest"]


def test_the_table_unvouched_has_the_files_wherever_the_lake_lies(workspace: Workspace, tmp_path: Path) -> None:
    older, newer = Run(), Run("other", minute=9)
    write_runs(workspace, older)
    (workspace.run_dir(older.run_id) / "server.log").write_text("ready\n")
    assert push(workspace.run_dir(older.run_id), open_store(str(tmp_path / "there")))
    run_dir = with_texts(workspace, newer)
    annotate(run_dir, note="mine")
    (run_dir / "odd \udcff").write_text("")
    with new_archive(tmp_path / "runs.zip") as archive:
        assert push(workspace.run_dir(older.run_id), archive)
    wanted = [(older.run_id, "server.log", "text")]
    asked = "FROM unvouched ORDER BY ALL"
    assert reader.lake(workspace).execute(asked).fetchall() == [*wanted, (newer.run_id, r"odd \udcff", "unlisted")]
    for place in ("there", "runs.zip"):
        assert reader.lake(str(tmp_path / place)).execute(asked).fetchall() == wanted
    for number in range(10):  # so many that the index is written
        write_runs(workspace, Run("more", minute=20 + number, repeat=number + 1))
    for _ in range(2):
        assert reader.lake(workspace).execute(asked).fetchall() == [*wanted, (newer.run_id, r"odd \udcff", "unlisted")]
    (workspace.run_dir(older.run_id) / "server.log").unlink()
    (run_dir / "odd \udcff").unlink()
    assert reader.lake(workspace).execute(asked).fetchall() == []


def test_verify_sees_totals_that_the_seconds_do_not_make(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    run = Run()
    (writer,) = write_runs(workspace, run)
    path = writer.run_dir / "workers.parquet"
    table = pq.read_table(path)
    changed = [{**row, "rows": row["rows"] + 1} for row in table.to_pylist()]
    pq.write_table(table.from_pylist(changed, schema=table.schema), path)
    monkeypatch.setattr("ibench_lib.store.verify.check_file", lambda path, *_: pq.read_schema(path))
    problems = verify(writer.run_dir)
    assert len(problems) == 14
    assert problems[0] == "workers.parquet: step l.i0, worker 0: not what its seconds add up to"
