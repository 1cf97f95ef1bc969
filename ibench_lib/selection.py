"""What one notebook is about: an experiment, some of its setups and steps, and the base to compare with."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import duckdb
import polars as pl

from ibench_lib import strict_yaml
from ibench_lib.errors import ParameterError
from ibench_lib.lake import reader


@dataclass(frozen=True)
class Selection:
    """Part of a lake. `ask` answers any question of `ibench_lib/sql/` for it."""

    lake: duckdb.DuckDBPyConnection = field(repr=False)
    experiment: str
    setups: list[str]
    steps: list[str]
    base: str
    points: int

    @property
    def runs(self) -> pl.DataFrame:
        """The latest run of each cell (`selected_runs`)."""
        return self.ask("selected_runs")

    def ask(self, name: str, **others: Any) -> pl.DataFrame:
        """Ask a question for this selection; `others` are parameters that a selection does not have."""
        mine = {name: getattr(self, name) for name in ("experiment", "setups", "steps", "base", "points")}
        wanted = reader.parameters_of(name)
        return reader.question(self.lake, name, **{k: v for k, v in mine.items() if k in wanted}, **others)


def choose(
    lake: duckdb.DuckDBPyConnection,
    experiment: str,
    *,
    setups: list[str] | None = None,
    steps: list[str] | None = None,
    base: str = "",
    points: int = 1000,
) -> Selection:
    """Choose what to show. Empty lists mean all; an empty `base` means the dbms that the experiment runs first.

    `points` (2 to 2000) is how many points a line of a chart may have.

    Raises
    ------
    ParameterError : a setup, step or base that the experiment's runs do not have, or `points` out of range.
    """
    if not 2 <= points <= 2000:
        raise ParameterError(f"points {points!r} is out of range", hint="use 2 to 2000")
    everything = Selection(lake, experiment, [], [], "", points)
    cells = everything.ask("selected_runs")
    if len(cells):
        known_steps = everything.ask("purge_lag_at_step_end")["step"].unique(maintain_order=True).to_list()
        _check("setup", setups or [], cells["setup"].unique(maintain_order=True).to_list(), experiment)
        _check("step", steps or [], known_steps, experiment)
        dbms = cells.sort("dbms_position")["dbms"].unique(maintain_order=True).to_list()
        _check("base", [base] if base else [], dbms, experiment)
        base = base or dbms[0]
    return Selection(lake, experiment, list(setups or []), list(steps or []), base, points)


def _check(what: str, wanted: list[str], known: list[str], experiment: str) -> None:
    for name in wanted:
        if name not in known:
            near = strict_yaml.suggestion(str(name), known)
            raise ParameterError(f"{what} {name!r:.80} is in no run of experiment {experiment}{near}")
