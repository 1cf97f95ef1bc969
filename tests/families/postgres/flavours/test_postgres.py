"""PostgreSQL from its binary to its clean stop."""

from __future__ import annotations

import os
import signal
import stat
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from ibench_lib.client.driver import StatementError
from ibench_lib.errors import BuildNotFound, HostUnfit, RunFailed, ServerStartError
from ibench_lib.families.postgres.driver import Connection
from ibench_lib.families.postgres.flavours import postgres
from ibench_lib.families.postgres.flavours.postgres import FLAVOUR
from ibench_lib.servers.accepts import require_plugins
from ibench_lib.servers.build import Build
from ibench_lib.servers.flavours.flavour import StartPlace, recognise
from ibench_lib.servers.on_this_machine import system_build
from tests.families.postgres.boxes import SMALL, connected, sandbox

BOX = Path("/box")
PLACE = StartPlace(
    option_file=BOX / "my.cnf", datadir=BOX / "data", tmpdir=BOX / "tmp", moved={}, socket=BOX / "s",
    pid_file=BOX / "pid", error_log=BOX / "log", init_file=BOX / "init.sql", host="127.0.0.1", port=None,
    certificate=None, plugins=(), user=(),
)  # fmt: skip
BUILD = Build("pg", "postgres", "15.18", Path("/opt/pg"), ("/opt/pg/bin/postgres",), "test")


@pytest.mark.parametrize(
    ("words", "version"),
    [
        ("(PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)", "15.18"),
        ("PostgreSQL 9.6.24 on x86_64-pc-linux-gnu, compiled by gcc", "9.6.24"),
        ("(PostgreSQL) 19beta1", "19beta1"),
    ],
)
def test_it_is_known_by_its_own_words(words: str, version: str) -> None:
    assert recognise(words) == ("postgres", version)


def test_it_starts_in_its_place_and_nowhere_else() -> None:
    shell, flags, script = FLAVOUR.start_command(BUILD, PLACE)
    single, link, server = script.splitlines()
    assert (shell, flags) == ("/bin/sh", "-ec")
    assert "--single" in single and single.endswith("</box/init.sql >/dev/null")
    assert link == "ln -sfn .s.PGSQL.5432 /box/s"
    assert server.startswith("exec /opt/pg/bin/postgres -D /box/data -c config_file=/box/my.cnf")
    assert "-c listen_addresses= " in server and "unix_socket_directories=/box" in server
    by_tls = FLAVOUR.start_command(BUILD, replace(PLACE, port=5510, certificate=BOX / "c.pem"))[-1]
    assert {"listen_addresses=127.0.0.1", "port=5510", "ssl=on", "ssl_key_file=/box/c.key"} <= set(by_tls.split())


def test_what_is_not_its_own_is_refused() -> None:
    assert FLAVOUR.cannot_move("redo", "innodb", None) is not None  # type: ignore[arg-type]
    with pytest.raises(BuildNotFound, match=r"has no plugin rocksdb\.so, which `engine: rocksdb` needs"):
        require_plugins(BUILD, "rocksdb")
    assert FLAVOUR.leaves_nothing("max_wal_size", BUILD) and not FLAVOUR.leaves_nothing("wal_level", BUILD)


def test_before_10_the_socket_alone_is_listened_on_and_md5_is_asked_for() -> None:
    old = replace(BUILD, version="9.6.24")
    script = FLAVOUR.initialise_command(old, BOX, BOX / "data", ())[-1]
    assert "local all all md5\n" in script and "host" not in script and "scram" not in script
    script = FLAVOUR.initialise_command(BUILD, BOX, BOX / "data", ())[-1]
    assert "local all all scram-sha-256\nhost all all 127.0.0.1/32 scram-sha-256\n" in script and "md5" not in script
    assert FLAVOUR.accounts(old, "p", None) == "ALTER ROLE ibench PASSWORD 'p';\n"
    assert FLAVOUR.accounts(BUILD, "p", None).startswith("SET password_encryption = 'scram-sha-256';\nALTER ROLE ")
    assert FLAVOUR.only_by_socket(old.release) and not FLAVOUR.only_by_socket((10, 23))


@pytest.mark.parametrize(
    ("version", "vacuum", "files"),
    [("9.6.24", "VACUUM (ANALYZE)", "9.6"), ("12.22", "VACUUM (ANALYZE, INDEX_CLEANUP ON)", "12")],
)
def test_what_differs_between_releases(version: str, vacuum: str, files: str) -> None:
    build = replace(BUILD, version=version)
    assert FLAVOUR.settling(build.release).table == f"{vacuum} {{table}}"
    assert FLAVOUR.clean_stop(build.release) == (vacuum, "CHECKPOINT")
    assert FLAVOUR.reads_files_of(build) == files


def test_a_server_elsewhere_that_is_older_than_10_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    said = ["PostgreSQL 9.6.24 on x86_64-pc-linux-gnu", "PostgreSQL 10.23 on x86_64-pc-linux-gnu", "another server"]
    monkeypatch.setattr(postgres, "_asked", lambda *_: [(said.pop(0),)])
    with pytest.raises(RunFailed, match=r"^PostgreSQL 9\.6\.24 cannot prove its identity: only a server that ibench "):
        FLAVOUR.greeting({}, 1.0)
    assert FLAVOUR.greeting({}, 1.0).startswith("PostgreSQL 10.23")
    assert FLAVOUR.greeting({}, 1.0) == "another server", "which nobody knows is said elsewhere"


def test_a_server_on_path_is_never_the_build_system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "postgres"
    program.write_text("#!/bin/sh\necho 'postgres (PostgreSQL) 15.18'\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    found = system_build()
    assert found is None or found.flavour != "postgres", "experiments that name it mean another server"


@pytest.mark.slow
def test_a_sandbox_is_private_and_leaves_nothing_behind(postgres: Build, open_path: Path) -> None:
    box = sandbox(postgres, open_path / "here")
    with box as address:
        process = psutil.Process(box.process.pid)  # type: ignore[union-attr]
        family = [process, *process.children()]
        assert len(family) > 3 and {each.uids().real for each in family} != {0}
        assert [each for each in process.net_connections("inet") if each.status == psutil.CONN_LISTEN] == []
        assert address.socket is not None
        assert stat.S_IMODE(Path(address.socket).parent.stat().st_mode) == 0o700
        assert address.password not in " ".join(process.cmdline())
        with pytest.raises(StatementError, match="28P01"):
            Connection({**address.arguments(), "password": "wrong"}, None, 10.0)
        found = FLAVOUR.variables(address.arguments())
        assert found["version"] == postgres.version and found["shared_buffers"] == "24MB"
    assert not any(each.is_running() for each in family)
    assert not box.directory.exists() and not Path(address.socket).parent.exists()
    assert address.password not in (open_path / "here" / "server.log").read_text(errors="replace")
    with pytest.raises(RunFailed, match=r"SELECT version\(\): no connection"):
        FLAVOUR.greeting(address.arguments(), 1.0)


@pytest.mark.slow
def test_by_tls_and_after_a_clean_stop_its_rows_are_there_again(postgres: Build, open_path: Path) -> None:
    box = sandbox(postgres, open_path / "here", tls=True)
    with box as address:
        connection = connected(box)
        assert connection.text("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()") == "t"
        connection.query("CREATE TABLE t (a int); INSERT INTO t VALUES (1), (2)")
        connection.begin(connection.command(b"SELECT a FROM t ORDER BY a"), fetch=True)
        while (rows := connection.arrived()) is None:
            pass
        assert rows == [(b"1",), (b"2",)]
        connection.close()
        box.stop(60.0)
        kept = open_path / "kept"
        os.rename(box.datadir, kept)
        again = box.start_again(kept)
        assert again.password != address.password, "each start has its own"
        assert connected(box).scalar("SELECT count(*) FROM t") == 2


@pytest.mark.slow
def test_no_process_outlives_the_one_that_was_killed(postgres: Build, open_path: Path) -> None:
    box = sandbox(postgres, open_path / "here")
    with box:
        family = psutil.Process(box.process.pid).children()  # type: ignore[union-attr]
        os.kill(box.process.pid, FLAVOUR.death_signal)  # type: ignore[union-attr]
        box.process.wait(30)  # type: ignore[union-attr]
        assert psutil.wait_procs(family, timeout=30)[1] == []
    assert FLAVOUR.death_signal == signal.SIGQUIT


@pytest.mark.slow
def test_a_data_directory_of_another_version_is_one_clear_line(postgres: Build, open_path: Path) -> None:
    old = open_path / "old"
    old.mkdir()
    box = sandbox(postgres, open_path / "here", origin=old)
    (old / "PG_VERSION").write_text("9\n")
    with pytest.raises(ServerStartError, match="does not start") as caught, box:
        pass
    assert "database files are incompatible with server" in (caught.value.detail or "")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has a reason to become another user")
def test_root_needs_another_user_or_is_refused_in_one_line(
    postgres: Build, open_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IBENCH_SERVER_USER", "no-such-user")
    with pytest.raises(HostUnfit, match="refuses to run as root, and there is no user no-such-user"):
        sandbox(postgres, open_path / "here", SMALL).__enter__()
