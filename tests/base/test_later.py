"""Modules that are imported when something of them is used."""

from __future__ import annotations

import subprocess
import sys

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
