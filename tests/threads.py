"""What a test calls in a thread of its own."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any


def apart(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call it in a thread of its own: a browser of other tests keeps a loop running in the main one."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(function, *arguments).result()
