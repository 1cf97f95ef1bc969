"""Snapshots of a loaded data directory: whole or not there, and a cell that begins with one is as if it had loaded."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pymysql
import pytest

from ibench_lib.configs.meaning import KnownOptions
from ibench_lib.configs.resolve import ServerConfig
from ibench_lib.errors import ExperimentError, Interrupted, UsageError
from ibench_lib.experiment.cells import LoadedExperiment, load_experiment
from ibench_lib.paths import Workspace
from ibench_lib.runner.hosts.sweep import run_on_workers
from ibench_lib.runner.observer import Observer
from ibench_lib.runner.plan import plan_experiment
from ibench_lib.runner.snapshot import kept
from ibench_lib.runner.snapshot.use import RunSnapshot
from ibench_lib.runner.space import require_space
from ibench_lib.runner.sweep import run_experiment
from ibench_lib.servers.build import Build
from ibench_lib.servers.sandbox import Sandbox
from ibench_lib.store import reader
from ibench_lib.store.manifest import Manifest, read_manifest
from ibench_lib.store.verify import verify
from ibench_lib.workloads.workload import Step
from tests.fakes.sweep import fake_run, use_fake_builds
from tests.runner.many import TEXT as MANY
from tests.runner.snapshot.loaded import a_datadir, a_record
from tests.synthetic import Run, manifest_of

pytestmark = pytest.mark.lake


class Seen(Observer):
    """Who looks which snapshots are there when a cell begins."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self.there: list[tuple[str, int]] = []

    def cell_begins(self, number: int, of: int, cell: Any, worker: str | None = None) -> None:
        self.there.append((f"{cell.dbms}-r{cell.repeat}", len(left(self.workspace))))


def left(workspace: Workspace) -> list[Path]:
    return list(workspace.snapshots.iterdir()) if workspace.snapshots.is_dir() else []


@pytest.fixture
def fake_builds(monkeypatch: pytest.MonkeyPatch) -> None:
    use_fake_builds(monkeypatch.setattr)
    names = frozenset(["innodb_page_size", "innodb_purge_threads", "innodb_purge_batch_size"])
    known = KnownOptions(names, {"innodb_page_size": "16384"})
    monkeypatch.setattr("ibench_lib.runner.snapshot.key.known_options", lambda _build: known)


def snapshotting(stop_at: str = "") -> Any:
    """A fake run that leaves a snapshot where there is none, and is interrupted at a cell."""

    def run(experiment: Any, planned: Any, workspace: Workspace, observer: Any, _patience: Any) -> Manifest:
        cell, settings = planned.cell, planned.sharing.settings
        if kept.find(workspace, settings) is None:
            sandbox = workspace.root / f"sandbox-{cell.position}"
            kept.take(workspace, a_datadir(sandbox), a_record(settings, f"run-{cell.position}"))
        if f"{cell.dbms}-r{cell.repeat}" == stop_at:
            raise Interrupted("interrupted", hint="run the experiment again")
        return fake_run(experiment, planned, workspace, observer)

    return run


EIGHT = """\
[mysqld]
innodb_page_size=8K
"""
TWO_GROUPS = """\
title: two groups
builds: [a]
configs_folder: .
configs:
  - {name: base, fragments: [p1]}
  - {name: p8, fragments: [p1, eight]}
setups: [{name: mine, l_i0_rows: 1000, l_i1_rows: 1000, l_i2_rows: 100, query_seconds: 2}]
repeats: 2
order: interleaved
snapshot_after: l.x
workload: {benchmark: insert_benchmark, clients: 2, steps: [l.i0, l.x, l.i1, qr100]}
"""


def two_groups(workspace: Workspace, text: str = TWO_GROUPS) -> LoadedExperiment:
    (workspace.root / "eight.cnf").write_text(EIGHT)
    path = workspace.root / "groups.yaml"
    path.write_text(text)
    return load_experiment(path)


@pytest.mark.usefixtures("fake_builds")
def test_a_snapshot_is_there_as_long_as_a_cell_to_be_run_can_use_it(workspace: Workspace) -> None:
    seen = Seen(workspace)
    run_experiment(two_groups(workspace), workspace, seen, run=snapshotting())
    assert seen.there == [("a.base-r1", 0), ("a.p8-r1", 1), ("a.base-r2", 2), ("a.p8-r2", 1)]
    assert left(workspace) == []


@pytest.mark.usefixtures("fake_builds")
def test_interrupted_it_waits_for_the_same_experiment_and_for_no_edited_one(workspace: Workspace) -> None:
    loaded = two_groups(workspace)
    for _ in range(2):
        with pytest.raises(Interrupted) as caught:
            run_experiment(loaded, workspace, Observer(), run=snapshotting("a.base-r2"))
        assert f"the loaded data is kept for it in {workspace.snapshots}" in (caught.value.hint or "")
        assert len(left(workspace)) == 2
    planned = plan_experiment(loaded, workspace)
    assert [(entry.what, entry.from_snapshot) for entry in planned] == [("done", True)] * 2 + [
        ("again", True),
        ("new", True),
    ]
    edited = two_groups(workspace, TWO_GROUPS.replace("l_i0_rows: 1000", "l_i0_rows: 2000"))
    assert [entry.from_snapshot for entry in plan_experiment(edited, workspace)] == [False, False, True, True]
    seen = Seen(workspace)
    run_experiment(edited, workspace, seen, run=snapshotting())
    assert seen.there[0] == ("a.base-r1", 0), "what the other one had left is gone"
    assert left(workspace) == []


@pytest.mark.usefixtures("fake_builds")
def test_run_again_means_load_again(workspace: Workspace) -> None:
    loaded = two_groups(workspace)
    with pytest.raises(Interrupted):
        run_experiment(loaded, workspace, Observer(), run=snapshotting("a.p8-r2"))
    assert len(left(workspace)) == 1
    seen = Seen(workspace)
    run_experiment(loaded, workspace, seen, run=snapshotting(), again=True)
    assert seen.there[0] == ("a.base-r1", 0)


@pytest.mark.usefixtures("fake_builds")
def test_another_experiment_sweeps_up_what_one_has_left(workspace: Workspace) -> None:
    with pytest.raises(Interrupted):
        run_experiment(two_groups(workspace), workspace, Observer(), run=snapshotting("a.p8-r1"))
    assert len(left(workspace)) == 2
    path = workspace.root / "many.yaml"
    path.write_text(MANY)
    run_experiment(load_experiment(path), workspace, Observer(), run=fake_run)
    assert left(workspace) == []


@pytest.mark.usefixtures("fake_builds")
def test_a_run_records_what_it_began_with_and_why_others_are_no_use_to_it(workspace: Workspace, tmp_path: Path) -> None:
    loaded = two_groups(workspace)
    entry = plan_experiment(loaded, workspace)[1]
    assert entry.sharing is not None and isinstance(entry.build, Build)
    kept.take(workspace, a_datadir(tmp_path / "sandbox"), a_record(entry.sharing.settings))
    mine = RunSnapshot(loaded, entry, workspace)
    manifest = manifest_of(Run())
    box = Sandbox(entry.build, tmp_path / "box", tmp_path / "my.cnf", tmp_path / "log", origin=mine.origin)
    box.copy_s = 1.5
    assert mine.begin(box, manifest) == {"pi1": 5}
    assert manifest.loaded_from is not None and manifest.loaded_from.run_id == "r1"
    assert manifest.snapshot_copy is not None and manifest.snapshot_copy.seconds == 1.5
    assert manifest.snapshot_copy.apart == "not from the snapshot of cell 1: innodb_page_size is 8192, there 16384"


@pytest.mark.usefixtures("fake_builds")
def test_a_run_with_a_snapshot_is_another_run_than_one_without(workspace: Workspace) -> None:
    run_experiment(two_groups(workspace), workspace, Observer(), run=snapshotting())
    without = two_groups(workspace, TWO_GROUPS.replace("snapshot_after: l.x\n", ""))
    assert {entry.what for entry in plan_experiment(without, workspace)} == {"changed"}


def test_workers_on_other_hosts_are_refused(workspace: Workspace) -> None:
    with pytest.raises(UsageError, match="snapshot_after shares a data directory on one host"):
        run_on_workers(two_groups(workspace), workspace, Observer(), "tcp://127.0.0.1:1")


REAL = """\
title: from a snapshot
builds: [system]
configs_folder: configs
configs:
  - {name: base, fragments: [base]}
  - {name: other, fragments: [base, other]}
  - {name: p8, fragments: [base, p8]}
setups: [{name: tiny, l_i0_rows: 6000, l_i1_rows: 2000, l_i2_rows: 1000, query_seconds: 1}]
snapshot_after: l.x
workload: {benchmark: insert_benchmark, clients: 1, steps: [l.i0, l.x, l.i1]}
"""
FRAGMENTS = {
    "base": "innodb_buffer_pool_size=24M\ninnodb_log_file_size=16M\nskip_log_bin\n",
    "other": "innodb_log_file_size=8M\ninnodb_doublewrite=OFF\ninnodb_purge_batch_size=1\n",
    "p8": "innodb_page_size=8K\n",
}


def real(workspace: Workspace, text: str = REAL) -> LoadedExperiment:
    for name, lines in FRAGMENTS.items():
        (workspace.root / "configs").mkdir(exist_ok=True)
        (workspace.root / "configs" / f"{name}.cnf").write_text(f"[mysqld]\n{lines}")
    path = workspace.root / "real.yaml"
    path.write_text(text)
    return load_experiment(path)


@contextmanager
def the_server(workspace: Workspace) -> Iterator[pymysql.cursors.Cursor]:
    """A session on the server of the run under way."""
    (option_file,) = workspace.sandboxes.glob("*/client.cnf")
    with pymysql.connect(read_default_file=str(option_file)) as connection, connection.cursor() as cursor:
        yield cursor


class Looking(Observer):
    """Who asks the servers what they have: pages read when l.i1 begins, and every row when it has ended."""

    def __init__(self, workspace: Workspace, interrupt_cell: int = 0) -> None:
        self.workspace, self.interrupt_cell = workspace, interrupt_cell
        self.cell = ""
        self.steps: list[tuple[str, str]] = []
        self.pages: dict[str, int] = {}
        self.content: dict[str, Any] = {}
        self.snapshots: list[Path] = []

    def cell_begins(self, number: int, of: int, cell: Any, worker: str | None = None) -> None:
        self.number, self.cell = number, cell.config.name

    def step_begins(self, step: Step) -> None:
        self.steps.append((self.cell, step.name))
        if step.name != "l.i1":
            return
        with the_server(self.workspace) as cursor:
            cursor.execute("SHOW GLOBAL STATUS LIKE 'Innodb_buffer_pool_pages_data'")
            self.pages[self.cell] = int(cursor.fetchall()[0][1])
        self.snapshots = left(self.workspace)
        if self.number == self.interrupt_cell:
            raise KeyboardInterrupt

    def step_ends(self, step: Step, duration_s: float) -> None:
        if step.name == "l.i1":
            self.content[self.cell] = content(self.workspace)


def content(workspace: Workspace) -> list[Any]:
    """CHECKSUM of all rows, then their number, the least and the greatest key, and the next one."""
    found: list[Any] = []
    with the_server(workspace) as cursor:
        for query in (
            "CHECKSUM TABLE ibench.pi1 EXTENDED",
            "SELECT COUNT(*), MIN(transactionid), MAX(transactionid) FROM ibench.pi1",
            "SELECT AUTO_INCREMENT FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'ibench'",
        ):
            cursor.execute(query)
            found += cursor.fetchall()
    return found


@pytest.mark.server
def test_a_cell_from_a_snapshot_goes_on_as_if_it_had_loaded(workspace: Workspace) -> None:
    """Two cells, the second interrupted and made again, and for comparison one without snapshots."""
    loaded = real(workspace)
    planned = plan_experiment(loaded, workspace)
    assert [entry.from_snapshot for entry in planned] == [False, True, False]
    assert planned[2].sharing is not None
    apart = planned[2].sharing.apart
    assert apart == "not from the snapshot of cell 1: innodb_page_size is 8192, there 16384"
    first = Looking(workspace, interrupt_cell=2)
    with pytest.raises(Interrupted):
        run_experiment(loaded, workspace, first, without=["p8"])
    assert first.steps == [("base", "l.i0"), ("base", "l.x"), ("base", "l.i1"), ("other", "l.i1")]
    (home,) = left(workspace)
    assert first.snapshots == [home]
    looking = Looking(workspace)
    (made,) = run_experiment(loaded, workspace, looking, without=["p8"]).made
    assert looking.steps == [("other", "l.i1")]
    assert looking.snapshots == [home] and left(workspace) == []

    plain = Looking(workspace)
    alone = REAL.replace("snapshot_after: l.x\n", "")
    run_experiment(real(workspace, alone), workspace, plain, only=["base"])
    assert plain.content["base"][1:] == [(6000, 2001, 8000), (8001,)], "2,000 rows replaced of 6,000"
    contents = [first.content["base"], looking.content["other"]]
    assert contents == [plain.content["base"]] * 2, "every row of both cells is that of a cell without a snapshot"
    # Loading and index had filled the pool of the plain run; both cells of the snapshot begin with what a start reads.
    pages = {**first.pages, **looking.pages}
    assert abs(pages["base"] - pages["other"]) <= 0.1 * pages["base"]
    assert pages["base"] < 0.7 * plain.pages["base"]

    query = "SELECT run_id FROM runs WHERE config = 'base' AND snapshot_after = 'l.x'"
    ((begun,),) = reader.lake(workspace).execute(query).fetchall()
    taken, own = made.loaded_from, read_manifest(workspace.run_dir(begun)).snapshot_made
    assert taken is not None and taken == own and made.snapshot_made is None
    assert (taken.run_id, taken.after_step, taken.steps) == (begun, "l.x", ["l.i0", "l.x"])
    assert taken.rows == {"pi1": 6000} and taken.digest == home.name
    assert taken.bytes > 6000 * 100 and taken.build == "system" and taken.settings["innodb_page_size"] == "16384"
    assert all(verify(run_dir) == [] for run_dir in workspace.runs.iterdir())
    assert list(workspace.sandboxes.iterdir()) == []
    check_what_is_shown(workspace, [begun, made.run_id])


def check_what_is_shown(workspace: Workspace, run_ids: list[str]) -> None:
    lake = reader.lake(workspace)
    frame = reader.question(lake, "step_throughput", runs=run_ids, steps=[])
    statuses = {(row["dbms"], row["step"]): row["step_status"] for row in frame.to_dicts()}
    assert {key for key, status in statuses.items() if status != "complete"} == {
        ("system.other", "l.i0"),
        ("system.other", "l.x"),
    }
    assert set(statuses.values()) == {"complete", "loaded from a snapshot"}
    assert reader.question(lake, "gaps", runs=run_ids, steps=[]).is_empty()
    query = "SELECT step_id FROM steps WHERE run_id = $run ORDER BY ALL"
    assert lake.execute(query, {"run": run_ids[1]}).fetchall() == [(2,)], "the same step as in every other run"
    # Steps this short may pass between two samples; whatever was sampled in one is of the start that it ran on.
    query = """SELECT DISTINCT s.step_id, x.incarnation FROM server_samples x
               JOIN steps s ON s.run_id = x.run_id AND x.t_s BETWEEN s.start_s AND s.end_s WHERE x.run_id = $run"""
    found = lake.execute(query, {"run": run_ids[0]}).fetchall()
    assert set(found) <= {(0, 0), (1, 0), (2, 1)}, "nothing is subtracted over a restart"


def test_a_snapshot_needs_room_beside_the_server(workspace: Workspace, build: Build, small_disk: Any) -> None:
    small_disk(workspace.data, "500m")
    require_space(build, ServerConfig(()), 1 << 20, workspace)
    with pytest.raises(ExperimentError, match="the captured data and the server's data and the snapshot: about"):
        require_space(build, ServerConfig(()), 1 << 20, workspace, 200 << 20)


def test_a_snapshot_on_a_disk_of_its_own_needs_room_there(workspace: Workspace, build: Build, small_disk: Any) -> None:
    small_disk(workspace.snapshots, "300m")
    require_space(build, ServerConfig(()), 1 << 20, workspace, 200 << 20)
    with pytest.raises(ExperimentError, match="snapshots for the snapshot: about"):
        require_space(build, ServerConfig(()), 1 << 20, workspace, 400 << 20)
