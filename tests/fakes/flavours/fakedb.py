"""A flavour of a family of its own: another binary, version words, option file, start, accounts and clean stop.

Behind its binary is this machine's MariaDB, so that it can be loaded and asked. Tests make it known by adding this
folder to where flavours are looked for; nothing else of the library is edited.
"""

import re
import shlex
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pymysql

from ibench_lib.configs.meaning import KnownOptions
from ibench_lib.configs.resolve import Option, ServerConfig
from ibench_lib.configs.rules import Rules, Scaled
from ibench_lib.configs.syntax import size
from ibench_lib.errors import RunFailed
from ibench_lib.server_figures import FigurePlaces
from ibench_lib.servers.address import Address
from ibench_lib.servers.build import Build
from ibench_lib.servers.flavours.flavour import Flavour, Inspection, Release, Settling, StartPlace

_KNOWN = KnownOptions(
    frozenset({"page_cache", "pace", "page_bytes", "data_place"}),
    {"page_cache": "16M", "pace": "200", "page_bytes": "16384"},
)
_PROGRAM = """#!/bin/sh
set -e
case "$1" in
--what-are-you) echo "fakedb, FakeDB 4.2 preview" ;;
--make) exec {initialise} --datadir="$2" --force --auth-root-authentication-method=normal --skip-test-db {user} ;;
--serve)
    sed -e 's/^\\[fakedb\\]/[mysqld]/; s/^page_cache=/innodb_buffer_pool_size=/; s/^pace=/innodb_io_capacity=/' \\
        -e 's/^page_bytes=/innodb_page_size=/' "$2" >"$3/real.cnf"
    shift
    exec {server} --defaults-file="$2/real.cnf" --log-error="$3" --datadir="$2/datadir" --tmpdir="$2/tmp" \\
        --socket="$4" --init-file="$5" --pid-file="$2/server.pid" --skip-networking {user} ;;
esac
"""


def install(real: Build, basedir: Path, user: Sequence[str]) -> Path:
    """Write the server binary of this flavour, which has `real` behind it."""
    words = {
        "initialise": "mariadb-install-db --no-defaults",
        "server": shlex.join(real.command),
        "user": shlex.join(user),
    }
    program = basedir / "bin" / "fakedbd"
    program.parent.mkdir(parents=True)
    text = _PROGRAM
    for name, word in words.items():
        text = text.replace(f"{{{name}}}", word)
    program.write_text(text)
    program.chmod(0o755)
    return program


class FakeDB:
    """Everything that the library asks of a flavour."""

    name = "fakedb"
    family = "mysql"
    mark: str | None = "fakedb"
    binaries: tuple[str, ...] = ("fakedbd",)
    is_system = True
    has_engines = True
    version_arguments: tuple[str, ...] = ("--what-are-you",)
    initial_options: frozenset[str] = frozenset({"page_bytes"})
    personal_files: tuple[str, ...] = ("*.identity",)
    stop_signal: int = signal.SIGTERM
    death_signal: int = signal.SIGKILL
    root_options: tuple[str, ...] | None = ("--user=root",)
    superuser = "root"
    small: tuple[Option, ...] = (Option("page_cache", "32M", "inspection"),)
    places = FigurePlaces({"questions": (("status", "Questions"),)})
    create_database = "CREATE DATABASE {name}"
    drop_database = "DROP DATABASE {name}"
    long_transaction: tuple[str, ...] = (
        "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
        "START TRANSACTION WITH CONSISTENT SNAPSHOT",
    )
    database_exists: int | str = 1007
    connection_limit = "seats"
    port = 4200
    driver = "ibench_lib.client.mysql.connection"

    def only_by_socket(self, release: Release) -> bool:
        return False

    def clean_stop(self, release: Release) -> tuple[str, ...]:
        return "SET GLOBAL innodb_fast_shutdown = 0", "SET GLOBAL general_log = OFF"

    def settling(self, release: Release) -> Settling:
        return Settling(
            table="CHECK TABLE {table} QUICK", hastened=(), dirty="SELECT 0, 7", data="SELECT 0, 800", column=1
        )

    def version_in(self, words: str) -> str | None:
        match = re.search(r"FakeDB (\S+)", words)
        return match[1] if match else None

    def moved_options(self, basedir: Path) -> list[str]:
        return []

    def initialise_command(self, build: Build, my_cnf: Path, datadir: Path, user: Sequence[str]) -> list[str]:
        return [*build.command, "--make", str(datadir)]

    def accounts(self, build: Build, password: str, host: str | None) -> str:
        return f"ALTER USER 'root'@'localhost' IDENTIFIED BY '{password}';\n"

    def start_command(self, build: Build, place: StartPlace) -> list[str]:
        where = [place.option_file, place.datadir.parent, place.error_log, place.socket, place.init_file]
        return [*build.command, "--serve", *map(str, where)]

    def answers(self, address: Address) -> bool:
        try:
            pymysql.connect(**address.arguments()).close()
        except pymysql.err.OperationalError:
            return False
        return True

    def plugins(self, engine: str) -> list[str]:
        return []

    def all_plugins(self) -> list[str]:
        return []

    def plugin_path(self, build: Build, plugin: str) -> Path | None:
        return None

    def rules(self, release: Release) -> Rules:
        return Rules(
            "fakedb",
            release,
            families=("fakedb",),
            group="fakedb",
            groups=frozenset({"fakedb"}),
            decided=frozenset({"data_place"}),
            scaled={"page_cache": Scaled(8 << 20)},
        )

    def known_options(self, build: Build, plugins: Sequence[str]) -> KnownOptions:
        return _KNOWN

    def refusal(self, build: Build, text: str, plugins: Sequence[str]) -> str | None:
        return "pace cannot be zero" if "pace=0" in text else None

    def memory_bytes(self, config: ServerConfig) -> int:
        return size(config.value("page_cache") or "") or 0

    def log_bytes(self, config: ServerConfig, release: Release) -> int:
        return 0

    def log_options(self, config: ServerConfig) -> tuple[Option, ...]:
        return ()

    def reads_files_of(self, build: Build) -> str:
        return str(build.release[0])

    def leaves_nothing(self, name: str, build: Build) -> bool:
        return name in {"page_cache", "pace"}

    def decides_layout(self, name: str) -> bool:
        return name == "page_bytes"

    def free_memory(self, datadir: Path, wait_s: float = 0.0) -> None:
        """It leaves none."""

    def places_files(self, name: str) -> bool:
        return name == "data_place"

    def cannot_move(self, what: str, engine: str, config: ServerConfig) -> tuple[str, str] | None:
        return f"and nothing of {self.name} can be moved", "leave it out"

    def tables_in_system(self, config: ServerConfig) -> bool:
        return False

    def is_path(self, name: str) -> bool:
        return name == "data_place"

    def caches_in(self, variables: Mapping[str, str]) -> list[str]:
        return ["ib_buffer_pool"]

    def history_list(self, address: Mapping[str, Any]) -> tuple[int | None, str | None]:
        return None, "servers of this flavour have no history list"

    def variables(self, address: Mapping[str, Any]) -> dict[str, str]:
        try:
            with pymysql.connect(**address) as connection, connection.cursor() as cursor:
                cursor.execute("SELECT @@innodb_buffer_pool_size, @@innodb_io_capacity, @@innodb_page_size")
                values = dict(zip(("page_cache", "pace", "page_bytes"), map(str, cursor.fetchone() or ()), strict=True))
        except (pymysql.err.MySQLError, OSError) as error:
            raise RunFailed(str(error)) from error
        return {"version": "4.2", "version_comment": "FakeDB", **values}

    def greeting(self, address: Mapping[str, Any], timeout_s: float) -> str:
        return "FakeDB 4.2"

    def inspect(self, address: Mapping[str, Any]) -> Inspection:
        return Inspection("4.2", "FakeDB", "no InnoDB", {}, 0, 0, {})

    def reset_binary_log(self, build: Build, variables: Mapping[str, str]) -> str | None:
        return None


FLAVOUR: Flavour = FakeDB()
