"""What a client needs of a server: a connection that sends commands and says what came back. No family of servers.

A driver is a module with a class `Connection`, as below, and a function `connect` that makes one; a server's flavour
names it (`ServerControl.driver`). If some of it is compiled, the module `<driver>_core` has a function `core_state`
(`core_of`). Workloads and the runner know this protocol only. How a command becomes bytes on a wire is the driver's
matter.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Generator, Mapping, Sequence
from datetime import datetime
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, TypeAlias

from ibench_lib import plugins

if TYPE_CHECKING:
    import numpy as np

Row: TypeAlias = tuple[bytes | None, ...]

LONGEST_PARAMETER: Final = 250
"""Bytes of the longest string that a prepared statement may take: a driver may have one byte for its length."""

DEADLOCK: Final = "deadlocks"
LOCK_TIMEOUT: Final = "lock_timeouts"
CHANGED: Final = "changed"
"""A row has changed since the transaction's read view, or what a transaction read does not fit together."""

RETRY_REASONS: Final = (DEADLOCK, LOCK_TIMEOUT, CHANGED)
"""Why an operation may be repeated: the columns of `ops` that count the repeats."""


class DriverMissing(Exception):
    """There is no driver of that name, or a workload has no SQL for the family of servers that a driver speaks to."""


class ConnectionLost(Exception):
    """Broken, or silent for too long, with a statement in flight: its outcome is unknown."""


class StatementError(Exception):
    """The server answered with an error, or with rows that a transaction takes for one.

    `code` is the server's own. `retry_reason` is one of `RETRY_REASONS`; None if the operation must not be repeated.
    """

    def __init__(self, code: int | str, message: str, retry_reason: str | None = None) -> None:
        super().__init__(f"({code}) {message}")
        self.code = code
        self.retry_reason = retry_reason


ROWS: Final = 1
"""A mark of a command whose rows the operation reads; else they are only counted."""

SEVERAL: Final = 2
"""A mark of a command of several statements, separated by semicolons: one round trip. Rows are those of all of them."""

Answer: TypeAlias = int | Sequence[Row] | None
"""The answer to a command: the number of rows changed or returned or, with the mark ROWS, the rows as text."""

Yielded: TypeAlias = bytes | tuple[bytes, int]
"""What an operation yields: a command, or a command with its marks, `command, ROWS | SEVERAL`."""

Steps: TypeAlias = Generator[Yielded, Any, int]
"""What an operation does: each command that it yields gets its `Answer`, whose kind the marks say."""


class Statement(Protocol):
    """A statement to be completed with `%`: a command of a text, or a prepared one.

    %d is an integer, %i one of 32 bits, '%b' a string, %b a decimal or, in a text, any SQL.
    """

    def __mod__(self, values: Any, /) -> bytes:
        """The command with these values: integers, and bytes. A single one needs no tuple."""


def each(statement: bytes | PreparedStatement, values: np.ndarray[Any, Any]) -> list[bytes]:
    """The commands of a statement with each of these integers, or rows of them."""
    if not isinstance(statement, bytes):
        return statement.each(values)
    return [statement % (value if values.ndim == 1 else tuple(value)) for value in values.tolist()]


class PreparedStatement(Statement, Protocol):
    """A statement that the server has prepared, on one connection."""

    def each(self, values: np.ndarray[Any, Any], /) -> list[bytes]:
        """The commands with each of these integers, or rows of them. Cheaper than one at a time."""


class PreparedRows(Protocol):
    """An INSERT of several rows that the server has prepared, on one connection (`Connection.prepared_rows`)."""

    def commands(
        self, moment: datetime, integers: Sequence[np.ndarray[Any, Any]], sizes: Any, letters: Any
    ) -> list[bytes]:
        """The commands of a block of rows, one after another.

        `moment` is that of all rows; `integers` has an array for each of the columns. The string of a row is that of
        `strings` at its number in `sizes`, with the bytes of its row of `letters`, which is right-aligned, put in where
        it has zeros. Commands are executed in their order.
        """


class Connection(Protocol):
    """A connection with autocommit and bounded waits: a server that stops answering is an error, not a hang.

    A command is bytes that `command` or a prepared statement has made. It is the text after a mark of the driver's, if
    any: `command(a) + b` is `command(a + b)`, and `command(a) % b` is `command(a % b)`. So the text can be put together
    at the least cost.

    `family` names the SQL that the server understands. `rollback` is the command that ends a transaction. `asked_ns` is
    the time spent in `query`, `scalar`, `text` and `prepared`. A load's operations use the other methods, and are timed
    by the load itself.
    """

    family: str
    rollback: bytes
    asked_ns: int

    def query(self, text: str, /) -> int:
        """Run one SQL text. Returns the rows that it changed or returned.

        Raises
        ------
        StatementError : the server answered with an error; the connection stays usable.
        ConnectionLost : broken, timed out or out of step; the outcome is unknown.
        """

    def scalar(self, text: str, /) -> int | None:
        """First column of the first row as an integer, or None for NULL. Raises as `query` does."""

    def text(self, text: str, /, column: int = 0) -> str:
        """One column of the first row as text. Raises as `query` does."""

    def command(self, text: bytes, /) -> bytes:
        """The command that sends an SQL text."""

    def prepared(self, text: str, /) -> PreparedStatement:
        """Prepare a text that `%` would complete (`Statement`). Raises as `query` does."""

    def prepared_rows(self, insert: str, /, rows: int, integers: int, strings: Sequence[bytes]) -> PreparedRows:
        """Prepare an INSERT of so many rows: a date with time, so many integers of 32 bits, and a string each.

        `insert` is the text up to the rows. `strings` are all that a string can be, with zeros where letters come.
        Raises as `query` does.
        """

    def execute(self, command: bytes, /) -> int:
        """Send one command and return the rows that it changed or returned. Raises as `query` does."""

    def execute_several(self, command: bytes, /) -> int:
        """Send one command of several statements, separated by semicolons, and return the sum of their rows.

        The first error ends it: later statements are not done. Raises as `query` does.
        """

    def fetch(self, command: bytes, /, *, several: bool = False) -> Sequence[Row]:
        """Send one query, and return its rows: values as text, and None for NULL.

        With `several` the command has several statements, and the rows are those of all of them. Raises as `query`.
        """

    def begin(self, command: bytes, /, *, fetch: bool, several: bool = False) -> None:
        """Send one command and do not wait; `arrived` gives its answer. With `fetch` that is the rows (`fetch`).

        With `several` the command has several statements (`execute_several`). Raises ConnectionLost.
        """

    def arrived(self) -> int | Sequence[Row] | None:
        """Take in what has arrived of the answer. None if it is not whole yet. Raises as `query` does."""

    def fileno(self) -> int:
        """The descriptor to wait on for `arrived`."""

    def close(self) -> None:
        """Close, also where the connection is broken already."""


def statements_of(room: ModuleType, family: str) -> Any:
    """The module with a workload's SQL for a family of servers, of which `room` is the workload's folder of them.

    It is `<family>.py` there, or `statements/<workload>.py` in the folder of the family.

    Raises
    ------
    DriverMissing : there is none.
    """
    *above, workload, folder = room.__name__.split(".")
    try:
        return _import(f"{room.__name__}.{family}")
    except _NoModule:
        pass
    package = plugins.families().get(family)
    try:
        if package is not None:
            return _import(f"{package}.{folder}.{workload}")
    except _NoModule:
        pass
    where = "/".join([*above[1:], workload, folder])
    raise DriverMissing(f"no SQL for servers of the family {family}: {where}/{family}.py is missing")


class _NoModule(Exception):
    """There is no module of that name."""


def _import(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):  # a module that it imports
            raise
        raise _NoModule from None


def connect(
    driver: str, address: Mapping[str, Any], database: str | None, timeout_s: float, like: Connection | None = None
) -> Connection:
    """A connection of a driver, which is named by its module.

    Parameters
    ----------
    address : where and who, as the server's flavour has it (`Address.arguments`).
    database : default schema, or None.
    timeout_s : how long the server may be silent before the connection counts as lost.
    like : a connection whose knowledge of answers this one may share: less memory, and it stays in the CPU's cache.

    Raises
    ------
    StatementError, ConnectionLost : the server refuses, or is not there.
    DriverMissing : there is no such module.
    """
    module = _module(driver)
    connection: Connection = module.connect(address, database, timeout_s, like)
    return connection


def family_of(driver: str) -> str:
    """The family of servers that a driver speaks to. Raises DriverMissing."""
    of_driver = getattr(_module(driver), "Connection", None)
    if of_driver is None:
        raise DriverMissing(f"driver {driver} has no class Connection, which says its family of servers")
    return str(of_driver.family)


class CoreState(NamedTuple):
    """How a driver runs here. `name` is what a manifest says: compiled from which source, Python, or missing.

    `why` says of one that could be compiled why it is not, or why it cannot run; None else.
    """

    name: str
    why: str | None = None


def core_of(driver: str) -> CoreState:
    """How a driver runs on this machine. The driver and what it needs are not imported. Raises DriverMissing."""
    try:
        state: CoreState = _import(f"{driver}_core").core_state()
    except _NoModule:
        if _is_there(driver):
            return CoreState("Python")
        raise _missing(driver) from None
    return state


def _module(driver: str) -> ModuleType:
    try:
        return _import(driver)
    except _NoModule:
        raise _missing(driver) from None


def _is_there(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # of a package above it
        return False


def _missing(driver: str) -> DriverMissing:
    return DriverMissing(f"no driver {driver}: the module is missing")
