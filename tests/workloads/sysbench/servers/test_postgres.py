"""How sysbench reaches PostgreSQL; the real one is in tests/families/postgres."""

import os
import pwd
import stat
from dataclasses import replace
from pathlib import Path

import pytest

from ibench_lib.client.driver import DriverMissing
from ibench_lib.client.external import CannotDrive, Target
from ibench_lib.workloads import workload
from ibench_lib.workloads.sysbench import client, steps
from ibench_lib.workloads.sysbench.client import Sysbench
from ibench_lib.workloads.sysbench.servers import postgres
from tests.workloads.sysbench.test_options import options
from tests.workloads.sysbench.test_steps import SETUP


def test_a_socket_is_named_by_its_folder_and_port(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("PG")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PGHOSTADDR", "10.0.0.5")
    monkeypatch.setenv("PGSERVICE", "dev")
    socket = tmp_path / "mysql.sock"
    socket.symlink_to(".s.PGSQL.5433")
    given, environment = postgres.connection(Target(database="d", user="u", socket=str(socket), password="p"))
    assert given == {
        "pgsql-host": str(tmp_path), "pgsql-port": 5433, "pgsql-user": "u", "pgsql-password": "p", "pgsql-db": "d",
    }  # fmt: skip
    assert environment == {
        "PGHOSTADDR": None, "PGSERVICE": None, "PGSSLMODE": "disable", "SYSBENCH_TEST_CHAR": "VARCHAR",
    }  # fmt: skip
    plain, _ = postgres.connection(Target(database="d", user="u", socket="/run/.s.PGSQL.5432"))
    assert (plain["pgsql-host"], plain["pgsql-port"]) == ("/run", 5432)
    with pytest.raises(CannotDrive, match=r"^the socket s is none that libpq can find"):
        postgres.connection(Target(database="d", user="u", socket="/run/s"))


def test_a_server_that_is_reached_by_tls_has_to_prove_who_it_is() -> None:
    remote = Target(database="d", user="u", host="db.example.com", port=5432, certificate="/etc/ca.pem")
    given, environment = postgres.connection(remote)
    assert (given["pgsql-host"], given["pgsql-port"]) == ("db.example.com", 5432)
    assert (environment["PGSSLMODE"], environment["PGSSLROOTCERT"]) == ("verify-full", "/etc/ca.pem")


def test_a_server_that_cannot_prove_who_it_is_has_to_be_that_users() -> None:
    target = Target(database="d", user="u", socket="/run/.s.PGSQL.5432", listener_user=os.getuid())
    assert postgres.connection(target)[1]["PGREQUIREPEER"] == pwd.getpwuid(os.getuid()).pw_name
    assert "PGREQUIREPEER" not in postgres.connection(replace(target, listener_user=None))[1]
    with pytest.raises(CannotDrive, match=r"^user 4000000000, whose the server is, has no name"):
        postgres.connection(replace(target, listener_user=4_000_000_000))


@pytest.mark.parametrize("number", [0, 2], ids=["prepare", "test"])
def test_the_password_is_in_a_file_in_memory_only(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "folder_of_tests", lambda _binary: Path("/tests"))
    chosen = options(db_ps_mode="disable")
    step = steps.plan(chosen, SETUP, 1.0)[number]
    target = Target(database="d", user="u", family="postgres", host="h", port=5432, password="secret")
    program = Sysbench(steps.spec(chosen, step, steps.workers(chosen, step)[0], number), target)
    assert not any("secret" in word for word in [*program.argv, *filter(None, program.environment.values())])
    (config,) = (word.removeprefix("--config-file=") for word in program.argv if word.startswith("--config-file="))
    assert stat.S_IMODE(os.stat(config).st_mode) == 0o600 and os.readlink(config).startswith("/memfd:")
    assert "pgsql-password=secret\n" in Path(config).read_text() and "mysql" not in Path(config).read_text()
    assert {"--db-driver=pgsql", "--db-ps-mode=disable", "--tables=2"} <= {*program.argv}
    assert not any(word.startswith("--mysql") for word in program.argv)


@pytest.mark.parametrize("engine", ["innodb", "rocksdb"])
def test_an_engine_is_refused_and_what_is_not_given_is_none(engine: str) -> None:
    sysbench = workload.find("sysbench")
    assert sysbench.prepare(options(), SETUP, "postgres") == []
    with pytest.raises(DriverMissing, match=f"^engine: {engine}: PostgreSQL has no storage engines: leave it out$"):
        sysbench.prepare(options(engine=engine), SETUP, "postgres")
