"""The wire whose usual exchange is compiled (`core.c`), where there is such a core; else Python's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ibench_lib.client.compiled import CompiledCalls
from ibench_lib.client.driver import Answer, PreparedStatement
from ibench_lib.families.postgres.driver_core import CORE
from ibench_lib.families.postgres.prepared import Prepared
from ibench_lib.families.postgres.wire import Wire


def wire_to(address: Mapping[str, Any], database: str | None, timeout_s: float) -> Wire:
    """A compiled wire to a server, or Python's: without a core, and for TLS. Raises CoreMissing, and as `Wire`."""
    compiled = CORE.used().module is not None and not address.get("ssl")
    return (CompiledWire if compiled else Wire)(address, database, timeout_s)


def completed_by(python: Prepared) -> PreparedStatement:
    """A prepared statement whose commands the core makes, where there is one. Raises CoreMissing."""
    module = CORE.used().module
    return python if module is None else module.Prepared(python, python.head, python.codes.encode(), python.tail)


class CompiledWire(CompiledCalls, Wire):
    """A wire on a plain socket. Its methods are those of `Wire`, and raise what they raise.

    A server may say something unasked behind an answer. If only a part of that has arrived, Python's wire keeps it, and
    reads the next answer, which begins with the rest. In an exchange the core reads that first, and hands it over: what
    it begins with is no message.
    """

    def __init__(self, address: Mapping[str, Any], database: str | None, timeout_s: float) -> None:
        super().__init__(address, database, timeout_s)
        module = CORE.used().module
        assert module is not None
        self.use(module, self.fileno())

    def execute(self, command: bytes) -> int:
        """As `Wire.execute`, and by it where bytes are kept."""
        return Wire.execute(self, command) if self.keeps else super().execute(command)

    execute_several = execute
    lost = Wire.lost

    def fetch(self, command: bytes, *, several: bool = False) -> Any:
        """As `Wire.fetch`, and by it where bytes are kept."""
        return Wire.fetch(self, command) if self.keeps else super().fetch(command, several=several)

    @property
    def keeps(self) -> bool:
        """Whether a part of an unasked message is kept."""
        return bool(self._unread)

    def rest(self, answered: Any, command: bytes, *, fetch: bool = False, several: bool = False) -> Answer:
        """As `CompiledCalls.rest`."""
        if isinstance(answered, OSError):
            raise self.lost(answered) from answered
        if answered is None:
            return Wire.fetch(self, command) if fetch else Wire.execute(self, command)
        self._begin_answer(fetch=fetch)
        return self._result() if self._take(answered) else self.answer()

    def resume(self, data: bytes, command: bytes, *, fetch: bool, several: bool) -> Answer:
        """As `compiled.CompiledWire.resume`."""
        self._begin_answer(fetch=fetch)
        return self._result() if self._take(data) else self.arrived()
