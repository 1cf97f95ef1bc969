"""The programs of other makes that workloads drive, as this machine has them.

The folder of a workload that drives the same program whatever its options are has a module `program` with a function
`program_here`. `ibench doctor` asks all of them and imports nothing else of a workload: such a module imports little.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ibench_lib import plugins
from ibench_lib.paths import workload_modules


@dataclass(frozen=True)
class ProgramHere:
    """The program of another make that a workload drives, as this machine has it.

    `found` is its version and its path; None if it cannot be run, and then `why` is the reason in one line. `fix` is
    what to do then.
    """

    name: str
    found: str | None
    why: str = ""
    fix: str = ""


def program_of(workload: str) -> ProgramHere | None:
    """The program that a workload drives, whatever its options are; None if there is none.

    Raises
    ------
    PluginRefused : a package or module that an installed package names is missing, or cannot be imported.
    """
    package = workload_modules().get(workload)
    if package is None or not (plugins.folder_of(package) / "program.py").is_file():
        return None
    module = plugins.load(f"{package}.program")
    program_here: Callable[[], ProgramHere] | None = getattr(module, "program_here", None)
    return program_here() if program_here is not None else None  # another package may mean something else


def driven() -> dict[str, ProgramHere]:
    """Workload -> its program, of all workloads that have one. Raises as `program_of` does."""
    found = {name: program_of(name) for name in workload_modules()}
    return {name: here for name, here in found.items() if here is not None}
