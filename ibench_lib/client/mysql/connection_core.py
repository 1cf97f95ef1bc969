"""Whether the core of `connection.py` is compiled here (`core.c`), and which; `compiled.py` uses it.

Commands that only ask import neither numpy nor PyMySQL for it.
"""

from __future__ import annotations

import hashlib
import importlib
import os
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Final, NamedTuple

from ibench_lib.client.driver import CoreState, DriverMissing

CHOICE: Final = "IBENCH_CORE"
"""Environment variable: 0 for Python's wire, 1 to fail where the core is missing."""

SOURCE: Final = Path(__file__).with_name("core.c")


class CoreMissing(DriverMissing):
    """IBENCH_CORE=1, and there is no core that can be used. The text says why."""


class Core(NamedTuple):
    """The compiled core, or None, and `why` in a few words. `source` is the SHA-256 of its source; None without it."""

    module: ModuleType | None
    source: str | None
    why: str


@cache
def core() -> Core:
    """What this process uses. Raises CoreMissing."""
    choice = os.environ.get(CHOICE, "")
    if choice == "0":
        return Core(None, None, f"{CHOICE} is 0")
    here = found()
    if here.module is None and choice == "1":
        raise CoreMissing(f"{CHOICE} is 1, but the compiled core cannot be used: {here.why}")
    return here


def core_state() -> CoreState:
    """What this process uses, with the beginning of the source's SHA-256. Where it is missing, a connection fails."""
    try:
        here = core()
    except CoreMissing as error:
        return CoreState("missing", str(error))
    return CoreState("Python", here.why) if here.source is None else CoreState(f"compiled {here.source[:12]}")


def found() -> Core:
    """The core that is here, whatever IBENCH_CORE says."""
    try:
        module = importlib.import_module(f"{__package__}._core")
    except ModuleNotFoundError:
        return Core(None, None, "not built")
    except ImportError as error:
        return Core(None, None, f"it does not load: {error}")
    source = hashlib.sha256(SOURCE.read_bytes()).hexdigest()
    if source != module.SOURCE:
        return Core(None, None, "built from another core.c")
    return Core(module, source, "compiled")
