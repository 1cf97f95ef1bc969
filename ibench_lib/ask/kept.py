"""Answers kept from post to post: a post that is built again, with other words, asks only what has changed.

The name of a kept answer is the digest of the question, its parameters and the state of the lake (`store.state`). It is
in the user's cache folder and not in the project, so that no lake or project of others can say what a post shows.
Answers are kept only for lakes whose state was noted at their opening: those that the kernels of posts open ahead.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import polars as pl

from ibench_lib import plugins
from ibench_lib.base import user_cache
from ibench_lib.base.text_file import NotReadable, read_beginning
from ibench_lib.store.state import remembered_state

_LONGEST = 128_000_000
"""Bytes of one answer, as it is kept."""

_MOST_FILES, _MOST_BYTES = 5_000, 256_000_000
"""Of all answers. Those that were not used for longest go."""

_DIGEST_BYTES = 32


def asked_once(
    lake: duckdb.DuckDBPyConnection, name: str, values: Mapping[str, Any], ask: Callable[[], pl.DataFrame]
) -> pl.DataFrame:
    """The answer of a question with these parameters: as it was kept, or what `ask` gives."""
    path = _path(lake, name, values)
    if path is None:
        return ask()
    answer = _read(path)
    if answer is None:
        answer = ask()
        _write(path, answer)
    return answer


def is_kept(lake: duckdb.DuckDBPyConnection, name: str, values: Mapping[str, Any]) -> bool:
    """Whether there is an answer, which may still turn out to be damaged."""
    path = _path(lake, name, values)
    return path is not None and path.exists()


def _read(path: Path) -> pl.DataFrame | None:
    try:
        content = read_beginning(path, _DIGEST_BYTES + _LONGEST, follow=False)
        digest, frame = content[:_DIGEST_BYTES], content[_DIGEST_BYTES:]
        answer = pl.read_ipc(io.BytesIO(frame)) if _digest(frame) == digest else None  # else it was not written whole
        path.touch()
    except (OSError, NotReadable, pl.exceptions.PolarsError):
        return None
    return answer


def _write(path: Path, answer: pl.DataFrame) -> None:
    content = io.BytesIO()
    answer.write_ipc(content, compression="lz4")
    frame = content.getvalue()
    if len(frame) <= _LONGEST:
        with suppress(OSError):
            user_cache.write(path, _digest(frame) + frame)


def _path(lake: duckdb.DuckDBPyConnection, name: str, values: Mapping[str, Any]) -> Path | None:
    """Where an answer is kept; None if it cannot be.

    The code of packages that add to the library may change without a sign.
    """
    state = remembered_state(lake)
    folder = _folder() if state is not None and not any(map(plugins.added, plugins.KINDS)) else None
    if folder is None:
        return None
    asked = repr((state, name, sorted(values.items())))
    return folder / f"{_digest(asked.encode(errors='surrogateescape')).hex()}.arrow"


@cache
def _folder() -> Path | None:
    """The folder of kept answers, from which the oldest go when a process needs it for the first time."""
    folder = user_cache.folder("answers")
    if folder is not None:
        with suppress(OSError):
            user_cache.forget_oldest(folder, _MOST_FILES, _MOST_BYTES)
    return folder


def _digest(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=_DIGEST_BYTES).digest()
