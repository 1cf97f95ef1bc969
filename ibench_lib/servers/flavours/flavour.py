"""What a server flavour is: one module of a family's folder `flavours/`, found by its name; no other code names it.

A flavour's module has an object `FLAVOUR` with everything below. Other folders get values only: `Rules` for the option
file, `FigurePlaces` for capture, and statements for callers that have a connection.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast

from ibench_lib import plugins
from ibench_lib.configs.meaning import KnownOptions
from ibench_lib.configs.resolve import Option, ServerConfig
from ibench_lib.configs.rules import Rules
from ibench_lib.errors import BuildNotFound
from ibench_lib.server_figures import Counter, FigurePlaces
from ibench_lib.servers import flavours

if TYPE_CHECKING:
    from ibench_lib.servers.address import Address
    from ibench_lib.servers.build import Build

Release = tuple[int, ...]
"""(10, 11, 19) of 10.11.19-MariaDB, (16, 4) of 16.4."""


DEFAULT_ENGINE = "innodb"
"""The storage engine of workloads that name none; a server without engines takes it for its own."""


@dataclass(frozen=True)
class StartPlace:
    """Where a server keeps its files, and how to reach it. Without `port` it listens on its socket only.

    `moved` are folders of files that do not lie in `datadir`, by their names in `Program.movable`.
    `init_file` holds the statements of `Program.accounts`. `certificate` is a PEM file with its key next to it
    (`.key`); with it the server uses TLS. `plugins` are libraries to load, `user` is `Program.root_options` if it runs
    as root.
    """

    option_file: Path
    datadir: Path
    tmpdir: Path
    moved: Mapping[str, Path]
    socket: Path
    pid_file: Path
    error_log: Path
    init_file: Path
    host: str
    port: int | None
    certificate: Path | None
    plugins: tuple[str, ...]
    user: tuple[str, ...]


@dataclass(frozen=True)
class Setting:
    """A setting that has a different value during a wait.

    `read` is the query for the value in force, `write` the statement that sets one (`{value}`). A server that answers
    with the error `unknown` does not have it; None if every server has it.
    """

    read: str
    write: str
    value: str
    unknown: int | None = None


@dataclass(frozen=True)
class Settling:
    """How a database is settled between writes and queries.

    `table` is the statement for each table (`{table}`), and `then` are those that follow. While `dirty` is over a
    hundredth of `data`, both queries whose answer is in their column `column`, the server flushes with `hastened` in
    force. Both are None for a server that does not say, whose statements have written all pages.
    """

    table: str
    hastened: tuple[Setting, ...]
    dirty: str | None
    data: str | None
    column: int
    then: tuple[str, ...] = ()


@dataclass(frozen=True)
class Inspection:
    """What a running build reports about itself.

    `engines` maps a storage engine to its support (DEFAULT, YES, NO ...); `innodb` is such as `InnoDB 10.11.19` or
    `XtraDB 5.6.35-80.0`; `metrics` counts the InnoDB metrics.
    """

    version: str
    version_comment: str
    innodb: str
    engines: dict[str, str]
    metrics: int
    metrics_on: int
    counters: dict[str, Counter | None]


@dataclass(frozen=True)
class SavedOutput:
    """How text is recognised that somebody has saved of a server of the family, and what of it may be kept.

    Parameters
    ----------
    header : the names of the two columns, in lower case.
    variables, status : names that all releases have: they tell the output of each from other text.
    of_a_session : variables that only a session has.
    is_variable : whether a variable may have a name.
    kept : the value of a variable, given its name, or what stands for it where it may tell a host, person or path.
    described : of all variables, words that `recognise` knows; None where they do not say what server it is.
    summary : how a summary for people begins, which rounds what it has.
    """

    header: tuple[str, str]
    variables: frozenset[str]
    status: frozenset[str]
    of_a_session: frozenset[str]
    is_variable: Callable[[str], bool]
    kept: Callable[[str, str], str]
    described: Callable[[Mapping[str, str]], str | None]
    summary: str


@dataclass(frozen=True)
class MovableFiles:
    """Files of a data directory that may lie elsewhere: the option that says where, and patterns of their names."""

    option: str
    patterns: tuple[str, ...]


class Program(Protocol):
    """Its binary: how to recognise, initialise, start and stop it."""

    name: str
    """The module's name, which builds and results have as their flavour."""
    mark: str | None
    """What only this flavour says with its version, in lower case; None where it says nothing special."""
    binaries: tuple[str, ...]
    """Names of the server binary, the usual one first."""
    is_system: bool
    """Whether a server on PATH, or where distributions keep servers, can be the build `system`."""
    has_engines: bool
    """Whether it has storage engines to choose from; those of a server without are named nowhere."""
    version_arguments: tuple[str, ...]
    """What makes the binary print its version and nothing else."""
    initial_options: frozenset[str]
    """Options that initialising decides for good."""
    personal_files: tuple[str, ...]
    """Patterns of files that make a server that server: its identity, its keys. It makes new ones."""
    movable: Mapping[str, MovableFiles]
    """By what an experiment's `storage` calls them."""
    stop_signal: int
    """Makes it shut down cleanly."""
    death_signal: int
    """Ends it at once, with all of its processes: when ibench dies, and when a clean shutdown takes too long."""
    root_options: tuple[str, ...] | None
    """Options with which it runs as root; None if it never does.

    Then it runs as another user (`servers/account.py`) that may write to its own files only: it has to write its error
    log to its standard error.
    """
    superuser: str
    """The account that `accounts` makes."""

    def only_by_socket(self, release: Release) -> bool:
        """Whether clients may reach a sandbox by its socket only, because its release cannot prove its identity.

        A client then has the kernel say that the sandbox's own process listens on the socket (`Address.listener`).
        """

    def version_in(self, words: str) -> str | None:
        """The version in what the binary prints, None where it is no server of this flavour."""

    def moved_options(self, basedir: Path) -> list[str]:
        """Options for a basedir that has been moved."""

    def initialise_command(self, build: Build, my_cnf: Path, datadir: Path, user: Sequence[str]) -> list[str]:
        """Command line that creates an initialised data directory at `datadir`."""

    def accounts(self, build: Build, password: str, host: str | None) -> str:
        """Statements of the init file: the superuser's password for the socket, and for TCP from `host` where given.

        One statement per line. No account without a password may be left.
        """

    def start_command(self, build: Build, place: StartPlace) -> list[str]:
        """Command line that starts a server, private to its place."""

    def answers(self, address: Address) -> bool:
        """Whether a server can be reached and lets us in."""

    def free_memory(self, datadir: Path, wait_s: float = 0.0) -> None:
        """Free what a server of a data directory that was killed has left in the kernel's memory. Never raises.

        Only what is proven to be its own, and used by nobody; its last processes are waited for, at most `wait_s`.
        """

    small: tuple[Option, ...]
    """Options of a server that is only inspected."""

    def plugins(self, engine: str) -> list[str]:
        """Libraries that a storage engine needs to be loaded."""

    def all_plugins(self) -> list[str]:
        """Libraries of all storage engines that need any."""

    def plugin_path(self, build: Build, plugin: str) -> Path | None:
        """The path of such a library in a build; None if the build does not have it."""


class OptionFile(Protocol):
    """Its option file, and what the options in it do."""

    def rules(self, release: Release) -> Rules:
        """How it reads option files, and what a configuration may say."""

    def known_options(self, build: Build, plugins: Sequence[str]) -> KnownOptions:
        """The options that a build has with these plugins, asked from the binary. Raises ServerStartError."""

    def refusal(self, build: Build, text: str, plugins: Sequence[str]) -> str | None:
        """The server's own message if it refuses an option file; None if it accepts it. Touches no data."""

    def memory_bytes(self, config: ServerConfig) -> int:
        """Size of the page cache that a configuration asks for; 0 if it leaves that to the server."""

    def log_bytes(self, config: ServerConfig, release: Release) -> int:
        """Size of the redo log that a configuration asks a release for; 0 if it leaves that to the server."""

    def log_options(self, config: ServerConfig) -> tuple[Option, ...]:
        """The options that make this size: they are multiplied if there are several."""


class Disk(Protocol):
    """What is in its data directory: who may share a loaded one (`runner/snapshot/key.py`)."""

    def reads_files_of(self, build: Build) -> str:
        """Builds with the same answer can read each other's files."""

    def leaves_nothing(self, name: str, build: Build) -> bool:
        """Whether an option leaves no trace on disk after a full shutdown. False for unknown options."""

    def decides_layout(self, name: str) -> bool:
        """Whether an option decides the layout of files; such options are compared even if nobody sets them."""

    def places_files(self, name: str) -> bool:
        """Whether an option can put data files outside of the data directory."""

    def cannot_move(self, what: str, engine: str, config: ServerConfig) -> tuple[str, str] | None:
        """Why files of tables of an engine cannot lie in a folder for `what`, and what to do; None if they can.

        `what` is as in `Program.movable`, or not there.
        """

    def tables_in_system(self, config: ServerConfig) -> bool:
        """Whether tables lie in the files that are moved as `system`."""

    def is_path(self, name: str) -> bool:
        """Whether an option's value is a path."""

    def caches_in(self, variables: Mapping[str, str]) -> list[str]:
        """Files of the data directory that list cached pages, by which a server would fill its cache at the start."""


class ServerControl(Protocol):
    """The statements for a running server, and what it reports."""

    family: str
    """The folder of `ibench_lib/families/`, or the entry point, that it is in."""
    places: FigurePlaces
    create_database: str
    """The statement that makes a database (`{name}`)."""
    drop_database: str
    """The statement that deletes one (`{name}`)."""
    long_transaction: tuple[str, ...]
    """Statements that begin a transaction which keeps seeing the rows as they are then."""
    database_exists: int | str
    """Its error code for a database that is there already."""
    connection_limit: str
    """The variable, and option, that limits its connections."""
    port: int
    """Where a remote server listens, if nothing else is said."""
    driver: str
    """The module by which clients reach it (`client/driver.py`)."""
    saved: SavedOutput | None = None
    """How saved output of its servers is recognised; None where ibench reads none."""

    def clean_stop(self, release: Release) -> tuple[str, ...]:
        """Statements in a run's database after which a shutdown leaves nothing to purge, merge, flush or recover."""

    def settling(self, release: Release) -> Settling:
        """How it settles a database between writes and queries."""

    def history_list(self, address: Mapping[str, Any]) -> tuple[int | None, str | None]:
        """The length of InnoDB's history list now, on a fresh connection; None and the reason if that is not known."""

    def variables(self, address: Mapping[str, Any]) -> dict[str, str]:
        """Its settings in force. Raises RunFailed if it does not report them."""

    def greeting(self, address: Mapping[str, Any], timeout_s: float) -> str:
        """What a running server says of itself, from which `version_in` reads a version. Raises RunFailed."""

    def inspect(self, address: Mapping[str, Any]) -> Inspection:
        """What it is and counts. Raises RunFailed if it does not say."""

    def reset_binary_log(self, build: Build, variables: Mapping[str, str]) -> str | None:
        """The statement that deletes the binary logs, None where none are written."""


class Flavour(Program, OptionFile, Disk, ServerControl, Protocol):
    """All of it."""


def names() -> list[str]:
    """All flavours."""
    return [flavour.name for flavour in every()]


def every() -> list[Flavour]:
    """All flavours, by name."""
    known = []
    for module in plugins.modules("flavours", flavours):
        flavour = getattr(module, "FLAVOUR", None)
        if flavour is not None:
            known.append(cast(Flavour, flavour))
    return known


def find(name: str) -> Flavour:
    """The flavour of that name.

    Raises
    ------
    BuildNotFound : there is no such flavour.
    """
    for flavour in every():
        if flavour.name == name:
            return flavour
    raise BuildNotFound(
        f"there is no server flavour {name!r:.80}; there is {', '.join(names())}",
        hint="if another version of ibench registered the build, install it again",
    )


class FlavouredBuild(Protocol):
    """A build, wherever its server is."""

    @property
    def flavour(self) -> str:
        """The name of its flavour."""

    @property
    def release(self) -> Release:
        """Its version as numbers."""


def flavour_of(build: FlavouredBuild) -> Flavour:
    """The flavour of a build. Raises BuildNotFound if there is no flavour of that name."""
    return find(build.flavour)


def rules_of(build: FlavouredBuild) -> Rules:
    """How a build reads option files, and what a configuration for it may say."""
    return flavour_of(build).rules(build.release)


def recognise(words: str) -> tuple[str, str] | None:
    """Flavour and version that a server's own words tell; None where no flavour knows them.

    A flavour whose mark occurs in the text takes precedence over flavours without a mark.
    """
    lowered = words.lower()
    claiming = [flavour for flavour in every() if flavour.mark is not None and flavour.mark in lowered]
    claiming.sort(key=lambda flavour: -len(flavour.mark or ""))
    for flavour in (*claiming, *(flavour for flavour in every() if flavour.mark is None)):
        version = flavour.version_in(words)
        if version is not None:
            return flavour.name, version
    return None
