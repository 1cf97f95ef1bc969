"""A flavour of another family is one file: found by its name, and used from the option file to the clean stop."""

import importlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pyarrow.parquet as pq
import pytest

from ibench_lib.configs.resolve import Option, ServerConfig, resolve
from ibench_lib.errors import BuildNotFound, ConfigError, ExperimentError
from ibench_lib.experiment.cells import load_experiment
from ibench_lib.paths import Workspace
from ibench_lib.runner.observer import Observer
from ibench_lib.runner.plan import plan_experiment
from ibench_lib.runner.snapshot.key import load_settings
from ibench_lib.runner.sweep import run_experiment
from ibench_lib.servers import flavours, on_this_machine
from ibench_lib.servers.accepts import check
from ibench_lib.servers.build import Build
from ibench_lib.servers.find import find_build
from ibench_lib.servers.flavours.flavour import find, names, rules_of
from ibench_lib.servers.inspection import inspect
from tests.places import ROOT

MODULE = "ibench_lib.servers.flavours.fakedb"
EXPERIMENT = """
title: a run on a server of another family
builds: [fake]
configs_folder: own
configs: [{name: tiny, fragments: [base]}, {name: fast, fragments: [base, fast]}]
setups: [{name: tiny, l_i0_rows: 3000, l_i1_rows: 2000, l_i2_rows: 1000, query_seconds: 1}]
scale: 0.5
snapshot_after: l.x
workload: {benchmark: insert_benchmark, clients: 1, steps: [l.i0, l.x, l.i1, qr100], settle: flush}
"""


@pytest.fixture
def fakedb(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """Its module, in a folder that flavours are looked for in while the test runs."""
    monkeypatch.setattr(flavours, "__path__", [*flavours.__path__, str(ROOT / "tests" / "fakes" / "flavours")])
    yield importlib.import_module(MODULE)
    sys.modules.pop(MODULE, None)


@pytest.fixture
def fake(fakedb: ModuleType, build: Build, workspace: Workspace, tmp_path: Path) -> Build:
    """A build of that flavour under the label `fake`."""
    if build.flavour != "mariadb":
        pytest.skip("the server behind it is a MariaDB")
    fakedb.install(build, tmp_path / "fakedb-4.2", ["--user=root"] if os.geteuid() == 0 else [])
    return on_this_machine.register("fake", tmp_path / "fakedb-4.2", workspace)


def own_configs(folder: Path) -> Path:
    folder.mkdir()
    (folder / "base.cnf").write_text("[mysqld]\nnot_for=fakedb\n")
    (folder / "base.fakedb-4.2-to-5.cnf").write_text("[fakedb]\npage_cache=128M\npace=100\nloose_of_the_future=1\n")
    (folder / "fast.fakedb-4.cnf").write_text("[fakedb]\npace=400\n")
    (folder / "moved.fakedb.cnf").write_text("[fakedb]\ndata_place=/elsewhere\n")
    (folder / "zero.fakedb.cnf").write_text("[fakedb]\npace=0\n")
    return folder


def test_without_its_file_there_is_no_such_flavour() -> None:
    assert names() == ["mariadb", "mysql", "percona", "postgres"]
    with pytest.raises(
        BuildNotFound, match="there is no server flavour 'fakedb'; there is mariadb, mysql, percona, postgres"
    ):
        find("fakedb")


def test_a_binary_is_known_by_its_name_and_its_own_words(fake: Build, workspace: Workspace) -> None:
    assert "fakedb" in names()
    assert (fake.flavour, fake.version, fake.release) == ("fakedb", "4.2", (4, 2)), "a version of two parts"
    assert find_build("fake", workspace) == fake
    assert inspect(fake, workspace).version_comment == "FakeDB"


def test_its_option_file_has_its_own_groups_sizes_and_limits(fake: Build, tmp_path: Path) -> None:
    folder, rules = own_configs(tmp_path / "own"), rules_of(fake)
    config = resolve(["base", "fast"], rules, 0.25, folder)
    assert config.render().splitlines()[0] == "[fakedb]"
    assert (config.value("page_cache"), config.value("pace")) == (str(32 << 20), "400")
    assert check(fake, config) == ["base.fakedb-4.2-to-5.cnf:4: loose_of_the_future"]
    with pytest.raises(ConfigError, match="data_place is set by the sandbox"):
        resolve(["moved"], rules, 1.0, folder)
    with pytest.raises(ConfigError, match=r"fakedb 4\.2\) refuses its configuration: pace cannot be zero"):
        check(fake, resolve(["zero"], rules, 1.0, folder))


@pytest.mark.usefixtures("fake")
def test_cells_run_on_it_from_the_option_file_to_the_clean_stop(workspace: Workspace, tmp_path: Path) -> None:
    own_configs(tmp_path / "own")
    (tmp_path / "other.yaml").write_text(EXPERIMENT)
    experiment = load_experiment(tmp_path / "other.yaml")
    first, second = plan_experiment(experiment, workspace)
    assert first.sharing is not None and second.sharing is not None
    assert first.sharing.settings == second.sharing.settings, "pace leaves nothing on disk"
    assert first.sharing.settings.values["server"] == "fakedb 4"
    made = run_experiment(experiment, workspace, Observer()).made
    loaded, copied = made
    for manifest, pace in ((loaded, "100"), (copied, "400")):
        assert manifest.status == "complete" and manifest.server is not None
        assert manifest.server.flavour == "fakedb"
        assert manifest.server.variables["pace"] == pace
        assert manifest.server.variables["page_cache"] == str(64 << 20)
        assert [action.action for action in manifest.settle] == ["CHECK TABLE pi1 QUICK", "wait for dirty pages"]
        assert manifest.settle[1].result == "7 of 800 pages dirty"
        why = "servers of this flavour have no history list"
        assert manifest.null_reasons["steps.history_list_length"] == why
        samples = pq.read_table(workspace.run_dir(manifest.run_id) / "server_samples.parquet").to_pylist()
        assert any(row["questions"] for row in samples)
    assert loaded.snapshot_made is not None and copied.loaded_from is not None
    assert copied.loaded_from.run_id == loaded.run_id, "the first has shut down cleanly, and the second begins with it"


def test_a_snapshot_of_files_elsewhere_is_refused(fake: Build, tmp_path: Path) -> None:
    config = ServerConfig((Option("data_place", "/elsewhere", "a.cnf:1"),), group="fakedb")
    with pytest.raises(ExperimentError, match="data_place=/elsewhere lies outside"):
        load_settings(fake, config, {}, churned=False)
