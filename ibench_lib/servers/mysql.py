"""MySQL 5.7 and later, Percona Server: initialised by the server binary itself."""

from __future__ import annotations

from pathlib import Path

from ibench_lib.servers.build import Build


def initialise_command(build: Build, my_cnf: Path, datadir: Path, user: list[str]) -> list[str]:
    """`mysqld --initialize-insecure`: root has no password until the init file of the first start sets one."""
    return [
        *build.command,
        f"--defaults-file={my_cnf}",
        "--initialize-insecure",
        f"--basedir={build.basedir}",
        f"--datadir={datadir}",
        *user,
    ]


def start_options(build: Build) -> list[str]:
    """The X plugin listens on TCP port 33060 and a socket of its own unless told not to."""
    return ["--mysqlx=OFF"] if build.release >= (8, 0, 11) else []


def set_root_password(password: str, host: str | None) -> str:
    """root@localhost, the only account there is, and for TCP one more."""
    statements = [f"ALTER USER 'root'@'localhost' IDENTIFIED BY '{password}';"]
    if host is not None:
        statements.append(f"CREATE USER 'root'@'{host}' IDENTIFIED BY '{password}';")
        statements.append(f"GRANT ALL PRIVILEGES ON *.* TO 'root'@'{host}' WITH GRANT OPTION;")
    return "\n".join(statements) + "\n"
