"""Files of a server on other disks: where they lie while it runs, what is recorded of them, and what is refused."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import ibench_lib as ib
from ibench_lib.configs.resolve import Option, ServerConfig
from ibench_lib.errors import ExperimentError, HostUnfit
from ibench_lib.experiment.cells import LoadedExperiment, load_experiment
from ibench_lib.paths import Workspace
from ibench_lib.runner.folders import require_apart, require_folders
from ibench_lib.runner.observer import Observer
from ibench_lib.runner.plan import fit_cell, plan_cell, plan_experiment
from ibench_lib.runner.space import require_space
from ibench_lib.runner.sweep import run_experiment
from ibench_lib.servers.build import Build
from ibench_lib.servers.remote import Access, Remote
from ibench_lib.store import reader
from ibench_lib.store.manifest import read_manifest
from ibench_lib.workloads.workload import Step
from tests.builds.test_builds import installed
from tests.synthetic import answer

pytestmark = pytest.mark.lake

TEXT = """\
title: on other disks
builds: [system]
configs_folder: .
configs:
  - {name: here, fragments: [own]}
  - {name: apart, fragments: [own], storage: STORAGE}
setups: [{name: tiny, l_i0_rows: 6000, l_i1_rows: 2000, l_i2_rows: 1000, query_seconds: 1}]
snapshot_after: l.x
workload: {benchmark: insert_benchmark, clients: 1, steps: [l.i0, l.x, l.i1]}
"""
OWN = "[mysqld]\ninnodb_buffer_pool_size=24M\nloose_innodb_log_file_size=16M\nskip_log_bin\n"


def experiment(folder: Path, storage: str, text: str = TEXT) -> LoadedExperiment:
    (folder / "own.cnf").write_text(OWN)
    (folder / "apart.yaml").write_text(text.replace("STORAGE", storage))
    return load_experiment(folder / "apart.yaml")


def planned(folder: Path, build: Any, storage: str) -> Any:
    loaded = experiment(folder, storage)
    return plan_cell(loaded, loaded.cells()[1], build)


class Looking(Observer):
    """Which files lie in which folder while the cell `apart` runs its last step, below their private folders."""

    def __init__(self, disks: list[Path]) -> None:
        self.disks = disks
        self.cell = ""
        self.found: dict[str, set[str]] = {}
        self.modes: set[int] = set()

    def cell_begins(self, number: int, of: int, cell: Any, worker: str | None = None) -> None:
        self.cell = cell.config.name

    def step_begins(self, step: Step) -> None:
        if self.cell == "apart" and step.name == "l.i1":
            for disk in self.disks:
                (own,) = disk.iterdir()
                self.modes.add(own.stat().st_mode & 0o777)
                self.found |= {folder.name: {path.name for path in folder.iterdir()} for folder in own.glob("*/")}


def disks_of(tmp_path: Path, small_disk: Callable[[Path, str], Path]) -> list[Path]:
    """A folder of the same disk, and two disks."""
    (tmp_path / "fast").mkdir()
    return [tmp_path / "fast", small_disk(tmp_path / "slow", "400m"), small_disk(tmp_path / "small", "400m")]


def check_a_run(workspace: Workspace, loaded: LoadedExperiment, disks: list[Path], *, loads: bool) -> None:
    """`loads`: the cell whose files lie apart makes the snapshot that the other one begins with; or the reverse."""
    looking = Looking(disks)
    run_experiment(loaded, workspace, looking)
    assert looking.modes == {0o700}
    redo = {name for name in looking.found["redo"] if name == "#innodb_redo" or name.startswith("ib_logfile")}
    assert redo and "ibdata1" in looking.found["system"]
    assert "ib_buffer_pool" not in looking.found["system"], "the list of pages that would warm the pool"
    assert {"tmp", "datadir"} == looking.found["data"]
    assert [list(disk.iterdir()) for disk in disks] == [[], [], []] and not any(workspace.sandboxes.iterdir())
    runs = {run.cell.config: run for run in map(read_manifest, workspace.runs.glob("2*"))}
    run = runs["apart"]
    assert (run.loaded_from is None, runs["here"].loaded_from is None) == (loads, not loads), "they share a load"
    assert run.server is not None
    assert run.server.variables["datadir"].rstrip("/") == "<datadir>"
    assert run.server.variables["innodb_log_group_home_dir"].rstrip("/") == "<redo>"
    assert run.server.variables["innodb_data_home_dir"].rstrip("/") == "<system>"
    assert set(run.host["storage"]) == {"data", "redo", "system"} and "storage" not in runs["here"].host
    assert run.host["storage"]["redo"]["class"].startswith("tmpfs on ")
    sizes = {
        row["what"]: row["bytes"]
        for row in pq.read_table(workspace.run_dir(run.run_id) / "sizes.parquet").to_pylist()
        if row["step"] == "l.i1" and not row["name"]
    }
    assert sizes["redo"] >= 8 << 20 and sizes["system"] > 1 << 20
    assert sizes["datadir"] > sizes["redo"] + sizes["system"]
    lake = reader.lake(workspace)
    said = " ".join(ib.host_statements(answer(lake, "hosts", "apart"), answer(lake, "storage", "apart")))
    assert "Files on disks that the experiment chose: " in said and "the redo log on tmpfs on " in said


@pytest.mark.server
@pytest.mark.parametrize("loads", [False, True])
def test_files_lie_on_the_disks_that_the_experiment_names(
    workspace: Workspace, tmp_path: Path, small_disk: Callable[[Path, str], Path], loads: bool
) -> None:
    data, redo, system = disks_of(tmp_path, small_disk)
    storage = f"{{data: {data}, redo: {redo}, system: {system}}}"
    loaded = experiment(workspace.root, storage, in_order(TEXT, loads=loads))
    check_a_run(workspace, loaded, [data, redo, system], loads=loads)


def in_order(text: str, *, loads: bool) -> str:
    """The experiment with `apart` as the first configuration, if that is to load."""
    head, here, apart, rest = re.split(r"(  - \{name: here.*\n)(  - \{name: apart.*\n)", text)
    return "".join([head, *((apart, here) if loads else (here, apart)), rest])


@pytest.mark.registries
@pytest.mark.parametrize("label", ["mysql-5.6.24", "mysql-9.7", "mariadb-10.1.23", "mariadb-11.4.5"])
def test_builds_keep_their_files_on_other_disks(
    label: str,
    workspace: Workspace,
    tmp_path: Path,
    small_disk: Callable[[Path, str], Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    build = installed(label)
    monkeypatch.setattr("ibench_lib.runner.plan.find_build", lambda *_: build)
    data, redo, system = disks_of(tmp_path, small_disk)
    text = in_order(TEXT.replace("[system]", f"[{label}]"), loads=True)
    storage = f"{{data: {data}, redo: {redo}, system: {system}}}"
    check_a_run(workspace, experiment(workspace.root, storage, text), [data, redo, system], loads=True)


def test_a_cell_is_another_one_where_its_files_lie_elsewhere(tmp_path: Path, build: Build) -> None:
    prints = {planned(tmp_path, build, storage).fingerprint for storage in ("{data: /a}", "{data: /b}", "{redo: /a}")}
    plain = experiment(tmp_path, "{data: /a}", TEXT.replace(", storage: STORAGE", ""))
    prints.add(plan_cell(plain, plain.cells()[1], build).fingerprint)
    assert len(prints) == 4


def test_folders_that_will_not_do_are_refused_before_anything_runs(tmp_path: Path, build: Build) -> None:
    cell = planned(tmp_path, build, f"{{redo: {tmp_path / 'missing'}}}")
    with pytest.raises(HostUnfit, match=r"`storage` of config apart: .*/missing for redo is not a folder on this host"):
        require_folders(cell, "innodb")
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    cell = planned(tmp_path, build, f"{{redo: {tmp_path / 'open'}}}")
    with pytest.raises(HostUnfit, match="anyone may write to"):
        require_folders(cell, "innodb")
    (tmp_path / "open").chmod(0o1777)
    require_folders(cell, "innodb")
    with pytest.raises(ExperimentError, match="for redo, which is InnoDB's, but the tables are of engine rocksdb"):
        require_folders(cell, "rocksdb")
    require_folders(planned(tmp_path, build, f"{{data: {tmp_path / 'open'}}}"), "rocksdb")


@pytest.mark.parametrize("what", ["data", "redo", "system"])
def test_folders_of_the_lake_and_of_the_kernel_are_refused_with_their_line(
    workspace: Workspace, build: Build, what: str
) -> None:
    (workspace.root / "disk").mkdir()
    for name in ("runs", "sandboxes", "deep/er"):
        (workspace.data / name).mkdir(parents=True, exist_ok=True)
    (workspace.root / "to_runs").symlink_to(workspace.runs)
    (workspace.root / "to_proc").symlink_to("/proc")
    (workspace.root / "posts").mkdir()
    workspace.posts.symlink_to(workspace.root / "posts")  # the lake's, on another disk
    data, root = workspace.data, workspace.root
    lake = [data, data / "runs", data / "sandboxes", data / "deep/er", root / "to_runs", root / "posts"]
    kernel = [
        root / "to_proc",
        *map(Path, ("/proc", "/proc/self/fd", "/proc/self/root/tmp", "/sys", "/dev", "/dev/fd")),
    ]
    for folder, said in [*((path, "belongs to the lake in") for path in lake), *((path, "no disk") for path in kernel)]:
        loaded = experiment(root, f"{{{what}: {folder}}}")
        cell = plan_cell(loaded, loaded.cells()[1], build)
        with pytest.raises(ExperimentError) as caught:
            fit_cell(loaded, cell, workspace)
        assert f"apart.yaml:6: `storage` of config apart: {folder} for {what}" in caught.value.what
        assert said in caught.value.what and caught.value.lasting and caught.value.hint
    for folder in (root / "disk", root, Path("/dev/shm"), Path("/procession")):
        loaded = experiment(root, f"{{{what}: {folder}}}")
        require_apart(loaded, loaded.cells()[1], workspace)


def test_a_check_refuses_a_folder_of_the_lake(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    workspace.runs.mkdir(parents=True, exist_ok=True)
    loaded = experiment(workspace.root, f"{{data: {workspace.runs}}}")
    monkeypatch.setattr("ibench_lib.runner.plan.fit", lambda *_, **__: [])
    with pytest.raises(ExperimentError, match=r"apart\.yaml:6: .* belongs to the lake in"):
        plan_experiment(loaded, workspace)
    assert list(workspace.runs.iterdir()) == []


def test_system_files_of_other_names_stay_where_they_are(tmp_path: Path, build: Build) -> None:
    cell = planned(tmp_path, build, f"{{system: {tmp_path}}}")
    for value, refused in (("ibdata1:12M;ibdata2:10M:autoextend", False), ("sys1:12M:autoextend", True)):
        config = ServerConfig((Option("innodb_data_file_path", value, "x.cnf:1"),))
        with pytest.raises(ExperimentError, match="not called ibdata") if refused else nullcontext():
            require_folders(replace(cell, config=config), "innodb")


def test_a_remote_server_keeps_its_files_where_they_are(tmp_path: Path, build: Build) -> None:
    far = Remote("far", "mysql", "8.0.36", Access("db.lab", 3306, "bench", password_variable="SECRET"))
    cell = replace(planned(tmp_path, build, f"{{data: {tmp_path}}}"), build=far)
    with pytest.raises(ExperimentError, match="a folder for data, but the server far is remote"):
        require_folders(cell, "innodb")


def test_each_disk_needs_room_for_what_it_gets(
    workspace: Workspace, build: Build, small_disk: Callable[[Path, str], Path]
) -> None:
    disk = small_disk(workspace.root / "disk", "100m")
    with pytest.raises(HostUnfit, match="disk for the system tablespace: about"):
        require_space(build, ServerConfig(()), 1 << 20, workspace, folders={"system": disk})
    with pytest.raises(HostUnfit, match="disk for the server's data: about"):
        require_space(build, ServerConfig(()), 1 << 20, workspace, folders={"data": disk})
    require_space(build, ServerConfig(()), 1 << 20, workspace, folders={"redo": disk})
    config = ServerConfig((Option("innodb_log_file_size", "200M", "x.cnf:1"),))
    with pytest.raises(HostUnfit, match="disk for the redo log: about"):
        require_space(build, config, 1 << 20, workspace, folders={"redo": disk})
    fresh, copied = (
        dict(require_space(build, config, 1 << 20, workspace, folders={"redo": workspace.root / "redo"}, copied=copied))
        for copied in (False, True)
    )
    assert copied[workspace.sandboxes] - fresh[workspace.sandboxes] == 200 << 20, "a copy has the log until it is moved"
    one_file = ServerConfig((Option("innodb_file_per_table", "OFF", "x.cnf:1"),))
    with pytest.raises(HostUnfit, match="b for the system tablespace: about"):
        require_space(build, one_file, 10 << 30, workspace, folders={"system": small_disk(workspace.root / "b", "9g")})


@pytest.mark.parametrize(
    ("storage", "said"),
    [
        ("{}", "`storage` needs a folder for data, redo or system"),
        ("{data: disk}", "'disk' is not the absolute path of a folder"),
        ("{data: /mnt/../etc}", "'/mnt/../etc' is not the absolute path of a folder"),
        ("{undo: /mnt}", "undo"),
    ],
)
def test_what_is_no_folder_is_refused_with_its_line(tmp_path: Path, storage: str, said: str) -> None:
    with pytest.raises(ExperimentError) as caught:
        experiment(tmp_path, storage)
    assert said in f"{caught.value.what}\n{caught.value.detail}" and "apart.yaml" in str(caught.value)
