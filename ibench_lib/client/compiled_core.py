"""Whether the core of a driver is compiled here (its `core.c` with `exchange.h`), and which; the driver itself uses it.

Commands that only ask import neither numpy nor a driver for it.
"""

from __future__ import annotations

import hashlib
import importlib
import os
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol, cast

from ibench_lib.client.driver import (
    Answer,
    CoreState,
    DriverMissing,
    PreparedStatement,
    Row,
    StatementError,
    Steps,
    Yielded,
)

CHOICE: Final = "IBENCH_CORE"
"""Environment variable: 0 for Python's wire, 1 to fail where the core is missing."""

SHARED: Final = Path(__file__).with_name("exchange.h")
"""What all cores have in common."""


class CoreMissing(DriverMissing):
    """IBENCH_CORE=1, and there is no core that can be used. The text says why."""


class CoreExchange(Protocol):
    """Operations of several connections, one of each at most.

    An event is a tuple. Where an operation has ended, it has the number of the connection, the lag in ns, and what the
    operation returned or the error. Where Python has to act, it has the number, what the operation yielded (None
    without one), and the bytes that have arrived of the answer, None if more has arrived, False if the command has not
    been sent, or the OSError.
    """

    def start(self, number: int, steps: Steps, /) -> tuple[int, Any, Any] | None:
        """Send the first command of an operation. An event where Python has to act."""

    def serve(self, until_ns: int, number: int, answer: Answer | StatementError, /) -> tuple[int, Any, Any] | None:
        """Handle answers up to a moment on CLOCK_MONOTONIC, then None; or up to an event.

        What Python found out goes in with the number of its connection: the answer, or the error; else -1 and None.
        """

    def oldest_ns(self) -> int:
        """When the command was sent that has been due longest."""


class CoreModule(Protocol):
    """The module `_core` of a driver. `mode` is what the driver says of the connection.

    What it does not handle it leaves to the driver's wire in Python: a command that it does not send, and an answer
    that is an error, long, in pieces or malformed, of which it gives the bytes that have arrived.
    """

    SOURCE: str
    """SHA-256 of the exchange.h and the core.c that this was built from."""

    def ask(self, command: Yielded, descriptor: int, mode: int, /) -> int | list[Row] | bytes | None:
        """Send a command and wait for its answer: rows changed or returned, with the mark ROWS the rows.

        None if the command has not been sent. Bytes of an answer that is Python's to read. Raises OSError.
        """

    def transact(self, steps: Steps, answer: Answer, descriptor: int, mode: int, /) -> Any:
        """Send an operation its answer, and the server the commands that it yields, until it returns: its result.

        Where an answer is Python's to find out, a tuple of what was yielded, and what `ask` says of it or the OSError
        that ended it. Raises what the operation raises.
        """

    def Exchange(self, descriptors: tuple[int, ...], mode: int, refused: type[StatementError], /) -> CoreExchange:
        """The operations of these connections."""

    def Prepared(self, python: PreparedStatement, head: bytes, codes: bytes, tail: bytes, /) -> PreparedStatement:
        """A prepared statement whose commands are made here, but for those of unusual values, which are `python`'s.

        A command is `head`, the values, and `tail`. A code is q for an integer of 8 bytes, i of 4, s for bytes.
        """


class Core(NamedTuple):
    """The compiled core, or None, and `why` in a few words. `source` is the SHA-256 of its source; None without it."""

    module: CoreModule | None
    source: str | None
    why: str


class CompiledCore:
    """The core of the drivers in a package, compiled from the `core.c` there."""

    def __init__(self, package: str, folder: Path) -> None:
        self._name, self._source = f"{package}._core", folder / "core.c"
        self._used: Core | None = None

    def used(self) -> Core:
        """What this process uses, found out once. Raises CoreMissing."""
        if self._used is None:
            self._used = self._choose()
        return self._used

    def forget(self) -> None:
        """Find it out again: the environment is another one."""
        self._used = None

    def _choose(self) -> Core:
        choice = os.environ.get(CHOICE, "")
        if choice == "0":
            return Core(None, None, f"{CHOICE} is 0")
        here = self.found()
        if here.module is None and choice == "1":
            raise CoreMissing(f"{CHOICE} is 1, but the compiled core cannot be used: {here.why}")
        return here

    def state(self) -> CoreState:
        """What this process uses, with the beginning of the source's SHA-256. If it is missing, connections fail."""
        try:
            here = self.used()
        except CoreMissing as error:
            return CoreState("missing", str(error))
        return CoreState("Python", here.why) if here.source is None else CoreState(f"compiled {here.source[:12]}")

    def found(self) -> Core:
        """The core that is here, whatever IBENCH_CORE says."""
        try:
            module = cast(CoreModule, importlib.import_module(self._name))
        except ModuleNotFoundError:
            return Core(None, None, "not built")
        except ImportError as error:
            return Core(None, None, f"it does not load: {error}")
        source = hashlib.sha256(SHARED.read_bytes() + self._source.read_bytes()).hexdigest()
        if source != module.SOURCE:
            return Core(None, None, "built from another core.c or exchange.h")
        return Core(module, source, "compiled")
