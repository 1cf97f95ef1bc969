"""Modules that are imported when something of them is used."""

from __future__ import annotations

import importlib
import subprocess
import sys
from types import ModuleType

import pytest

from ibench_lib.base.later import later


def test_a_module_is_imported_when_something_of_it_is_used() -> None:
    program = (
        "import sys\n"
        "from ibench_lib.base.later import later\n"
        "found = later('wave')\n"
        "print('wave' in sys.modules, found.Error.__name__, 'wave' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "Error", "True"]


def test_it_is_only_read() -> None:
    found = later("wave")
    with pytest.raises(AttributeError, match="wave"):
        _ = found.nothing
    with pytest.raises(AttributeError):
        found.open = len
    with pytest.raises(ModuleNotFoundError):
        _ = later("no_such_module").anything


def test_the_import_system_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    imported = importlib.import_module

    def counted(name: str) -> ModuleType:
        asked.append(name)
        return imported(name)

    monkeypatch.setattr(importlib, "import_module", counted)
    found = later("wave")
    assert found.Error is found.Error and found.open is not None
    assert asked == ["wave"]
