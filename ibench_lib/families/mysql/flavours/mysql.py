"""MySQL: from 5.7 on initialised by the server binary itself, before that by a script or from what came with it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ibench_lib.errors import ServerStartError
from ibench_lib.families.mysql.family import MySQLFamily
from ibench_lib.families.mysql.options import pinned_options
from ibench_lib.servers.flavours.flavour import Flavour

if TYPE_CHECKING:
    from ibench_lib.servers.build import Build

_OWN_INITIALISE = (5, 7, 6)
_X_PLUGIN = (8, 0, 11)
_RESET_RENAMED = (8, 2, 0)
# From 8.0 on, a server upgrades the data dictionary to its own version when it starts, and refuses a later version.
_OWN_DICTIONARY = (8, 0, 0)


class MySQL(MySQLFamily):
    """Has no mark, because builds of distributors print only a version."""

    name = "mysql"
    families: tuple[str, ...] = ("mysql",)
    remakes_redo = (5, 6, 8)

    def initialise_command(self, build: Build, my_cnf: Path, datadir: Path, user: Sequence[str]) -> list[str]:
        """`mysqld --initialize-insecure`, before 5.7.6 `mysql_install_db`: root has no password yet."""
        if build.release >= _OWN_INITIALISE:
            head = [*build.command, f"--defaults-file={my_cnf}", "--initialize-insecure"]
            where = [f"--basedir={build.basedir}", f"--datadir={datadir}"]
            return [*head, *where, *pinned_options(build), *build.options, *user]
        for folder in ("scripts", "bin"):
            script = build.basedir / folder / "mysql_install_db"
            if script.is_file():
                where = [f"--basedir={build.basedir}", f"--datadir={datadir}"]
                return [str(script), f"--defaults-file={my_cnf}", *where, "--force", *user]
        raise ServerStartError(
            f"build {build.label}: no mysql_install_db in {build.basedir}/scripts or /bin",
            hint=f"MySQL {build.version} needs it; use the complete binary package of the release as basedir",
        )

    def start_options(self, build: Build) -> list[str]:
        """The X plugin listens on TCP port 33060 and a socket of its own unless it is turned off."""
        return ["--mysqlx=OFF"] if build.release >= _X_PLUGIN else []

    def accounts(self, build: Build, password: str, host: str | None) -> str:
        """root@localhost, and another account for TCP. Before 5.7.6, other accounts without a password are deleted."""
        if build.release >= _OWN_INITIALISE:
            statements = [f"ALTER USER 'root'@'localhost' IDENTIFIED BY '{password}';"]
            if host is not None:  # a loaded data directory has it
                statements.append(f"DROP USER IF EXISTS 'root'@'{host}';")
        else:
            statements = [
                "DELETE FROM mysql.user WHERE User = '' OR (User = 'root' AND Host <> 'localhost');",
                "FLUSH PRIVILEGES;",
                f"SET PASSWORD FOR 'root'@'localhost' = PASSWORD('{password}');",
            ]
        if host is not None:
            statements.append(f"CREATE USER 'root'@'{host}' IDENTIFIED BY '{password}';")
            statements.append(f"GRANT ALL PRIVILEGES ON *.* TO 'root'@'{host}' WITH GRANT OPTION;")
        return "\n".join(statements) + "\n"

    def reads_files_of(self, build: Build) -> str:
        return build.version if build.release >= _OWN_DICTIONARY else super().reads_files_of(build)

    def reset_statement(self, build: Build) -> str:
        """It was renamed in 8.2, and the old name went in 8.4."""
        return "RESET BINARY LOGS AND GTIDS" if build.release >= _RESET_RENAMED else super().reset_statement(build)


FLAVOUR: Flavour = MySQL()
