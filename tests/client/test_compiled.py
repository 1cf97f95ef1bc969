"""What Python does around a compiled core, with a core that plays a script."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from ibench_lib.client.compiled import CompiledCalls, CompiledExchange
from ibench_lib.client.driver import ROWS, SEVERAL, Answer, ConnectionLost, StatementError
from ibench_lib.client.exchange import Ended

REFUSED = StatementError(1062, "twice")


class Played:
    """A core whose answers are given; an exception is raised."""

    SOURCE = ""

    def __init__(self, *answers: Any) -> None:
        self.asked: list[tuple[Any, ...]] = []
        self._answers = iter(answers)

    def ask(self, *arguments: Any) -> Any:
        return self._next(arguments)

    def transact(self, _steps: Any, *arguments: Any) -> Any:
        return self._next(arguments)

    def start(self, *arguments: Any) -> Any:
        return self._next(arguments)

    def serve(self, *arguments: Any) -> Any:
        return self._next(arguments)

    def oldest_ns(self) -> int:
        return 7

    def Exchange(self, *arguments: Any) -> Any:
        self.asked.append(arguments)
        return self

    def Prepared(self, *_arguments: Any) -> Any:
        raise NotImplementedError

    def _next(self, arguments: tuple[Any, ...]) -> Any:
        self.asked.append(arguments)
        answer = next(self._answers)
        if isinstance(answer, Exception):
            raise answer
        return answer


class Wire(CompiledCalls):
    """A wire that says what it is asked to do. It keeps bytes for as many answers as `keeping` says."""

    def __init__(self, *answers: Any) -> None:
        self.core = Played(*answers)
        self.use(self.core, 3, 1)
        self.did: list[tuple[Any, ...]] = []
        self.keeping = 0

    @property
    def keeps(self) -> bool:
        self.keeping -= 1
        return self.keeping >= 0

    def rest(self, answered: Any, command: bytes, *, fetch: bool = False, several: bool = False) -> Answer:
        self.did.append((answered, command, fetch, several))
        return 40

    def lost(self, error: OSError) -> ConnectionLost:
        return ConnectionLost(f"lost: {error}")

    def begin(self, command: bytes, *, fetch: bool, several: bool = False) -> None:
        self.did.append(("begin", command, fetch, several))

    def arrived(self) -> Answer:
        return 41

    def resume(self, data: bytes, command: bytes, *, fetch: bool, several: bool) -> Answer:
        if data == b"refused":
            raise REFUSED
        self.did.append(("resume", data, command, fetch, several))
        return 42

    def fileno(self) -> int:
        return 3


def test_usual_answers_are_the_cores_and_all_others_pythons() -> None:
    wire = Wire(5, 6, [(b"1",)], b"odd", None, OSError("gone"))
    assert (wire.execute(b"a"), wire.execute_several(b"b"), wire.fetch(b"c")) == (5, 6, [(b"1",)])
    assert wire.did == []
    assert (wire.execute(b"d"), wire.fetch(b"e", several=True)) == (40, 40)
    assert wire.did == [(b"odd", b"d", False, False), (None, b"e", True, True)]
    with pytest.raises(ConnectionLost, match="lost: gone"):
        wire.execute(b"f")
    marks = [(b"b", SEVERAL), (b"c", ROWS), b"d", (b"e", ROWS | SEVERAL), b"f"]
    assert wire.core.asked == [(command, 3, 1) for command in (b"a", *marks)]


def operation() -> Iterator[Any]:
    first = yield b"a"
    second = yield b"b", ROWS
    third = yield b"c", SEVERAL
    return first + second + third


def test_an_operation_goes_on_in_the_core_unless_python_keeps_bytes_of_its_next_answer() -> None:
    wire = Wire((b"b", b"odd"), 99)
    wire.keeping = 1
    steps: Any = operation()
    assert wire.transact(steps) == 99
    assert wire.did == [(None, b"a", False, False), (b"odd", b"b", False, False)]
    assert wire.core.asked == [(40, 3, 1), (40, 3, 1)]
    wire = Wire()
    wire.keeping = 9
    assert wire.transact(operation()) == 120, "it ends in Python"  # type: ignore[arg-type]


def test_an_exchange_hands_over_what_is_not_the_cores() -> None:
    wire = Wire()
    core = Played(
        (0, b"sent late", False), (0, (b"a", ROWS), b"odd"), (0, (b"a", SEVERAL), b"refused"), (0, b"a", None),
        (0, None, None), (0, 12, 5), (0, b"a", OSError("gone")),
    )  # fmt: skip
    together = CompiledExchange(core, [wire])
    together.start(0, operation())
    assert wire.did == [("begin", b"sent late", False, False)]
    assert together.serve(100) == Ended(0, 12, 5)
    assert wire.did[1:] == [("resume", b"odd", b"a", True, False)]
    # What Python found out goes in with the number of its connection.
    assert [asked[1:] for asked in core.asked[2:]] == [(-1, None), (0, 42), (0, REFUSED), (0, 41), (0, 41)]
    with pytest.raises(ConnectionLost, match="lost: gone"):
        together.serve(100)
    assert together.oldest_ns() == 7
    together.close()
