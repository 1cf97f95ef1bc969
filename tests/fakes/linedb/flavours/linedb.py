"""What the library asks of a flavour."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ibench_lib.client.driver import ConnectionLost, StatementError
from ibench_lib.configs.meaning import KnownOptions
from ibench_lib.configs.resolve import Option, ServerConfig
from ibench_lib.configs.rules import Rules, Scaled
from ibench_lib.errors import RunFailed
from ibench_lib.server_figures import FigurePlaces
from ibench_lib.servers.address import Address
from ibench_lib.servers.build import Build
from ibench_lib.servers.flavours.flavour import Flavour, Inspection, MovableFiles, Release, Settling, StartPlace
from tests.fakes.linedb import linedbd
from tests.fakes.linedb.driver import Connection
from tests.fakes.linedb.option_file import LINE_FILE

PYTHON = "/usr/bin/python3"
"""Of the machine: other users cannot reach that of an environment."""


def install(basedir: Path) -> None:
    """Put the program into a basedir."""
    program = basedir / "bin" / "linedbd"
    program.parent.mkdir(parents=True)
    shutil.copyfile(linedbd.__file__, program)
    program.write_text(f"#!{PYTHON}\n{program.read_text()}")
    program.chmod(0o755)


class LineDB(Flavour):
    """The flavour of the program `linedbd`."""

    name = "linedb"
    family = "linedb"
    mark: str | None = "linedb"
    binaries: tuple[str, ...] = ("linedbd",)
    is_system = True
    has_engines = False
    version_arguments: tuple[str, ...] = ("--version",)
    initial_options: frozenset[str] = frozenset()
    personal_files: tuple[str, ...] = ()
    movable: Mapping[str, MovableFiles] = {}
    stop_signal: int = signal.SIGTERM
    death_signal: int = signal.SIGQUIT
    root_options: tuple[str, ...] | None = None
    superuser = "line"
    small: tuple[Option, ...] = (Option("cache_kb", "500", "inspection"),)
    places = FigurePlaces()
    create_database = "SELECT '{name} is the only one'"
    drop_database = "SELECT '{name} stays'"
    long_transaction: tuple[str, ...] = ()
    database_exists: int | str = "EXISTS"
    connection_limit = "seats"
    port = 7200
    driver = "tests.fakes.linedb.driver"

    def only_by_socket(self, release: Release) -> bool:
        return False

    def clean_stop(self, release: Release) -> tuple[str, ...]:
        return ()

    def settling(self, release: Release) -> Settling:
        return Settling(table="SELECT 'settled {table}'", hastened=(), dirty="SELECT 0", data="SELECT 1", column=0)

    def version_in(self, words: str) -> str | None:
        return words.split()[-1] if "LineDB" in words else None

    def moved_options(self, basedir: Path) -> list[str]:
        return []

    def initialise_command(self, build: Build, my_cnf: Path, datadir: Path, user: Sequence[str]) -> list[str]:
        return [*build.command, "--make", str(datadir)]

    def accounts(self, build: Build, password: str, host: str | None) -> str:
        return json.dumps({"line": password})

    def start_command(self, build: Build, place: StartPlace) -> list[str]:
        return [*build.command, "--serve", str(place.option_file), str(place.datadir), str(place.socket)]

    def answers(self, address: Address) -> bool:
        try:
            Connection(address.arguments(), None, 5.0).close()
        except ConnectionLost:
            return False
        return True

    def free_memory(self, datadir: Path, wait_s: float = 0.0) -> None:
        """It leaves none."""

    def plugins(self, engine: str) -> list[str]:
        return []

    def all_plugins(self) -> list[str]:
        return []

    def plugin_path(self, build: Build, plugin: str) -> Path | None:
        return None

    def rules(self, release: Release) -> Rules:
        return Rules(
            "linedb", release, families=("linedb",), group="", groups=frozenset({""}), scaled={"cache_kb": Scaled(100)},
            syntax=LINE_FILE,
        )  # fmt: skip

    def known_options(self, build: Build, plugins: Sequence[str]) -> KnownOptions:
        return KnownOptions(frozenset(linedbd.OPTIONS), dict(linedbd.OPTIONS))

    def refusal(self, build: Build, text: str, plugins: Sequence[str]) -> str | None:
        result = subprocess.run(
            [*build.command, "--check", "/dev/stdin"], input=text, capture_output=True, text=True, check=False
        )
        return result.stderr.strip() or None

    def memory_bytes(self, config: ServerConfig) -> int:
        return 1000 * (LINE_FILE.size(config.value("cache_kb") or "") or 0)

    def log_bytes(self, config: ServerConfig, release: Release) -> int:
        return 0

    def log_options(self, config: ServerConfig) -> tuple[Option, ...]:
        return ()

    def reads_files_of(self, build: Build) -> str:
        return build.version

    def leaves_nothing(self, name: str, build: Build) -> bool:
        return True

    def decides_layout(self, name: str) -> bool:
        return False

    def places_files(self, name: str) -> bool:
        return False

    def cannot_move(self, what: str, engine: str, config: ServerConfig) -> tuple[str, str] | None:
        return f"and nothing of {self.name} can be moved", "leave it out"

    def tables_in_system(self, config: ServerConfig) -> bool:
        return False

    def is_path(self, name: str) -> bool:
        return False

    def caches_in(self, variables: Mapping[str, str]) -> list[str]:
        return []

    def history_list(self, address: Mapping[str, Any]) -> tuple[int | None, str | None]:
        return None, "LineDB has no history list"

    def variables(self, address: Mapping[str, Any]) -> dict[str, str]:
        return _told(address, "SETTINGS")

    def greeting(self, address: Mapping[str, Any], timeout_s: float) -> str:
        return f"LineDB {_told(address, 'SETTINGS')['version']}"

    def inspect(self, address: Mapping[str, Any]) -> Inspection:
        return Inspection("7.2", "LineDB", "no InnoDB", {}, 0, 0, {})

    def reset_binary_log(self, build: Build, variables: Mapping[str, str]) -> str | None:
        return None


def _told(address: Mapping[str, Any], what: str) -> dict[str, str]:
    try:
        connection = Connection(address, None, 5.0)
        rows = connection.fetch(what.encode())
        connection.close()
    except (ConnectionLost, StatementError) as error:
        raise RunFailed(f"{what}: {error}") from error
    return {str(name or b"", "utf-8"): str(value or b"", "utf-8") for name, value in rows}


FLAVOUR: Flavour = LineDB()
