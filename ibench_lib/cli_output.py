"""Where commands print: results to stdout, everything about them to stderr."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console

# A pipe has no width: nothing is cut or wrapped there.
out = Console(width=None if sys.stdout.isatty() else 1000)
err = Console(stderr=True)


@contextmanager
def working(what: str) -> Iterator[None]:
    """A spinner with a word of what is done; nothing where nobody looks."""
    if err.is_terminal:
        with err.status(what):
            yield
    else:
        yield
