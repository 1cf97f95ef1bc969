"""Help of this library for IPython and JupyterLab. It never imports IPython."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from typing import Any


def session() -> Any:
    """The IPython shell of this process; None outside of IPython and JupyterLab."""
    get_ipython = getattr(sys.modules.get("IPython"), "get_ipython", None)
    return get_ipython() if get_ipython is not None else None


def show_as(kind: type, html: Callable[[Any], str | None], text: Callable[[Any], str | None]) -> None:
    """Let objects of a class that is not ours be shown as HTML and as text; those for which there is None stay."""
    shell = session()
    if shell is None:
        return

    def pretty(thing: Any, printer: Any, _in_cycle: bool) -> None:
        printer.text(text(thing) or repr(thing))

    formatters = shell.display_formatter.formatters
    formatters["text/html"].for_type(kind, html)
    formatters["text/plain"].for_type(kind, pretty)


def complete(pattern: str, names: Callable[[], list[str]]) -> None:
    """Let Tab complete names where the text left of the cursor fits a pattern whose only group is what is typed."""
    shell = session()
    if shell is None or pattern in _completed(shell):
        return
    whole = re.compile(rf"(?s).*{pattern}$")

    def completed(_shell: Any, event: Any) -> list[str]:
        # What is typed, not IPython's idea of it: a name that begins with another one's end would be added to it.
        typed = whole.match(event.text_until_cursor)
        return [name for name in names() if typed is not None and name.startswith(typed[1])]

    shell.set_hook("complete_command", completed, re_key=whole)
    _completed(shell).add(pattern)


def _completed(shell: Any) -> set[str]:
    patterns: set[str] = shell.__dict__.setdefault("_ibench_completed", set())
    return patterns
