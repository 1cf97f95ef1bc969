"""What commands have printed of a lake, kept for the next time when the same is asked of the same runs.

These commands only read, and compute for seconds what does not change until a run does. The name of a kept output is
the digest of everything that it depends on: the words of the command, the environment, the terminal, and what
`store.state` has of the runs and the library. Nothing is kept while a run is written, for a lake elsewhere, or of a
command that fails.

It is in the user's cache folder and not in the project, so that no lake or project of others can say what is printed.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import redirect_stderr, redirect_stdout, suppress
from typing import Any

from ibench_lib import plugins
from ibench_lib.base import user_cache
from ibench_lib.base.text_file import NotReadable, read_text
from ibench_lib.errors import UsageError
from ibench_lib.paths import LAKE_VARIABLE, Workspace, say_once, workspace
from ibench_lib.store.state import state_of

COMMANDS = ("changes", "compare", "explain", "stalls", "summary")
"""Their output depends on nothing but what `_asked` and `state_of` have: no clock, no other file."""

_OF_THE_SHELL = ("_", "OLDPWD", "SHLVL")
"""Variables of the environment that change from command to command and that nothing of ours reads."""

_LONGEST = 4_000_000
"""Bytes of what is kept of one command."""

_MOST = 200
"""Outputs that are kept; the oldest ones go."""


def printed(words: Sequence[str], command: Callable[[], Any]) -> None:
    """Print what a command prints: as it was kept, or by calling it."""
    here = _place() if words and words[0] in COMMANDS else None
    state = state_of(here) if here is not None else None
    if here is None or state is None:
        command()
        return
    name = hashlib.blake2b(f"{_asked(words)} {here.root} {state}".encode(errors="surrogateescape"), digest_size=32)
    if _print_again(name.hexdigest()):
        return
    pieces: list[tuple[int, str]] = []
    said = say_once.cache_info().currsize
    try:
        with redirect_stdout(_Copied(sys.stdout, 1, pieces)), redirect_stderr(_Copied(sys.stderr, 2, pieces)):
            command()
    except SystemExit as ended:
        # What came or went while it was read may be in the output in part, and what is said once is not said again.
        if not ended.code and state_of(here) == state and say_once.cache_info().currsize == said:
            _keep(name.hexdigest(), pieces)
        raise


class _Copied:
    """A stream that remembers what is written to it."""

    def __init__(self, stream: Any, number: int, pieces: list[tuple[int, str]]) -> None:
        self._stream, self._number, self._pieces = stream, number, pieces

    def __getattr__(self, name: str) -> Any:
        if name == "buffer":  # bytes that are written there would not be remembered
            raise AttributeError(name)
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write, and remember what could be written: some try with bytes whether a stream takes them."""
        written = int(self._stream.write(text))
        self._pieces.append((self._number, text))
        return written

    def writelines(self, lines: Iterable[str]) -> None:
        """Write each of them."""
        for line in lines:
            self.write(line)


def _place() -> Workspace | None:
    """The workspace whose lake is read; None for a lake elsewhere, or where there is none, as the command will say."""
    with suppress(UsageError):
        return workspace() if LAKE_VARIABLE not in os.environ else None
    return None


def _asked(words: Sequence[str]) -> str:
    """What is asked, and how it is printed."""
    environment = sorted((name, value) for name, value in os.environ.items() if name not in _OF_THE_SHELL)
    streams = [(stream.isatty(), stream.encoding) for stream in (sys.stdout, sys.stderr)]
    return repr((list(words), os.getcwd(), environment, streams, shutil.get_terminal_size()))


def _print_again(key: str) -> bool:
    """Print what is kept under this name. False if there is nothing."""
    folder = user_cache.folder("printed")
    if folder is None:
        return False
    try:
        pieces = json.loads(read_text(folder / f"{key}.json", _LONGEST, follow=False))
        texts = [({1: sys.stdout, 2: sys.stderr}[number], str(text)) for number, text in pieces]
    except (OSError, NotReadable, ValueError, TypeError, KeyError):
        return False
    for stream, text in texts:
        stream.write(text)
        stream.flush()
    return True


def _keep(key: str, pieces: Sequence[tuple[int, str]]) -> None:
    """Keep what was printed, if possible. The code of packages that add to the library may change without a sign."""
    content, folder = json.dumps(pieces), user_cache.folder("printed")
    if folder is None or len(content) > _LONGEST or any(map(plugins.added, plugins.KINDS)):
        return
    with suppress(OSError):
        user_cache.write(folder / f"{key}.json", content.encode())
        user_cache.forget_oldest(folder, _MOST)
