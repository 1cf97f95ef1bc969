"""What a notebook can call and ask, for somebody who explores."""

from __future__ import annotations

import inspect
import re

import ibench_lib
from ibench_lib.show.kit.display import Shown
from ibench_lib.show.kit.grid import Cell, Grid
from ibench_lib.store import catalogue


def contents() -> Shown:
    """What there is to call and to ask: charts, tables, other functions, and questions."""
    kinds: dict[str, Grid] = {
        kind: Grid(f"contents.{kind}", kind.capitalize(), "name", ["takes", "what it is"], left=True)
        for kind in ("tables", "charts", "functions", "questions")
    }
    for name in ibench_lib.__all__:
        function = getattr(ibench_lib, name)
        folders = function.__module__.split(".")
        what = (inspect.getdoc(function) or "").partition("\n")[0]
        takes = ", ".join(inspect.signature(function).parameters)
        folder = next((folder for folder in folders if folder in kinds), "functions")
        kinds[folder].rows.append((f"ib.{name}", [Cell(takes), Cell(what)]))
    for name, text in catalogue.questions().items():
        first = re.split(r"(?<=\.)\s", " ".join(text.partition("\n\n")[0].split()))[0]
        takes = ", ".join(sorted(catalogue.parameters_of(name)))
        kinds["questions"].rows.append((name, [Cell(takes), Cell(first)]))
    return Shown(tuple(kinds.values()))
