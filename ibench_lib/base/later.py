"""Modules that take long to import, and that many commands name and do not use."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any


def later(name: str) -> Any:
    """The module of this name, imported when something of it is first used.

    It stands where an import would stand, next to that import `if TYPE_CHECKING`, which tools and readers see.
    """
    return _Later(name)


class _Later:
    __slots__ = ("_module", "_name")

    def __init__(self, name: str) -> None:
        self._name = name
        self._module: ModuleType | None = None

    def __getattr__(self, attribute: str) -> Any:
        if self._module is None:  # once: the import system takes as long as much of what it is asked for
            self._module = importlib.import_module(self._name)
        return getattr(self._module, attribute)
