"""What servers of MySQL's family have in common: commands and statements, by release."""

from pathlib import Path

import pytest

from ibench_lib.servers.flavours.flavour import StartPlace, flavour_of
from tests.families.mysql.described import build


@pytest.mark.parametrize(
    ("flavour", "version", "statement"),
    [
        ("mysql", "5.6.24", "RESET MASTER"),
        ("mysql", "8.0.33", "RESET MASTER"),
        ("percona", "8.0.33-25", "RESET MASTER"),
        ("mysql", "8.4.1", "RESET BINARY LOGS AND GTIDS"),
        ("mysql", "9.7.4", "RESET BINARY LOGS AND GTIDS"),
        ("mariadb", "11.4.5-MariaDB", "RESET MASTER"),
    ],
)
def test_how_binary_logs_are_deleted(flavour: str, version: str, statement: str) -> None:
    found = build(flavour, version)
    assert flavour_of(found).reset_binary_log(found, {"log_bin": "ON"}) == statement
    assert flavour_of(found).reset_binary_log(found, {"log_bin": "OFF"}) is None


def place(port: int | None = None, certificate: Path | None = None) -> StartPlace:
    box = Path("/box")
    return StartPlace(
        option_file=box / "my.cnf",
        datadir=box / "datadir",
        tmpdir=box / "tmp",
        moved={"redo": Path("/disk/redo"), "system": Path("/disk/system")},
        socket=box / "s",
        pid_file=box / "pid",
        error_log=box / "log",
        init_file=box / "init.sql",
        host="127.0.0.1",
        port=port,
        certificate=certificate,
        plugins=("ha_rocksdb",),
        user=("--user=root",),
    )


@pytest.mark.parametrize(
    ("flavour", "version", "x_plugin"),
    [
        ("mysql", "5.7.44", False),
        ("mysql", "8.0.36", True),
        ("percona", "8.0.33-25", True),
        ("mariadb", "10.11.19-MariaDB", False),
    ],
)
def test_a_server_starts_in_its_place_and_nowhere_else(flavour: str, version: str, x_plugin: bool) -> None:
    found = build(flavour, version)
    command = flavour_of(found).start_command(found, place())
    assert command[:2] == ["/opt/db/bin/mysqld", "--defaults-file=/box/my.cnf"], "no other option file is read"
    assert {"--datadir=/box/datadir", "--tmpdir=/box/tmp", "--socket=/box/s", "--skip-networking"} <= set(command)
    assert {"--init-file=/box/init.sql", "--plugin-load-add=ha_rocksdb", "--user=root"} <= set(command)
    assert ("--mysqlx=OFF" in command) is x_plugin, "the X plugin would listen on a port and a socket of its own"
    by_tls = flavour_of(found).start_command(found, place(3310, Path("/box/server.pem")))
    assert {"--bind-address=127.0.0.1", "--port=3310", "--ssl-key=/box/server.key"} <= set(by_tls)
    assert "--skip-networking" not in by_tls


@pytest.mark.parametrize(
    ("flavour", "version", "words"),
    [
        ("mysql", "5.6.24", ["DELETE FROM mysql.user", "SET PASSWORD"]),
        ("mysql", "8.0.36", ["ALTER USER"]),
        ("mariadb", "10.1.23", ["DELETE FROM mysql.user", "SET PASSWORD"]),
        ("mariadb", "10.11.19", ["DELETE FROM mysql.global_priv", "ALTER USER"]),
    ],
)
@pytest.mark.fault("F28")
def test_root_gets_a_password_and_accounts_without_one_go(flavour: str, version: str, words: list[str]) -> None:
    found = build(flavour, version)
    sql = flavour_of(found).accounts(found, "pw123", None)
    assert all(word in sql for word in words)
    assert all(line.endswith(";") for line in sql.splitlines()), "an init file has one statement per line"
    assert "127.0.0.1" not in sql
    with_tcp = flavour_of(found).accounts(found, "pw123", "127.0.0.1")
    assert "CREATE USER 'root'@'127.0.0.1' IDENTIFIED BY 'pw123';" in with_tcp
