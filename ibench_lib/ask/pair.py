"""Two dbms of a selection, A and B, to put side by side."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import polars as pl

from ibench_lib.ask.ahead import Ahead, begun_again, begun_ahead
from ibench_lib.ask.bases import Bases, bases, no_results
from ibench_lib.ask.provenance import derived
from ibench_lib.ask.selection import Selection
from ibench_lib.base.wording import suggestion
from ibench_lib.errors import ParameterError
from ibench_lib.stats.noise import Difference
from ibench_lib.stats.ratios import differences_of

# Of `fact_diff`: no run of the other side has it.
ONLY_A = pl.col("dbms_values").list.drop_nulls().list.len() == 0
ONLY_B = pl.col("base_values").list.drop_nulls().list.len() == 0

_FIGURE = ["operation", "timing", "metric"]
"""What tells a figure of `metric_values` from the others of a step."""


@dataclass(frozen=True, repr=False)
class Pair(Selection):
    """The runs of two dbms. A is the selection's `base`, B is `other`; either is empty when there is no such dbms.

    `not_compared` are the other dbms of what was chosen, with the status of their runs that are not complete;
    `neighbours` are the ids of their runs, which say how much repeats vary.
    """

    other: str = ""
    not_compared: tuple[str, ...] = ()
    neighbours: tuple[str, ...] = ()
    again: tuple[Ahead, ...] = field(default=(), repr=False, compare=False)
    """What is asked ahead for `with_neighbours`: of all steps, and of the neighbours."""

    def facts(self, source: str) -> pl.DataFrame:
        """What differs of one source of `fact_diff` and may tell something; of variables those of both."""
        differing = self.ask("fact_diff").filter((pl.col("source") == source) & pl.col("noise").is_null())
        return differing.filter(~ONLY_A & ~ONLY_B) if source == "variable" else differing

    def variables_of_one(self, only: pl.Expr) -> pl.DataFrame:
        """The variables that only one server has: `only` is ONLY_A or ONLY_B."""
        return self.ask("fact_diff").filter((pl.col("source") == "variable") & pl.col("noise").is_null() & only)

    def metrics(self) -> pl.DataFrame:
        """The values of metrics of whole steps (`metric_values`); none without two dbms."""
        return self._values(pl.col("operation").is_null())

    def responses(self) -> pl.DataFrame:
        """The values of metrics of response times (`metric_values`); none without two dbms."""
        return self._values(pl.col("operation").is_not_null())

    def values(self) -> pl.DataFrame:
        """The answer of `metric_values`, and of each metric the difference of the logarithms of B and A in the step.

        The difference is `log_ratio`, `log_se`, `log_df` and `log_own_df`, NULL where the noise is not known, and the
        last one also where a `Difference` has none. The noise is that of all dbms that were chosen.
        """
        return self._compared

    @cached_property
    def _compared(self) -> pl.DataFrame:
        values, every = self.ask("metric_values"), self.with_neighbours("metric_values")
        if self.other and self.runs["flavour"].drop_nulls().n_unique() > 1:
            # Flavours of servers count the history differently.
            values = values.filter(pl.col("metric") != "hll")
        done = every.filter((pl.col("step_status") == "complete") & pl.col("value").is_not_null())
        listed = []
        for place, rows in done.group_by("setup", *_FIGURE, maintain_order=True):
            for step, one in self.differences(rows, "value").items():
                of = (one.value, one.se, one.df, one.own_df) if one else (None,) * 4
                listed.append((step, *place, *of))
        names = {name: pl.String() for name in ("step", "setup", *_FIGURE)}
        figures = {name: pl.Float64() for name in ("log_ratio", "log_se", "log_df", "log_own_df")}
        known = pl.DataFrame(listed, schema={**names, **figures}, orient="row")
        joined = values.join(known, on=list(names), how="left", nulls_equal=True, maintain_order="left")
        return derived(joined, values, every)

    def with_neighbours(self, question: str) -> pl.DataFrame:
        """The answer for all steps, whichever were chosen, and also for the runs of the dbms that are not compared."""
        mine, *of_others = (self.ask(question, **others) for others in self._with_neighbours)
        if not of_others:
            return mine
        (others,) = of_others
        # Each selection names its dbms by itself, so one of the others may be called as one of these.
        named = others.with_columns(dbms=pl.concat_str(pl.lit("not compared: "), "dbms"))
        return derived(pl.concat([mine, named]), mine, others)

    @property
    def _with_neighbours(self) -> list[dict[str, list[str]]]:
        all_steps: dict[str, list[str]] = {"steps": []}
        return [all_steps, *([{"runs": list(self.neighbours), **all_steps}] if self.neighbours else [])]

    def _worked_out(self, name: str, values: dict[str, Any]) -> pl.DataFrame:
        frames = (ahead.take(name, values) for ahead in self.again)
        frame = next((frame for frame in frames if frame is not None), None)
        return super()._worked_out(name, values) if frame is None else frame

    def differences(self, rows: pl.DataFrame, column: str) -> dict[str, Difference | None]:
        """By step, how the logarithm of a figure of a setup differs between B and A, with the noise of all rows."""
        tables: dict[str, dict[str, dict[int, float]]] = {}
        for step, name, repeat, value in rows.select("step", "dbms", "repeat", column).iter_rows():
            tables.setdefault(step, {}).setdefault(name, {})[repeat] = value
        differences = differences_of(tables, lambda name: self.base if name == self.other else name, no_results(rows))
        return {step: one for (step, _), one in differences.items()}

    def _values(self, which: pl.Expr) -> pl.DataFrame:
        values = self.values()
        return values.filter(which) if self.other else values.clear()

    def nothing(self, said: str) -> str:
        """The sentence for an empty answer: `said`, if there are two dbms in one setup to compare at all."""
        if not self.base:
            return "There is no run yet, so there is nothing to compare."
        if not self.other:
            return f"There is only one dbms here, {self.base}, so there is nothing to compare it with."
        setups = [set(self.runs.filter(pl.col("dbms") == name)["setup"]) for name in (self.base, self.other)]
        return said if setups[0] & setups[1] else "The two dbms have no common setup, so there is nothing to compare."


def pair(chosen: Selection, a: str = "", b: str = "") -> Pair:
    """The runs of two dbms of a selection; unless named, A is its base and B the first other one in its order.

    Raises
    ------
    ParameterError : a dbms that no chosen run has, or one dbms named twice.
    """
    runs = chosen.runs.sort("dbms_position")
    names = runs["dbms"].unique(maintain_order=True).to_list()
    for what, name in (("a", a), ("b", b)):
        if name and names and name not in names:
            raise ParameterError(f"{what} {name!r:.80} is in none of the selected runs{suggestion(name, names)}")
    if a and a == b:
        raise ParameterError(f"a and b are both {a!r:.80}", hint="name two dbms")
    # Without runs there is no base either, whatever was asked for.
    a = a or next((name for name in (chosen.base, *names) if name in names and name != b), "")
    b = b or next((name for name in names if name != a), "")
    ids = [runs.filter(pl.col("dbms") == name)["run_id"].to_list() for name in (a, b)]
    narrowed = Pair(chosen._lake, [*ids[0], *ids[1]], chosen.steps, Bases(), chosen.points, known=chosen.known)
    # Among fewer runs a dbms may need no experiment in its name.
    known = dict(narrowed.runs.select("run_id", "dbms").iter_rows())
    called = [known[of_side[0]] if of_side else "" for of_side in ids]
    not_compared = tuple(_standing(runs, name) for name in names if name not in (a, b))
    others = tuple(runs.filter(~pl.col("dbms").is_in([a, b]))["run_id"]) if a and b else ()
    pair = replace(
        narrowed,
        bases=bases(called[0]),
        other=called[1],
        not_compared=not_compared,
        neighbours=others,
        asked=[],
        excluded=chosen.excluded,
        palette=chosen.palette,
    )
    if chosen.ahead is None:
        return pair
    chosen.ahead.stop()
    begun, others_of = begun_ahead(chosen._lake, pair._own), pair._with_neighbours[0 if pair.steps else 1 :]
    again = (begun_again(chosen._lake, pair._own | other) for other in others_of)
    return replace(pair, ahead=begun, again=tuple(filter(None, again)))


def _standing(runs: pl.DataFrame, name: str) -> str:
    """The name, and how its runs stand unless all are complete: `ps-8.0.a13 (complete, failed)`."""
    statuses = runs.filter(pl.col("dbms") == name)["status"].unique().sort().to_list()
    return name if statuses == ["complete"] else f"{name} ({', '.join(statuses)})"
