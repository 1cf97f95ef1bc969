"""The index of a lake: the same answers with and without it, nothing stale, and rebuilt when it is gone or damaged."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import IO, Any

import duckdb
import pytest

from ibench_lib.paths import Workspace
from ibench_lib.store import catalogue, checksums, discovery, reader
from ibench_lib.store.index import Index
from ibench_lib.store.manifest import Manifest, parse_manifest
from ibench_lib.store.remove import remove_run
from ibench_lib.store.transfer import Store, open_store, push, push_index
from tests import shared
from tests.synthetic import Run, answer, write_runs

pytestmark = pytest.mark.lake


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The runs whose manifest has been read, in order. Nothing is too young to be remembered."""
    monkeypatch.setattr(checksums, "YOUNG_NS", 0)
    monkeypatch.setattr(discovery, "_MAY_WAIT", 0)
    names: list[str] = []

    def reading(name: str, text: bytes) -> Manifest:
        names.append(name)
        return parse_manifest(name, text)

    monkeypatch.setattr("ibench_lib.store.manifest.parse_manifest", reading)
    monkeypatch.setattr("ibench_lib.store.transfer.parse_manifest", reading)
    return names


@pytest.fixture
def own_views(monkeypatch: pytest.MonkeyPatch) -> None:
    """The workspace itself keeps what DuckDB makes of the SQL: only of what these tests ask, for all takes seconds."""
    asked = map(catalogue.question_text, ("known_runs", "selected_runs", "steps", "fairness"))
    wanted = catalogue.building_blocks("\n".join([*asked, *reader._COMPUTED_ONCE]))
    needed = {piece.place: piece.statement for piece in catalogue.pieces() if piece.called in wanted}
    monkeypatch.setattr(reader, "_with_every_name", shared.in_each_workspace)
    monkeypatch.setattr(catalogue, "statements", lambda: needed)


def runs(count: int = 3) -> list[Run]:
    return [Run(minute=minute) for minute in range(count)]


def everything(lake: duckdb.DuckDBPyConnection) -> dict[str, Any]:
    tables = ("runs", "planned_steps", "config_options", "server_variables", "problems", "steps", "ops", "run_steps")
    found: dict[str, Any] = {name: reader.sql(lake, f"FROM {name} ORDER BY ALL").rows() for name in tables}
    return found | {"fairness": answer(lake, "fairness").rows()}


def index_files(workspace: Workspace) -> list[Path]:
    return sorted(workspace.data.glob(".index-*.duckdb"))


@pytest.mark.long
@pytest.mark.slow
def test_the_index_answers_what_the_manifests_do(workspace: Workspace, read: list[str]) -> None:
    write_runs(workspace, *runs())
    lake = reader.lake(workspace)
    with_manifests = everything(lake)
    throughput = answer(lake, "step_throughput").rows()
    assert sorted(read) == [run.run_id for run in runs()]
    read.clear()
    lake = reader.lake(workspace)
    assert read == [] and everything(lake) == with_manifests
    assert answer(lake, "step_throughput").rows() == throughput
    for path in workspace.data.glob(".*"):
        path.unlink()
    assert everything(reader.lake(workspace)) == with_manifests


@pytest.mark.slow
def test_a_new_run_is_seen_at_once_and_a_removed_one_is_gone(workspace: Workspace, read: list[str]) -> None:
    write_runs(workspace, *runs())
    open_before = reader.lake(workspace)
    reader.lake(workspace)
    read.clear()
    write_runs(workspace, Run(minute=9))
    remove_run(Run().run_id, workspace)
    found = reader.sql(reader.lake(workspace), "SELECT run_id FROM runs ORDER BY ALL")["run_id"].to_list()
    assert found == [Run(minute=minute).run_id for minute in (1, 2, 9)]
    assert read == [Run(minute=9).run_id]
    assert len(index_files(workspace)) == 1
    assert len(reader.sql(open_before, "FROM runs")) == 3, "what is open stays as it was"


def test_few_new_runs_are_read_without_writing_the_index(
    workspace: Workspace, read: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write_runs(workspace, *runs())
    reader.lake(workspace)
    (before,) = index_files(workspace)
    monkeypatch.setattr(discovery, "_MAY_WAIT", 8)
    write_runs(workspace, Run(minute=9))
    remove_run(Run().run_id, workspace)
    lake = reader.lake(workspace)
    assert index_files(workspace) == [before]
    for table in ("runs", "steps", "ops", "server_variables"):
        found = reader.sql(lake, f"SELECT DISTINCT run_id FROM {table} ORDER BY ALL")["run_id"].to_list()
        assert found == [Run(minute=minute).run_id for minute in (1, 2, 9)], table


def test_what_was_changed_since_is_noticed(workspace: Workspace, read: list[str]) -> None:
    write_runs(workspace, *runs())
    reader.lake(workspace)
    changed = dict(zip([run.run_id for run in runs()], ("manifest.json", "steps.parquet", "ops.parquet"), strict=True))
    for run_id, file in changed.items():
        path = workspace.run_dir(run_id) / file
        times = path.stat()
        flip(path)
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    lake = reader.lake(workspace)
    assert reader.sql(lake, "SELECT run_id, file FROM problems ORDER BY ALL").rows() == list(changed.items())
    for run_id, file in changed.items():
        table = "runs" if file == "manifest.json" else Path(file).stem
        assert run_id not in reader.sql(lake, f"SELECT run_id FROM {table}")["run_id"].to_list()


def empty(path: Path) -> None:
    path.write_bytes(b"")


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def garble_under_its_own_checksum(path: Path) -> None:
    import hashlib

    path.unlink()
    path.with_name(f".index-{hashlib.sha256(b'no database').hexdigest()}.duckdb").write_bytes(b"no database")


@pytest.mark.long
@pytest.mark.parametrize("file", [".index-*", ".views-*"])
def test_a_damaged_cache_is_made_again(workspace: Workspace, read: list[str], own_views: None, file: str) -> None:
    write_runs(workspace, *runs())
    expected = everything(reader.lake(workspace))
    for damage in (Path.unlink, empty, flip, garble_under_its_own_checksum):
        (path,) = workspace.data.glob(f"{file}.duckdb")
        damage(path)
        assert everything(reader.lake(workspace)) == expected, damage
        read.clear()
        reader.lake(workspace)
        assert read == [], damage


@pytest.mark.slow
def test_a_damaged_index_is_said_once_with_its_place_and_the_answers_stay(
    workspace: Workspace, read: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    write_runs(workspace, *runs())
    expected = everything(reader.lake(workspace))
    for number, damage in enumerate((flip, empty, Path.unlink)):
        (path,) = index_files(workspace)
        damage(path)
        capfd.readouterr()
        said = []
        for _ in range(2):
            assert everything(reader.lake(workspace)) == expected
            said.append(capfd.readouterr().err)
        # One that is gone, as after an update, is no damage.
        assert (str(workspace.data) in said[0] and "does not fit its checksum" in said[0]) == (number < 2), damage
        assert said[1] == "" and len(said[0].splitlines()) == (number < 2), damage


def test_an_index_of_other_code_does_not_count(
    workspace: Workspace, read: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write_runs(workspace, *runs())
    reader.lake(workspace)
    read.clear()
    monkeypatch.setattr("ibench_lib.store.index._code", lambda: "later")
    reader.lake(workspace)
    assert len(read) == 3 and len(index_files(workspace)) == 1


def test_a_workspace_that_cannot_be_written_is_read_all_the_same(
    workspace: Workspace,
    read: list[str],
    own_views: None,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """One line says that the index could not be written, however often the lake is read."""
    write_runs(workspace, *runs())

    def refused(*_: object, **__: object) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr("ibench_lib.store.index.tempfile.mkstemp", refused)
    monkeypatch.setattr("ibench_lib.store.reader.tempfile.TemporaryDirectory", refused)
    for _ in range(2):
        assert len(reader.sql(reader.lake(workspace), "FROM runs")) == 3
    assert index_files(workspace) == []
    why = "the lake is read without its index, which takes longer: Read-only file system"
    assert capfd.readouterr().err.splitlines() == [f"{workspace.data}: {why}"]


def test_an_index_that_cannot_be_read_is_said_once(
    workspace: Workspace, read: list[str], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """One that another process has replaced meanwhile is nothing to be said."""
    write_runs(workspace, *runs())
    reader.lake(workspace).close()
    for error, said in ((FileNotFoundError(2, "gone"), 0), (PermissionError(13, "Permission denied"), 1)):

        def opened(path: Path, mode: str, error: OSError = error) -> IO[bytes]:
            if path.suffix == ".duckdb":
                raise error
            return path.open(mode)

        with monkeypatch.context() as patch:
            patch.setattr("ibench_lib.store.index.open", opened, raising=False)
            for _ in range(2):
                assert len(reader.sql(reader.lake(workspace), "FROM runs")) == 3
        assert capfd.readouterr().err.count("without its index") == said


def test_many_files_are_read_by_way_of_a_variable(
    workspace: Workspace, read: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    addresses = Index.addresses

    def spied(index: Index, table: str, *others: Any) -> str:
        asked.append(table)
        return addresses(index, table, *others)

    monkeypatch.setattr(Index, "addresses", spied)
    write_runs(workspace, *runs())
    expected = everything(reader.lake(workspace))
    assert asked == [], "the paths of few files are asked for at once, not for each table"
    monkeypatch.setattr(reader, "_PATHS_IN_A_VIEW", 2)
    assert everything(reader.lake(workspace)) == expected
    assert asked


@pytest.mark.long
@pytest.mark.slow
def test_a_store_is_opened_with_few_requests(
    workspace: Workspace, read: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"memory://{tmp_path.name}/lake"
    store = open_store(url)
    write_runs(workspace, *runs())
    for run in runs():
        push(workspace.run_dir(run.run_id), store)
    with duckdb.connect(":memory:") as connection:
        push_index(store, reader.index_of(store, workspace, connection))
    asked: list[object] = []
    ask = Store.ask
    monkeypatch.setattr(Store, "ask", lambda self, question: (asked.append(question), ask(self, question))[1])
    elsewhere = Workspace(tmp_path / "elsewhere")
    elsewhere.data.mkdir(parents=True)
    monkeypatch.setenv("IBENCH_HOME", str(elsewhere.root))
    read.clear()
    first = reader.lake(url)
    assert read == [] and len(asked) == 2, "a listing, and the index"
    assert everything(first) == everything(reader.lake(workspace))
    asked.clear()
    read.clear()
    write_runs(workspace, Run(minute=9))
    push(workspace.run_dir(Run(minute=9).run_id), store)
    asked.clear()
    assert len(reader.sql(reader.lake(url), "FROM runs")) == 4, "a new run is seen at once"
    assert read.count(Run().run_id) == 0
    # Without an index, or with a damaged one, what is listed is read.
    (packed,) = [path for path in store.files.ls(store.root, False) if path.endswith(".zip")]
    store.files.pipe_file(packed, b"PK no more")
    shutil.rmtree(elsewhere.data)
    assert len(reader.sql(reader.lake(url), "FROM runs")) == 4
