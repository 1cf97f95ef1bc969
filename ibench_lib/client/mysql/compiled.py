"""The wire whose usual exchange is compiled (`core.c`), where there is such a core; else Python's.

The core handles an answer that is whole and good. Of any other it gives back the bytes, and `wire` finds out what they
are. So both have the same answers and the same errors, and a process without the core is slower, and nothing else.
"""

from __future__ import annotations

import socket
import ssl
from collections.abc import Sequence
from typing import Any

from ibench_lib.client.driver import (
    ROWS,
    SEVERAL,
    Answer,
    ConnectionLost,
    PreparedStatement,
    StatementError,
    Steps,
    Yielded,
)
from ibench_lib.client.exchange import Ended, Exchange, parts_of
from ibench_lib.client.mysql.binary import Prepared
from ibench_lib.client.mysql.connection_core import core
from ibench_lib.client.mysql.heads import Heads, Row
from ibench_lib.client.mysql.wire import COM_STMT_EXECUTE, Wire, number_after
from ibench_lib.client.mysql.wire import Answer as Scan


def wire_of(connected: socket.socket, *, deprecate_eof: bool, timeout_s: float, heads: Heads | None = None) -> Wire:
    """The compiled wire for a socket, or Python's: without a core, and for TLS. Raises CoreMissing."""
    compiled = core().module is not None and not isinstance(connected, ssl.SSLSocket)
    made = CompiledWire if compiled else Wire
    return made(connected, deprecate_eof=deprecate_eof, timeout_s=timeout_s, heads=heads)


def completed_by(python: Prepared) -> PreparedStatement:
    """A prepared statement whose commands the core makes, where there is one. Raises CoreMissing."""
    module = core().module
    return python if module is None else module.Prepared(python, python.head, python.codes.encode())


class CompiledWire(Wire):
    """A wire on a plain socket. Its methods are those of `Wire`, and raise what they raise."""

    def __init__(
        self, connected: socket.socket, *, deprecate_eof: bool, timeout_s: float, heads: Heads | None = None
    ) -> None:
        super().__init__(connected, deprecate_eof=deprecate_eof, timeout_s=timeout_s, heads=heads)
        module = core().module
        assert module is not None
        self._ask, self._transact = module.ask, module.transact
        self._descriptor = self.fileno()

    def execute(self, command: bytes) -> int:
        try:
            answer = self._ask(command, self._descriptor, self._deprecate_eof)
        except OSError as error:
            raise self._lost(error) from error
        return answer if answer.__class__ is int else self._rest(answer, command)

    def execute_several(self, command: bytes) -> int:
        try:
            answer = self._ask((command, SEVERAL), self._descriptor, self._deprecate_eof)
        except OSError as error:
            raise self._lost(error) from error
        return answer if answer.__class__ is int else self._rest(answer, command, several=True)

    def fetch(self, command: bytes, *, several: bool = False) -> Sequence[Row]:
        try:
            answer = self._ask((command, ROWS | several * SEVERAL), self._descriptor, self._deprecate_eof)
        except OSError as error:
            raise self._lost(error) from error
        return answer if answer.__class__ is list else self._rest(answer, command, fetch=True, several=several)

    def transact(self, steps: Steps) -> int:
        """`exchange.transact`, with the usual answers handled by the core."""
        answer: Answer = None
        while True:
            done = self._transact(steps, answer, self._descriptor, self._deprecate_eof)
            if done.__class__ is not tuple:
                return int(done or 0)
            yielded, answered = done
            command, fetch, several = parts_of(yielded)
            answer = self._rest(answered, command, fetch=fetch, several=several)

    def _rest(
        self, answered: bytes | OSError | None, command: bytes, *, fetch: bool = False, several: bool = False
    ) -> Any:
        """The answer to a command that the core leaves to Python. `answered` is what the core says of it."""
        if isinstance(answered, OSError):
            raise self._lost(answered) from answered
        if answered is None:
            if fetch:
                return super().fetch(command, several=several)
            return super().execute_several(command) if several else super().execute(command)
        due, deprecate_eof = number_after(command), self._deprecate_eof
        try:
            if fetch:
                prepared = command[0] == COM_STMT_EXECUTE[0]
                return self._scan(answered, self._rows_scanner(prepared=prepared, several=several, due=due)).fetched
            return self._scan(answered, Scan(deprecate_eof=deprecate_eof, several=several, due=due)).rows
        except OSError as error:
            raise self._lost(error) from error

    def resume(self, data: bytes, command: bytes, *, fetch: bool, several: bool) -> Answer:
        """Take over an answer of which `data` has arrived, as if it had been begun here. Returns as `arrived`."""
        self._expect(command, fetch=fetch, several=several)
        if not data:
            raise ConnectionLost("the server closed the connection")
        whole = self._feed(data)
        return self.arrived() if whole is None else whole

    @property
    def deprecate_eof(self) -> bool:
        """Whether CLIENT_DEPRECATE_EOF was negotiated."""
        return self._deprecate_eof

    def lost(self, error: OSError) -> ConnectionLost:
        """What an error of the socket means."""
        return self._lost(error)


class CompiledExchange(Exchange):
    """An `exchange.Exchange` of compiled wires, all with one `deprecate_eof`."""

    def __init__(self, wires: Sequence[CompiledWire]) -> None:
        module = core().module
        assert module is not None
        self._wires = wires
        descriptors = tuple(wire.fileno() for wire in wires)
        self._core = module.Exchange(descriptors, wires[0].deprecate_eof, StatementError)

    def start(self, number: int, steps: Steps) -> None:
        event = self._core.start(number, steps)
        if event is not None:
            self._answer(*event)  # not whole yet: it has only been asked for

    def serve(self, until_ns: int) -> Ended | None:
        number, answer = -1, None
        while (event := self._core.serve(until_ns, number, answer)) is not None:
            if event[1].__class__ is int:
                return Ended(*event)
            try:
                answer = self._answer(*event)
            except StatementError as error:
                answer = error
            number = -1 if answer is None else event[0]
        return None

    def _answer(self, number: int, yielded: Yielded | None, what: bytes | OSError | bool | None) -> Any:
        """What Python makes of what the core leaves to it (`serve` of core.c). None where that is no answer yet."""
        wire = self._wires[number]
        if isinstance(what, OSError):
            raise wire.lost(what) from what
        if yielded is None or what is None:
            return wire.arrived()
        command, fetch, several = parts_of(yielded)
        if isinstance(what, bytes):
            return wire.resume(what, command, fetch=fetch, several=several)
        wire.begin(command, fetch=fetch, several=several)
        return None

    def oldest_ns(self) -> int:
        oldest_ns: int = self._core.oldest_ns()
        return oldest_ns

    def close(self) -> None:
        del self._core
