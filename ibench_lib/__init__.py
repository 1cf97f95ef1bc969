"""The workbench's library. A notebook calls what is listed in `__all__`, and nothing else.

    import ibench_lib as ib

    lake = ib.lake()
    post = ib.choose(lake, "demo")
    ib.each(post.ask("step_throughput"), ib.throughput_table)

Names are loaded on first use: the processes that send load import this package too, and need none of them.
"""

from __future__ import annotations

import ast
import importlib
from functools import cache
from pathlib import Path
from typing import Any

_FOLDER = Path(__file__).resolve().parent

_FOUND = ("show/tables/*.py", "show/charts/*.py", "show/statements/*.py", "workloads/*/results/*.py")
"""Modules whose public functions are public names, but for those of `_HELPERS`."""

_HELPERS = {"show/tables/naming.py", "show/charts/drawing.py", "show/statements/common.py"}

_OTHERS = {
    "ask.pair": ("pair",),
    "ask.provenance": ("derived",),
    "ask.selection": ("choose", "experiments", "newest"),
    "lake.reader": ("question", "questions", "sql"),
    "publish.evidence": ("evidence",),
    "show.by_build": ("by_build",),
    "show.contents": ("contents",),
    "show.differences": ("differences", "left_out"),
    "show.display": ("each", "say", "sentence", "warnings"),
    "show.headline": ("headline", "headline_statements"),
    "show.pair_headline": ("pair_headline",),
    "show.history": ("version_history",),
    "show.reasons": ("reasons",),
    "show.sections": ("made_from", "sweeps"),
    "show.step_detail": ("not_captured", "steadiness_facts", "step_detail"),
}


def homes() -> list[tuple[str, str]]:
    """(public name, module) of all that a notebook may call but `lake`; modules are read, not imported."""
    found = [(name, home) for home, names in _OTHERS.items() for name in names]
    for pattern in _FOUND:
        for path in sorted(_FOLDER.glob(pattern)):
            place = path.relative_to(_FOLDER)
            if place.as_posix() not in _HELPERS:
                home = ".".join(place.with_suffix("").parts)
                found += [
                    (node.name, home)
                    for node in ast.parse(path.read_text(encoding="utf-8")).body
                    if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")
                ]
    return found


@cache
def _home_of() -> dict[str, str]:
    return dict(homes())


def __getattr__(name: str) -> Any:
    if name == "__all__":
        return sorted(["lake", *_home_of()])
    if name == "lake":
        return importlib.import_module("ibench_lib.lake")  # which can be called
    if not name.startswith("_") and name in _home_of():
        return getattr(importlib.import_module(f"ibench_lib.{_home_of()[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return list(__getattr__("__all__"))
