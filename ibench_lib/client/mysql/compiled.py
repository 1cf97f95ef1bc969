"""The wire whose usual exchange is compiled (`core.c`), where there is such a core; else Python's."""

from __future__ import annotations

import socket
import ssl
from typing import Any

from ibench_lib.client.compiled import CompiledCalls
from ibench_lib.client.driver import Answer, ConnectionLost, PreparedStatement
from ibench_lib.client.mysql.binary import Prepared
from ibench_lib.client.mysql.connection_core import CORE
from ibench_lib.client.mysql.heads import Heads
from ibench_lib.client.mysql.wire import COM_STMT_EXECUTE, Wire, number_after
from ibench_lib.client.mysql.wire import Answer as Scan


def wire_of(connected: socket.socket, *, deprecate_eof: bool, timeout_s: float, heads: Heads | None = None) -> Wire:
    """The compiled wire for a socket, or Python's: without a core, and for TLS. Raises CoreMissing."""
    compiled = CORE.used().module is not None and not isinstance(connected, ssl.SSLSocket)
    made = CompiledWire if compiled else Wire
    return made(connected, deprecate_eof=deprecate_eof, timeout_s=timeout_s, heads=heads)


def completed_by(python: Prepared) -> PreparedStatement:
    """A prepared statement whose commands the core makes, where there is one. Raises CoreMissing."""
    module = CORE.used().module
    return python if module is None else module.Prepared(python, python.head, python.codes.encode(), b"")


class CompiledWire(CompiledCalls, Wire):
    """A wire on a plain socket, of mode `deprecate_eof`. Its methods are those of `Wire`, and raise what they raise."""

    def __init__(
        self, connected: socket.socket, *, deprecate_eof: bool, timeout_s: float, heads: Heads | None = None
    ) -> None:
        super().__init__(connected, deprecate_eof=deprecate_eof, timeout_s=timeout_s, heads=heads)
        module = CORE.used().module
        assert module is not None
        self.use(module, self.fileno(), deprecate_eof)

    def rest(self, answered: Any, command: bytes, *, fetch: bool = False, several: bool = False) -> Answer:
        """As `CompiledCalls.rest`."""
        if isinstance(answered, OSError):
            raise self._lost(answered) from answered
        if answered is None:
            if fetch:
                return Wire.fetch(self, command, several=several)
            return Wire.execute_several(self, command) if several else Wire.execute(self, command)
        due, deprecate_eof = number_after(command), self._deprecate_eof
        try:
            if fetch:
                prepared = command[0] == COM_STMT_EXECUTE[0]
                return self._scan(answered, self._rows_scanner(prepared=prepared, several=several, due=due)).fetched
            return self._scan(answered, Scan(deprecate_eof=deprecate_eof, several=several, due=due)).rows
        except OSError as error:
            raise self._lost(error) from error

    def resume(self, data: bytes, command: bytes, *, fetch: bool, several: bool) -> Answer:
        """As `compiled.CompiledWire.resume`."""
        self._expect(command, fetch=fetch, several=several)
        if not data:
            raise ConnectionLost("the server closed the connection")
        whole = self._feed(data)
        return self.arrived() if whole is None else whole

    def lost(self, error: OSError) -> ConnectionLost:
        return self._lost(error)
