"""What installed packages add: workloads, families of servers, flavours, sources, importers, collectors and notebooks.

A package names them in its entry points, one group per kind:

    [project.entry-points."ibench.workloads"]
    queue = "acme_bench.queue"

Ours are found by the folder they are in. A package cannot replace one of ours, nor of another package. Flavours,
sources and collectors are also found in the folder of that name of each family of servers (`ibench_lib/families/`).
"""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
from collections.abc import Collection, Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Literal, get_args

from ibench_lib.errors import PluginRefused

Kind = Literal["workloads", "families", "flavours", "sources", "importers", "collectors", "notebooks"]
KINDS: tuple[Kind, ...] = get_args(Kind)
_FAMILIES = "ibench_lib.families"


def added(kind: Kind, ours: Collection[str] = ()) -> dict[str, str]:
    """Name -> module of what installed packages add.

    Raises
    ------
    PluginRefused : a name is one of `ours`, two packages use it, or SQL cannot use it.
    """
    modules: dict[str, str] = {}
    for name, module in _points()[kind]:
        if not (name.isidentifier() and name.isascii()):
            raise PluginRefused(
                f"an installed package calls one of its {kind} {name!r:.80}",
                hint="only letters, digits and _ can be in that name: ask its author to change it, or uninstall it",
            )
        other = "ibench itself" if name in ours else modules.setdefault(name, module)
        if other != module:
            raise PluginRefused(
                f"{name!r:.80} is the name of two {kind}: of {other:.200} and of {module:.200}",
                hint="`pip uninstall` the package that you do not need",
            )
    return modules


def modules(kind: Kind, folder: ModuleType, of: Collection[str] | None = None) -> Iterator[ModuleType]:
    """Every module of `folder`, of the families of servers and of installed packages, imported, in their names' order.

    `of` are the families whose modules are wanted, all of them if it is None.

    Raises
    ------
    PluginRefused : see `added` and `load`.
    """
    ours = {module.name: f"{folder.__name__}.{module.name}" for module in pkgutil.iter_modules(folder.__path__)}
    named = [*ours.items(), *added(kind, ours).items()]
    for name, package in families().items():
        if of is None or name in of:
            named += [(module.name, f"{package}.{kind}.{module.name}") for module in _below(package, kind)]
    for _, module in sorted(named):
        yield load(module)


def families() -> dict[str, str]:
    """Name -> package of every family of servers: ours, and those that installed packages add.

    Raises
    ------
    PluginRefused : see `added`.
    """
    ours = {module.name: f"{_FAMILIES}.{module.name}" for module in _below(_FAMILIES)}
    return dict(sorted({**ours, **added("families", ours)}.items()))


def _below(package: str, folder: str = "") -> list[pkgutil.ModuleInfo]:
    return list(pkgutil.iter_modules([str(folder_of(package) / folder)]))


def load(module: str) -> ModuleType:
    """The module of that dotted name.

    Raises
    ------
    PluginRefused : a module of an installed package cannot be imported.
    """
    try:
        return importlib.import_module(module)
    except Exception as error:
        if module.startswith("ibench_lib."):
            raise
        reason = f"{type(error).__name__}: {' '.join(str(error).split()):.300}"
        raise PluginRefused(
            f"{module:.200}, which an installed package adds, fails: {reason}",
            hint="update the package, or `pip uninstall` it",
        ) from error


def folder_of(module: str) -> Path:
    """The folder of a package by its dotted name. The packages above it are imported, it is not.

    Raises
    ------
    PluginRefused : there is no such package.
    """
    try:
        spec = importlib.util.find_spec(module)
    except Exception:  # what the packages above it raise
        spec = None
    if spec is None or not spec.submodule_search_locations:
        raise PluginRefused(
            f"an installed package names {module:.200}, and there is no such package",
            hint="update the package, or `pip uninstall` it",
        )
    return Path(next(iter(spec.submodule_search_locations)))


@cache
def _points() -> dict[Kind, list[tuple[str, str]]]:
    """Kind -> (name, module) of every entry point of ours; the lists of all packages are read once."""
    from importlib import metadata  # only what looks for plug-ins waits for what that imports

    every = metadata.entry_points()
    return {
        kind: sorted({(point.name, point.value) for point in every.select(group=f"ibench.{kind}")}) for kind in KINDS
    }
