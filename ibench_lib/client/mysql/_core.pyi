"""The compiled core, `core.c`: MySQL's usual exchange. `connection_core.py` finds it, `compiled.py` alone uses it.

What it does not handle it leaves to Python's wire: a command of several packets, which it does not send, and an answer
that is an error, long, in pieces or malformed, of which it gives the bytes that have arrived.
"""

from collections.abc import Callable
from typing import Any

from ibench_lib.client.driver import Answer, Row, StatementError, Steps, Yielded

SOURCE: str
"""SHA-256 of the core.c that this was built from."""

def ask(command: Yielded, descriptor: int, deprecate_eof: bool, /) -> int | list[Row] | bytes | None:
    """Send a command and wait for its answer: rows changed or returned, with the mark ROWS the rows.

    None if the command has not been sent. Bytes of an answer that is Python's to read. Raises OSError.
    """

def transact(steps: Steps, answer: Answer, descriptor: int, deprecate_eof: bool, /) -> Any:
    """Send an operation its answer, and the server the commands that it yields, until it returns: its result.

    Where an answer is Python's to find out, a tuple of what was yielded, and what `ask` says of it or the OSError that
    ended it. Raises what the operation raises.
    """

class Prepared:
    """`binary.Prepared`, whose commands are made here, but for those of unusual values."""

    def __new__(cls, python: Any, head: bytes, codes: bytes, /) -> Prepared: ...
    @property
    def each(self) -> Callable[[Any], list[bytes]]: ...
    def __mod__(self, values: Any, /) -> bytes: ...

class Exchange:
    """Operations of several connections, one of each at most.

    An event is a tuple. Where an operation has ended, it has the number of the connection, the lag in ns, and what the
    operation returned or the error. Where Python has to act, it has the number, what the operation yielded (None
    without one), and the bytes that have arrived of the answer, None if more has arrived, False if the command has not
    been sent, or the OSError.
    """

    def __new__(
        cls,
        descriptors: tuple[int, ...],
        deprecate_eof: bool,
        refused: type[StatementError],
        /,
    ) -> Exchange: ...
    def start(self, number: int, steps: Steps, /) -> tuple[int, Any, Any] | None:
        """Send the first command of an operation. An event where Python has to act."""

    def serve(self, until_ns: int, number: int, answer: Answer | StatementError, /) -> tuple[int, Any, Any] | None:
        """Handle answers up to a moment on CLOCK_MONOTONIC, then None; or up to an event.

        What Python found out goes in with the number of its connection: the answer, or the error; else -1 and None.
        """

    def oldest_ns(self) -> int:
        """When the command was sent that has been due longest."""
