"""How a Python process of our own is started, so that files of the current folder are never its modules.

`python -m` puts the current folder before the standard library: a `json.py` that lies there, next to an experiment that
came from elsewhere, would run as code.
"""

from __future__ import annotations

import os
import sys

from ibench_lib.paths import SOURCE_ROOT


def python_module(name: str, *arguments: str) -> list[str]:
    """The command line that runs a module with this Python, with no folder put on its path (`-P`)."""
    return [sys.executable, "-P", "-m", name, *arguments]


def python_path() -> str:
    """PYTHONPATH for a process that needs this library: the library's folder, then the user's own entries.

    An empty entry, as in `PYTHONPATH=:/opt/lib`, would mean the current folder, and is left out.
    """
    return os.pathsep.join([str(SOURCE_ROOT), *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))])
