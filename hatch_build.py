"""Compiles the cores of the load client's drivers when the package is built; without a compiler, it is Python alone.

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

SHARED = Path("ibench_lib/client/exchange.h")
SOURCES = (Path("ibench_lib/client/mysql/core.c"), Path("ibench_lib/families/postgres/core.c"))
COMPILED = tuple(source.with_name(f"_core{sysconfig.get_config_var('EXT_SUFFIX')}") for source in SOURCES)
FLAGS = ("-O2", "-std=gnu11", "-fPIC", "-shared", "-fvisibility=hidden")
LONGEST_S = 120


def build(root: Path) -> str | None:
    """Compile the cores of a checkout, next to their sources. Returns why one is missing, in a line; else None."""
    try:
        if os.environ.get("IBENCH_CORE") == "0":
            return "IBENCH_CORE is 0"
        if why := lacking():
            return why
        for source, made in zip(SOURCES, COMPILED, strict=True):
            if why := _compile(root, root / source, root / made):
                return why
    except subprocess.TimeoutExpired:
        return f"the compiler did not end within {LONGEST_S} s"
    except (OSError, ValueError) as error:  # ValueError: a CC with an open quotation mark
        return str(error)
    return None


def _compile(root: Path, source: Path, made: Path) -> str | None:
    """Compile one. Why it cannot be, in a line."""
    if not os.access(made.parent, os.W_OK):
        return f"{made.parent} cannot be written"
    compiler, include = find_compiler() or [], sysconfig.get_paths()["include"]
    content = (root / SHARED).read_bytes() + source.read_bytes()
    # To another name first: a process may have the old one loaded.
    arriving = made.with_name(f".{made.name}.{os.getpid()}")
    mark = f'-DSOURCE="{hashlib.sha256(content).hexdigest()}"'
    command = [*compiler, *FLAGS, mark, f"-I{include}", "-o", str(arriving), str(source)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=LONGEST_S, check=False)
        if done.returncode:
            return f"{compiler[0]} failed: {first_line(done.stderr)}"
        arriving.replace(made)
    finally:
        arriving.unlink(missing_ok=True)
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
    """The hook of the build backend. An editable installation finds the cores next to their sources."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile them for a wheel and for an editable installation."""
        why = build(Path(self.root))
        self.app.display_info(f"the client's compiled cores: {why or 'built'}")
        if why is None and version != "editable":
            build_data["pure_python"], build_data["infer_tag"] = False, True
            build_data["artifacts"] += map(str, COMPILED)


if __name__ == "__main__":
    sys.exit(build(Path(__file__).parent))
