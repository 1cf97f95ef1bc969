"""MariaDB: initialised with its install script, which drives `mariadbd --bootstrap`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ibench_lib.configs.rules import Rules
from ibench_lib.errors import ServerStartError
from ibench_lib.families.mysql.family import MySQLFamily
from ibench_lib.families.mysql.options import pinned_options
from ibench_lib.servers.flavours.flavour import Flavour, Release

if TYPE_CHECKING:
    from ibench_lib.servers.build import Build

_SCRIPTS = ("mariadb-install-db", "mysql_install_db")


class MariaDB(MySQLFamily):
    """Prints its name together with its version."""

    name = "mariadb"
    families = ("mariadb",)
    mark: str | None = "mariadb"
    binaries: tuple[str, ...] = ("mariadbd", "mysqld")
    remakes_redo = (10, 0, 0)
    one_redo_file_since: Release | None = (10, 5, 0)

    def rules(self, release: Release) -> Rules:
        """Those of the family, and the groups of option files that only MariaDB reads."""
        rules = super().rules(release)
        series = ".".join(map(str, release[:2]))
        return replace(rules, groups=rules.groups | {"mariadb", f"mariadb-{series}", "mariadbd", f"mariadbd-{series}"})

    def initialise_command(self, build: Build, my_cnf: Path, datadir: Path, user: Sequence[str]) -> list[str]:
        """`mariadb-install-db` (before 10.4 `mysql_install_db`) of the build's own basedir."""
        no_socket_login = ["--auth-root-authentication-method=normal", "--skip-test-db"]
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
                        *(no_socket_login if _has_global_priv(build) else []),
                        *pinned_options(build),
                        *build.options,
                        *user,
                    ]
        raise ServerStartError(
            f"build {build.label}: no {_SCRIPTS[0]} in {build.basedir}/bin or /scripts",
            hint="`ibench doctor` says which package contains it",
        )

    def accounts(self, build: Build, password: str, host: str | None) -> str:
        """root@localhost, and another account for TCP. The install script's accounts without a password are deleted."""
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


def _has_global_priv(build: Build) -> bool:
    """From 10.4 on accounts are in mysql.global_priv, and root logs in by its socket if nothing else is said."""
    return build.release >= (10, 4, 0)


FLAVOUR: Flavour = MariaDB()
