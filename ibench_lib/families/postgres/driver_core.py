"""Whether the core of `driver.py` is compiled here, and which; `compiled.py` uses it."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from ibench_lib.client.compiled_core import CompiledCore
from ibench_lib.client.driver import CoreState

CORE: Final = CompiledCore(__package__, Path(__file__).parent)


def core_state() -> CoreState:
    """What this process uses (`driver.core_of`)."""
    return CORE.state()
