"""A question to a wire in Python or to a compiled one, and all that it says to the answer, whole, torn or damaged."""

from __future__ import annotations

import random
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from ibench_lib.client.compiled import CompiledCalls, CompiledExchange
from ibench_lib.client.compiled_core import CompiledCore
from ibench_lib.client.driver import ROWS, SEVERAL, ConnectionLost, StatementError


@dataclass(frozen=True)
class Question:
    """A command, how its answer is asked for, and the pieces in which it comes."""

    pieces: tuple[bytes, ...]
    command: bytes
    fetch: bool
    several: bool
    waits: bool

    @property
    def core(self) -> CompiledCore:
        """The core of the driver."""
        raise NotImplementedError

    def wire(self, kind: Any, ours: socket.socket, theirs: socket.socket) -> Any:
        """A wire of this kind on a socket, which has logged in."""
        raise NotImplementedError

    def outcome(self, kind: Any) -> list[Any]:
        """All that a wire says until the server hangs up."""
        ours, theirs = socket.socketpair()
        found: list[Any] = []
        with ours, theirs:
            made = self.wire(kind, ours, theirs)
            try:
                for answer in self._waited(made, theirs) if self.waits else self._polled(made, theirs):
                    found.append(answer if answer is None or isinstance(answer, int) else list(answer))
            except (ConnectionLost, StatementError) as failure:
                found.append((type(failure).__name__, str(failure)))
        return found

    def _waited(self, made: Any, server: socket.socket) -> Iterator[Any]:
        server.sendall(b"".join(self.pieces))
        server.shutdown(socket.SHUT_WR)
        if self.fetch:
            yield made.fetch(self.command, several=self.several)
        else:
            yield made.execute_several(self.command) if self.several else made.execute(self.command)

    def _polled(self, made: Any, server: socket.socket) -> Iterator[Any]:
        arrived = self._begun(made)
        yield arrived()
        for piece in self.pieces:
            server.sendall(piece)
            yield arrived()
        server.shutdown(socket.SHUT_WR)
        yield arrived()

    def _begun(self, made: Any) -> Callable[[], Any]:
        """Send the command. What takes in what has arrived: of the compiled wire, its exchange."""
        if not isinstance(made, CompiledCalls):
            made.begin(self.command, fetch=self.fetch, several=self.several)
            arrived_in_python: Callable[[], Any] = made.arrived
            return arrived_in_python
        module, wire = self.core.used().module, made
        assert module is not None
        together = CompiledExchange(module, [wire])  # type: ignore[list-item]  # a driver's wire has the rest
        together.start(0, self._steps())

        def arrived() -> Any:
            ended = together.serve(0)
            if ended is not None and isinstance(ended.outcome, StatementError):
                raise ended.outcome
            return None if ended is None else ended.outcome

        return arrived

    def _steps(self) -> Any:
        if self.fetch:
            return (yield self.command, ROWS | SEVERAL if self.several else ROWS)
        return (yield (self.command, SEVERAL) if self.several else self.command)


def torn(chance: random.Random, data: bytes) -> tuple[bytes, ...]:
    """The same in up to six pieces."""
    cuts = sorted(chance.randrange(len(data) + 1) for _ in range(chance.choice((0, 0, 1, 2, 5))))
    return tuple(data[begin:end] for begin, end in zip([0, *cuts], [*cuts, len(data)], strict=True) if begin < end)
