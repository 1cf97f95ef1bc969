"""MariaDB: initialise with its install script, which drives `mariadbd --bootstrap`."""

from __future__ import annotations

from pathlib import Path

from ibench_lib.errors import ServerStartError
from ibench_lib.servers.build import Build

_SCRIPTS = ("mariadb-install-db", "mysql_install_db")


def initialise_command(build: Build, my_cnf: Path, datadir: Path, user: list[str]) -> list[str]:
    """`mariadb-install-db` (before 10.4 `mysql_install_db`) of the build's own basedir."""
    for name in _SCRIPTS:
        for folder in ("bin", "scripts"):
            script = build.basedir / folder / name
            if script.is_file():
                return [
                    str(script),
                    f"--defaults-file={my_cnf}",
                    f"--basedir={build.basedir}",
                    f"--datadir={datadir}",
                    "--auth-root-authentication-method=normal",
                    "--skip-test-db",
                    *user,
                ]
    raise ServerStartError(
        f"build {build.label}: no {_SCRIPTS[0]} in {build.basedir}/bin or /scripts",
        hint="`ibench doctor` says which package brings it",
    )


def start_options(build: Build) -> list[str]:
    """Nothing beyond the common options."""
    return []


def set_root_password(password: str, host: str | None) -> str:
    """root@localhost, and for TCP one more. The install script leaves root accounts without password: they go."""
    statements = ["DELETE FROM mysql.global_priv WHERE User = 'root' AND Host <> 'localhost';", "FLUSH PRIVILEGES;"]
    statements.append(f"ALTER USER 'root'@'localhost' IDENTIFIED BY '{password}';")
    if host is not None:
        statements.append(f"CREATE USER 'root'@'{host}' IDENTIFIED BY '{password}';")
        statements.append(f"GRANT ALL PRIVILEGES ON *.* TO 'root'@'{host}' WITH GRANT OPTION;")
    return "\n".join(statements) + "\n"
