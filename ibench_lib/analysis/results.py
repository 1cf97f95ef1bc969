"""What `ibench summary`, `compare`, `stalls` and `explain` answer, in Python: the same figures, as data."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import duckdb
import polars as pl

from ibench_lib.analysis import explain as explaining
from ibench_lib.analysis.explanation import Explanation
from ibench_lib.analysis.summary import SummaryRow, selected_rows
from ibench_lib.ask.pair import pair
from ibench_lib.ask.selection import choose, measured_experiment
from ibench_lib.errors import ParameterError

_NUMBERS = ("value", "lowest", "highest", "mean", "ratio", "low", "high", "p")


def summary(
    lake: duckdb.DuckDBPyConnection,
    experiment: str = "",
    *,
    dbms: str | Sequence[str] = (),
    setups: str | Sequence[str] = (),
    steps: str | Sequence[str] = (),
    base: str = "",
    tails: bool = False,
) -> pl.DataFrame:
    """Throughput of each result and step: median, range, ratio to the base, its interval, verdict (`ibench summary`).

    `experiment`: by default the one with the newest run; `tails`: also the 99th percentile of response times.

    Raises
    ------
    ParameterError : there is no run, or something that is named is not there.
    """
    chosen: dict[str, Any] = {"dbms": dbms, "setups": setups, "base": base}
    name = measured_experiment(lake, experiment)
    if steps:
        choose(lake, name, **chosen, steps=steps)  # it names a step that is not there
    return _frame(selected_rows(choose(lake, name, **chosen), steps, with_tails=tails))


def compare(
    lake: duckdb.DuckDBPyConnection,
    a: str,
    b: str,
    experiment: str = "",
    *,
    setups: str | Sequence[str] = (),
    steps: str | Sequence[str] = (),
) -> pl.DataFrame:
    """Throughput and tail latency of two results; A is the base (`ibench compare`). The noise is that of all results.

    Raises
    ------
    ParameterError : there is no run, something that is named is not there, or A is B.
    """
    if a == b:
        raise ParameterError(f"{a} cannot be compared with itself", hint="name two results")
    name = measured_experiment(lake, experiment)
    told = choose(lake, name, setups=setups, steps=steps, dbms=[a, b], base=a)  # it names what is not there
    only = told.runs["dbms"].to_list()
    return _frame(selected_rows(choose(lake, name, setups=setups, base=a), steps, only, with_tails=True))


def stalls(
    lake: duckdb.DuckDBPyConnection,
    experiment: str = "",
    *,
    runs: str | Sequence[str] = (),
    dbms: str | Sequence[str] = (),
    setups: str | Sequence[str] = (),
    steps: str | Sequence[str] = (),
) -> pl.DataFrame:
    """The dips of throughput, with cause, confidence and evidence, a row for each (`ibench stalls`).

    `experiment`: by default the one with the newest run, unless `runs` has ids.

    Raises
    ------
    ParameterError : there is no run, or something that is named is not there.
    """
    name = experiment if runs and not experiment else measured_experiment(lake, experiment)
    return choose(lake, name, runs=runs, dbms=dbms, setups=setups, steps=steps).ask("dips")


def explain(
    lake: duckdb.DuckDBPyConnection, a: str, b: str, step: str, experiment: str = "", *, setup: str = ""
) -> Explanation:
    """Why result B differs from A in a step, as far as the runs can tell (`ibench explain`).

    Raises
    ------
    ParameterError : there is no run, or something that is named is not there.
    """
    name = measured_experiment(lake, experiment)
    setups = [setup] if setup else []
    choose(lake, name, dbms=[a, b], setups=setups, steps=[step], base=a)  # it names a result that is not there
    # The other results tell how much repeats vary, as they do in a summary.
    post = choose(lake, name, setups=setups, steps=[step], base=a)
    return explaining.explain(pair(post, a, b), step, setup)


def _frame(rows: Sequence[SummaryRow]) -> pl.DataFrame:
    """The rows as a frame whose columns have one type each, also without any row."""
    kinds: dict[str, Any] = dict.fromkeys(_NUMBERS, pl.Float64())
    kinds |= dict.fromkeys(("runs", "repeats"), pl.Int64()) | dict.fromkeys(("is_base", "at_least"), pl.Boolean())
    schema = {field.name: kinds.get(field.name, pl.String()) for field in dataclasses.fields(SummaryRow)}
    return pl.DataFrame([dataclasses.asdict(row) for row in rows], schema=schema)
