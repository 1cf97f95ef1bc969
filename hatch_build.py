"""Compiles the core of the load client when the package is built; without a compiler, the package is Python alone.

Nothing fails for lack of it: whatever goes wrong is one line, and the client uses Python's wire. IBENCH_CORE=0 leaves
it out.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SOURCE = Path("ibench_lib/client/mysql/core.c")
COMPILED = SOURCE.with_name(f"_core{sysconfig.get_config_var('EXT_SUFFIX')}")
FLAGS = ("-O2", "-std=gnu11", "-fPIC", "-shared", "-fvisibility=hidden")
LONGEST_S = 120


def build(root: Path) -> str | None:
    """Compile the core of a checkout, next to its source. Returns why there is none, in a line; else None."""
    made = root / COMPILED
    try:
        if os.environ.get("IBENCH_CORE") == "0":
            return "IBENCH_CORE is 0"
        if why := lacking():
            return why
        if not os.access(made.parent, os.W_OK):
            return f"{made.parent} cannot be written"
        compiler, include = find_compiler() or [], sysconfig.get_paths()["include"]
        source = (root / SOURCE).read_bytes()
        # To another name first: a process may have the old one loaded.
        arriving = made.with_name(f".{made.name}.{os.getpid()}")
        mark = f'-DSOURCE="{hashlib.sha256(source).hexdigest()}"'
        command = [*compiler, *FLAGS, mark, f"-I{include}", "-o", str(arriving), str(root / SOURCE)]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, errors="replace", timeout=LONGEST_S, check=False
            )
            if done.returncode:
                return f"{compiler[0]} failed: {first_line(done.stderr)}"
            arriving.replace(made)
        finally:
            arriving.unlink(missing_ok=True)
    except subprocess.TimeoutExpired:
        return f"the compiler did not end within {LONGEST_S} s"
    except (OSError, ValueError) as error:  # ValueError: a CC with an open quotation mark
        return str(error)
    return None


def lacking() -> str | None:
    """What this machine does not have of what it takes to build the core; None if it has all."""
    include = Path(sysconfig.get_paths()["include"])
    if not (include / "Python.h").is_file():
        return f"{include} has no Python.h: install python3-dev"
    return None if find_compiler() else "no C compiler: install gcc"


def find_compiler() -> list[str] | None:
    """The command of $CC, else of a compiler on PATH."""
    for name in (os.environ.get("CC", ""), "cc", "gcc", "clang"):
        command = shlex.split(name)
        if command and shutil.which(command[0]):
            return command
    return None


def first_line(text: str) -> str:
    """The first line that says an error, else the first one."""
    lines = text.strip().splitlines() or ["it said nothing"]
    return next((line for line in lines if "error" in line), lines[0])


class CoreHook(BuildHookInterface[Any]):
    """The hook of the build backend. An editable installation finds the core next to its source."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile it for a wheel and for an editable installation."""
        why = build(Path(self.root))
        self.app.display_info(f"the client's compiled core: {why or 'built'}")
        if why is None and version != "editable":
            build_data["pure_python"], build_data["infer_tag"] = False, True
            build_data["artifacts"].append(str(COMPILED))


if __name__ == "__main__":
    sys.exit(build(Path(__file__).parent))
