"""The wire whose usual exchange is compiled (`core.c`), where there is such a core; else Python's.

The core handles an answer that is whole and good. Of any other it gives back the bytes, and `wire` finds out what they
are. So both have the same answers and the same errors, and a process without the core is slower, and nothing else.
"""

from __future__ import annotations

import hashlib
import importlib
import os
import socket
import ssl
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Final, NamedTuple, cast

from ibench_lib.client.driver import ConnectionLost, CoreState, DriverMissing
from ibench_lib.client.mysql.heads import Heads, Row
from ibench_lib.client.mysql.wire import COM_STMT_EXECUTE, Answer, Wire, number_after

CHOICE: Final = "IBENCH_CORE"
"""Environment variable: 0 for Python's wire, 1 to fail where the core is missing."""

SOURCE: Final = Path(__file__).with_name("core.c")


class CoreMissing(DriverMissing):
    """IBENCH_CORE=1, and there is no core that can be used. The text says why."""


class Core(NamedTuple):
    """The compiled core, or None, and `why` in a few words. `source` is the SHA-256 of its source; None without it."""

    module: ModuleType | None
    source: str | None
    why: str


@cache
def core() -> Core:
    """What this process uses. Raises CoreMissing."""
    choice = os.environ.get(CHOICE, "")
    if choice == "0":
        return Core(None, None, f"{CHOICE} is 0")
    here = found()
    if here.module is None and choice == "1":
        raise CoreMissing(f"{CHOICE} is 1, but the compiled core cannot be used: {here.why}")
    return here


def core_state() -> CoreState:
    """What this process uses, with the beginning of the source's SHA-256. Where it is missing, a connection fails."""
    try:
        here = core()
    except CoreMissing as error:
        return CoreState("missing", str(error))
    return CoreState("Python", here.why) if here.source is None else CoreState(f"compiled {here.source[:12]}")


def found() -> Core:
    """The core that is here, whatever IBENCH_CORE says."""
    try:
        module = importlib.import_module(f"{__package__}._core")
    except ModuleNotFoundError:
        return Core(None, None, "not built")
    except ImportError as error:
        return Core(None, None, f"it does not load: {error}")
    source = hashlib.sha256(SOURCE.read_bytes()).hexdigest()
    if source != module.SOURCE:
        return Core(None, None, "built from another core.c")
    return Core(module, source, "compiled")


def wire_of(connected: socket.socket, *, deprecate_eof: bool, timeout_s: float, heads: Heads | None = None) -> Wire:
    """The compiled wire for a socket, or Python's: without a core, and for TLS. Raises CoreMissing."""
    compiled = core().module is not None and not isinstance(connected, ssl.SSLSocket)
    made = CompiledWire if compiled else Wire
    return made(connected, deprecate_eof=deprecate_eof, timeout_s=timeout_s, heads=heads)


class CompiledWire(Wire):
    """A wire on a plain socket. Its methods are those of `Wire`, and raise what they raise."""

    def __init__(
        self, connected: socket.socket, *, deprecate_eof: bool, timeout_s: float, heads: Heads | None = None
    ) -> None:
        super().__init__(connected, deprecate_eof=deprecate_eof, timeout_s=timeout_s, heads=heads)
        module = core().module
        assert module is not None
        self._ask, self._begin, self._take = module.ask, module.begin, module.take
        self._descriptor = self.fileno()

    def execute(self, command: bytes) -> int:
        try:
            answer = self._ask(command, self._descriptor, False, False, self._deprecate_eof)
            if answer.__class__ is int:
                return answer
            if answer is None:
                return super().execute(command)
            return self._scan(answer, Answer(deprecate_eof=self._deprecate_eof, due=number_after(command))).rows
        except OSError as error:
            raise self._lost(error) from error

    def execute_several(self, command: bytes) -> int:
        try:
            answer = self._ask(command, self._descriptor, False, True, self._deprecate_eof)
            if answer.__class__ is int:
                return answer
            if answer is None:
                return super().execute_several(command)
            due = number_after(command)
            return self._scan(answer, Answer(deprecate_eof=self._deprecate_eof, several=True, due=due)).rows
        except OSError as error:
            raise self._lost(error) from error

    def fetch(self, command: bytes, *, several: bool = False) -> Sequence[Row]:
        try:
            answer = self._ask(command, self._descriptor, True, several, self._deprecate_eof)
            if answer.__class__ is list:
                return answer
            if answer is None:
                return super().fetch(command, several=several)
            prepared = command[0] == COM_STMT_EXECUTE[0]
            scanner = self._rows_scanner(prepared=prepared, several=several, due=number_after(command))
            return self._scan(answer, scanner).fetched
        except OSError as error:
            raise self._lost(error) from error

    def begin(self, command: bytes, *, fetch: bool, several: bool = False) -> None:
        self._expect(command, fetch=fetch, several=several)
        try:
            if not self._begin(command, self._descriptor):
                super().begin(command, fetch=fetch, several=several)
        except OSError as error:
            raise self._lost(error) from error

    def arrived(self) -> int | Sequence[Row] | None:
        if self._answer is not None or not self._begun:
            return super().arrived()
        try:
            answer = self._take(
                self._descriptor, self._reads, self._several, self._prepared, self._deprecate_eof, self._due
            )
        except OSError as error:
            raise self._lost(error) from error
        if answer.__class__ is not bytes:
            self._begun = answer is None
            return cast("int | list[Row] | None", answer)
        if not answer:
            raise ConnectionLost("the server closed the connection")
        whole = self._feed(answer)
        return super().arrived() if whole is None else whole
