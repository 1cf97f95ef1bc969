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
                    "--force",  # without looking up the host's name, which not every machine can
                    *(
                        ["--auth-root-authentication-method=normal", "--skip-test-db"]
                        if _has_global_priv(build)
                        else []
                    ),
                    *build.options,
                    *user,
                ]
    raise ServerStartError(
        f"build {build.label}: no {_SCRIPTS[0]} in {build.basedir}/bin or /scripts",
        hint="`ibench doctor` shows which package contains it",
    )


def start_options(build: Build) -> list[str]:
    """Nothing beyond the common options."""
    return []


def set_root_password(build: Build, password: str, host: str | None) -> str:
    """root@localhost, and for TCP one more. The install script leaves accounts without password: they go."""
    who = "WHERE User = '' OR (User = 'root' AND Host <> 'localhost')"
    if _has_global_priv(build):
        accounts, set_password = "mysql.global_priv", f"ALTER USER 'root'@'localhost' IDENTIFIED BY '{password}';"
    else:
        accounts, set_password = "mysql.user", f"SET PASSWORD FOR 'root'@'localhost' = PASSWORD('{password}');"
    statements = [f"DELETE FROM {accounts} {who};", "FLUSH PRIVILEGES;", set_password]
    if host is not None:
        statements.append(f"CREATE USER 'root'@'{host}' IDENTIFIED BY '{password}';")
        statements.append(f"GRANT ALL PRIVILEGES ON *.* TO 'root'@'{host}' WITH GRANT OPTION;")
    return "\n".join(statements) + "\n"


def reset_binary_log(build: Build) -> str:
    """The statement that deletes all binary logs."""
    return "RESET MASTER"


def _has_global_priv(build: Build) -> bool:
    """From 10.4 on accounts are in mysql.global_priv, and root logs in by its socket unless told otherwise."""
    return build.release >= (10, 4, 0)
