"""The workbench's library. A notebook calls what is listed in `__all__`, and nothing else.

    import ibench_lib as ib

    lake = ib.lake()
    post = ib.choose(lake, "demo")
    ib.each(post.ask("step_throughput"), ib.throughput_table)

Names are loaded on first use: the processes that send load import this package too, and need none of them.
"""

from __future__ import annotations

import importlib
import re
from functools import cache
from pathlib import Path
from typing import Any

_FOLDER = Path(__file__).resolve().parent

_FOUND = ("show/tables/*.py", "show/charts/*.py", "show/statements/*.py", "workloads/*/results/*.py")
"""Modules whose public functions are public names, but for those of `_HELPERS`."""

_PUBLIC = re.compile(r"^def ([a-z]\w*)\(", re.MULTILINE)

_HELPERS = {"show/tables/naming.py", "show/charts/drawing.py", "show/statements/common.py"}

_OTHERS = {
    "ask.pair": ("pair",),
    "ask.provenance": ("derived",),
    "ask.selection": ("choose", "experiments", "newest"),
    "store.reader": ("columns", "documentation", "lake", "question", "questions", "sql"),
    "publish.evidence": ("evidence",),
    "runner.interactive": ("plan", "run"),
    "show.by_build": ("by_build",),
    "show.contents": ("contents",),
    "show.differences": ("differences", "left_out"),
    "show.display": ("each", "long_steps", "middle_runs", "say", "sentence", "warnings"),
    "show.explanations": ("explanations", "explained", "explained_by"),
    "show.headline": ("headline", "headline_statements", "opening"),
    "show.pair_headline": ("pair_headline",),
    "show.flame.posts": ("dip_flames", "flame_differences", "flame_graphs", "release_flames"),
    "show.history": ("version_history",),
    "show.history_strips": ("release_strips",),
    "show.live": ("live",),
    "show.reasons": ("reasons",),
    "show.sections": ("made_from", "sweeps"),
    "show.step_detail": ("not_captured", "step_detail"),
    "show.waits_strips": ("waits_strips",),
}


def homes() -> list[tuple[str, str]]:
    """(public name, module) of all that a notebook may call; modules are read, not imported."""
    found = [(name, home) for home, names in _OTHERS.items() for name in names]
    for pattern in _FOUND:
        for path in sorted(_FOLDER.glob(pattern)):
            place = path.relative_to(_FOLDER)
            if place.as_posix() not in _HELPERS:
                home = ".".join(place.with_suffix("").parts)
                found += [(name, home) for name in _PUBLIC.findall(path.read_text(encoding="utf-8"))]
    return found


@cache
def _home_of() -> dict[str, str]:
    return dict(homes())


def __getattr__(name: str) -> Any:
    if name == "__all__":
        return sorted(_home_of())
    if not name.startswith("_") and name in _home_of():
        try:
            return getattr(importlib.import_module(f"ibench_lib.{_home_of()[name]}"), name)
        except ModuleNotFoundError as error:
            extras = importlib.import_module("ibench_lib.base.extras")
            extra = extras.extra_of(error.name)
            if extra is not None:
                error.add_note(extras.how_to_install(extra))
            raise
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return list(__getattr__("__all__"))
