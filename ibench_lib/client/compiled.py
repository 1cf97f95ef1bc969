"""What a driver's compiled core does for its wire: the usual answers to one connection, or to several together.

The core (`exchange.h`) handles an answer that is whole and good. Of any other it gives back the bytes, and the driver's
wire in Python finds out what they are. So both have the same answers and the same errors, and a process without the
core is slower, and nothing else.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Protocol, cast

from ibench_lib.client.compiled_core import CoreModule
from ibench_lib.client.driver import ROWS, SEVERAL, Answer, ConnectionLost, Row, StatementError, Steps, Yielded
from ibench_lib.client.exchange import Ended, Exchange, parts_of


class CompiledCalls(ABC):
    """The methods of a wire on a plain socket that the core has. A driver mixes them into its wire in Python."""

    _ask: Callable[[Yielded, int, int], Any]
    _transact: Callable[[Steps, Answer, int, int], Any]
    _descriptor: int
    _mode: int

    def use(self, module: CoreModule, descriptor: int, mode: int = 0) -> None:
        """Use this core on a socket. `mode` is what it has to know of the connection."""
        self._ask, self._transact = module.ask, module.transact
        self._descriptor, self._mode = descriptor, mode

    @property
    def mode(self) -> int:
        """What the core has to know of the connection."""
        return self._mode

    def execute(self, command: bytes) -> int:
        """As `driver.Connection.execute`."""
        try:
            answer = self._ask(command, self._descriptor, self._mode)
        except OSError as error:
            raise self.lost(error) from error
        return answer if answer.__class__ is int else cast(int, self.rest(answer, command))

    def execute_several(self, command: bytes) -> int:
        """As `driver.Connection.execute_several`."""
        try:
            answer = self._ask((command, SEVERAL), self._descriptor, self._mode)
        except OSError as error:
            raise self.lost(error) from error
        return answer if answer.__class__ is int else cast(int, self.rest(answer, command, several=True))

    def fetch(self, command: bytes, *, several: bool = False) -> Sequence[Row]:
        """As `driver.Connection.fetch`."""
        try:
            answer = self._ask((command, ROWS | several * SEVERAL), self._descriptor, self._mode)
        except OSError as error:
            raise self.lost(error) from error
        if answer.__class__ is list:
            return cast("list[Row]", answer)
        return cast("Sequence[Row]", self.rest(answer, command, fetch=True, several=several))

    def transact(self, steps: Steps) -> int:
        """`exchange.transact`, with the usual answers handled by the core."""
        answer: Answer = None
        while True:
            while self.keeps:
                try:
                    command, fetch, several = parts_of(steps.send(answer))
                except StopIteration as end:
                    return int(end.value or 0)
                answer = self.rest(None, command, fetch=fetch, several=several)
            done = self._transact(steps, answer, self._descriptor, self._mode)
            if done.__class__ is not tuple:
                return int(done or 0)
            yielded, answered = done
            command, fetch, several = parts_of(yielded)
            answer = self.rest(answered, command, fetch=fetch, several=several)

    @property
    def keeps(self) -> bool:
        """Whether the wire in Python has bytes that come before the next answer."""
        return False

    @abstractmethod
    def rest(self, answered: Any, command: bytes, *, fetch: bool = False, several: bool = False) -> Answer:
        """The answer to a command that is Python's. `answered` is what the core says of it, None if it was not sent."""

    @abstractmethod
    def lost(self, error: OSError) -> ConnectionLost:
        """What an error of the socket means."""


class CompiledWire(Protocol):
    """What an exchange needs of a driver's wire with `CompiledCalls`."""

    @property
    def mode(self) -> int:
        """What the core has to know of the connection."""

    def begin(self, command: bytes, *, fetch: bool, several: bool = False) -> None:
        """As `driver.Connection.begin`."""

    def arrived(self) -> Answer:
        """As `driver.Connection.arrived`."""

    def resume(self, data: bytes, command: bytes, *, fetch: bool, several: bool) -> Answer:
        """Take over an answer of which `data` has arrived, as if it had been begun here. Returns as `arrived`."""

    def fileno(self) -> int:
        """The descriptor to wait on."""

    def lost(self, error: OSError) -> ConnectionLost:
        """What an error of the socket means."""


class CompiledExchange(Exchange):
    """An `exchange.Exchange` of compiled wires of one driver, all of one mode."""

    def __init__(self, module: CoreModule, wires: Sequence[CompiledWire]) -> None:
        self._wires = wires
        descriptors = tuple(wire.fileno() for wire in wires)
        self._core = module.Exchange(descriptors, wires[0].mode, StatementError)

    def start(self, number: int, steps: Steps) -> None:
        """As `Exchange.start`."""
        event = self._core.start(number, steps)
        if event is not None:
            self._answer(*event)  # not whole yet: it has only been asked for

    def serve(self, until_ns: int) -> Ended | None:
        """As `Exchange.serve`."""
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
        """What Python makes of what the core leaves to it (`serve` of exchange.h). None where that is no answer yet."""
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
        """As `Exchange.oldest_ns`."""
        return self._core.oldest_ns()

    def close(self) -> None:
        """As `Exchange.close`."""
        del self._core
