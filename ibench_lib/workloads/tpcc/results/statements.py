"""Sentences on TPC-C: what was run, whether it is consistent, who has how many new orders, and who has waves."""

from __future__ import annotations

import json
from statistics import median
from typing import Any

import polars as pl

from ibench_lib.analysis.frames import by_position, measured, rows_of
from ibench_lib.ask.bases import Bases, bases
from ibench_lib.base.wording import capital, count, joined, shortened
from ibench_lib.show.kit.statements import (
    NOT_RECORDED,
    asks,
    attention,
    caveats,
    columns_of,
    complete,
    proven,
    unfinished,
    verdict,
)

_CONDITIONS = [f"C{number}" for number in range(1, 13)]
"""The consistency conditions of the specification, as the checks of a run name them."""


@asks("tpcc_workload", "checks")
def tpcc_statements(tpcc_workload: pl.DataFrame, checks: pl.DataFrame) -> list[str]:
    """The size and the rules of each setup, and the verdict of the checks."""
    said = [_size(row) for row in tpcc_workload.to_dicts()]
    return [*dict.fromkeys(said), *_verdicts(tpcc_workload, checks)]


@asks("tpcc_workload")
def deck_statements(tpcc_workload: pl.DataFrame) -> list[str]:
    """How a terminal chooses its transactions, in the setups of which that is known.

    They are those that our client ran: its runs have the weights of the types, and imported ones have not.
    """
    setups: dict[str, list[str]] = {}
    for row in tpcc_workload.filter(pl.col("weights").is_not_null()).to_dicts():
        weights = row["weights"]
        shares = joined([f"{name} ({weight})" for name, weight in zip(_TYPES, weights, strict=True)])
        if any(deviation.get("what") == "types" for deviation in json.loads(row["deviations"])):
            text = f"draws the type of each transaction on its own, with these weights: {shares}"
        else:
            text = f"goes through a shuffled deck of {sum(weights)} transactions: {shares}"
        setups.setdefault(f"each terminal is a connection, and {text}.", []).append(row["setup"])
    if len(setups) == 1 and tpcc_workload["weights"].null_count() == 0:
        return [capital(text) for text in setups]
    return [f"{joined(list(dict.fromkeys(names)))}: {text}" for text, names in setups.items()]


_TYPES = ("new order", "payment", "order status", "delivery", "stock level")
_DECK = (10, 10, 1, 1, 1)


def compared_new_orders(tpcc_summary: pl.DataFrame) -> str:
    """The column of `tpcc_summary` by which results are compared: HammerDB prints only orders that were committed."""
    return "notpm_committed" if tpcc_summary["notpm"].is_null().all() else "notpm"


@asks("tpcc_summary", base=True)
def notpm_statements(tpcc_summary: pl.DataFrame, base: str | Bases) -> list[str]:
    """New orders per minute of the base, and from where to where the others reach, for each setup.

    Medians of the repeats. The ratios are in the table, and on the first screen those of the transactions.
    """
    said = []
    of_run = tpcc_summary.filter(pl.col("step") == "run")
    compared = compared_new_orders(of_run)
    figure = {"notpm": "new orders per minute (NOTPM)", "notpm_committed": "committed new orders per minute"}[compared]
    for setup, step, rows in columns_of(complete(of_run)):
        for of_group, others in bases(base).groups(by_position(rows)).items():
            known = {
                name: median(values) for name in (of_group, *others) if (values := measured(rows, name, step, compared))
            }
            if of_group not in known:
                continue
            text = f"{setup}: {of_group} ran {known.pop(of_group):,.0f} {figure}"
            text += "".join(f" ({caveat})" for caveat in caveats(rows_of(rows, of_group, step)))
            if known:
                ends = dict.fromkeys(f"{end(known.values()):,.0f}" for end in (min, max))
                whose = "the other one" if len(known) == 1 else f"the {len(known)} others"
                text += f", {whose} {' to '.join(ends)}"
            doubts = {name: caveats(rows_of(rows, name, step)) for name in known}
            doubtful = [f"{name}: {', '.join(doubt)}" for name, doubt in doubts.items() if doubt]
            said.append(f"{text}{f' ({shortened(doubtful)})' if doubtful else ''}.")
    return [*said, *unfinished(tpcc_summary)]


@asks("tpcc_types")
def transaction_statements(tpcc_types: pl.DataFrame) -> list[str]:
    """Types that miss a limit of the specification, and how many transactions had to be repeated."""
    said: list[str] = []
    for setup, step, rows in columns_of(complete(tpcc_types).filter(pl.col("step") == "run")):
        slow, repeated = [], []
        for name in by_position(rows):
            mine = rows.filter(pl.col("dbms") == name)
            # Whoever had to wait for a terminal that was late counts from when the transaction was due.
            if over := _over_limit(mine):
                slow.append(f"{name} ({over})")
            counts = [(mine[column].sum(), text) for column, text in _ERRORS.items()]
            if any(number for number, _ in counts):
                items = [count(int(number), text) for number, text in counts if number]
                repeated.append(f"{name} ({joined(items)} in {mine['done'].sum():,} transactions)")
        if slow:
            said.append(attention(f"{setup}, {step}: p90 is over the limit of TPC-C: {shortened(slow)}."))
        if repeated:
            said.append(f"{setup}, {step}: transactions were repeated with the same input: {shortened(repeated)}.")
        elif not any(rows[column].null_count() for column in _ERRORS):
            said.append(f"{setup}, {step}: no transaction was repeated.")
    return said


def _over_limit(rows: pl.DataFrame) -> str:
    """The types of one dbms whose p90 is over their limit, and in how many of its runs; empty if none is."""
    runs = rows["run_id"].n_unique()
    over = rows.filter(pl.coalesce("intended_p90_s", "p90_s") > pl.col("limit_s"))
    types: dict[int, list[str]] = {}
    for (kind,), of_kind in over.group_by("operation", maintain_order=True):
        types.setdefault(len(of_kind), []).append(str(kind).replace("_", " "))
    return "; ".join(f"{joined(kinds)} in {number} of {count(runs, 'run')}" for number, kinds in types.items())


_FELL, _ROSE = 0.8, 1.25
"""A sentence names results whose last third has less than 0.8, or more than 1.25, of the rate of their first third."""


@asks("tpcc_stability")
def wave_statements(tpcc_stability: pl.DataFrame) -> list[str]:
    """Who has waves in the run, how many and how deep; or that nobody has. And whose rate fell or rose for good."""
    said = []
    for setup, step, rows in columns_of(complete(tpcc_stability).filter(pl.col("step") == "run")):
        items = []
        for name in by_position(rows):
            mine = rows.filter((pl.col("dbms") == name) & (pl.col("waves") > 0))
            if mine.is_empty():
                continue
            shares = rows.filter(pl.col("dbms") == name)["wave_share"].to_list()
            runs = len(shares)
            of_several = f"waves in {len(mine)} of {runs} runs, {_span(mine['waves'])} each"
            facts = [count(mine["waves"][0], "wave") if runs == 1 else of_several]
            facts.append(f"{100 * median(mine['wave_depth']):.0f} % deep")
            periods = mine["wave_period_s"].drop_nulls()
            if len(periods):
                facts.append(f"about {_span(periods)} s apart")
            facts.append(f"{100 * median(shares):.1f} % of the time{' in the median run' if runs > 1 else ''}")
            items.append(f"{name} ({', '.join([*facts, *caveats(rows_of(rows, name, step))])})")
        text = f"fell below 0.8 of its median and recovered: {shortened(items)}" if items else "had no wave"
        said.append(f"{setup}, {step}: the rate of transactions {text}.")
        said += _trends(setup, step, rows)
    return said


def _span(values: pl.Series) -> str:
    """The figures of several runs: 3, or 8 to 62."""
    numbers: list[float] = values.to_list()
    return " to ".join(dict.fromkeys(f"{end:,.0f}" for end in (min(numbers), max(numbers))))


def _trends(setup: str, step: str, rows: pl.DataFrame) -> list[str]:
    """Results whose rate was much lower, or higher, in the last third of the step than in the first."""
    fell, rose = [], []
    for name in by_position(rows):
        mine = rows.filter(pl.col("dbms") == name)["trend"].drop_nulls().to_list()
        if not mine:
            continue
        of_all = f"{name} ({min(mine):.2f}x to {max(mine):.2f}x)" if len(mine) > 1 else f"{name} ({mine[0]:.2f}x)"
        if max(mine) < _FELL:
            fell.append(of_all)
        elif min(mine) > _ROSE:
            rose.append(of_all)
    return [
        attention(f"{setup}, {step}: the rate was {word} in the last third than in the first, with {shortened(items)}.")
        for word, items in (("lower", fell), ("higher", rose))
        if items
    ]


_ERRORS = {"deadlocks": "deadlock", "lock_timeouts": "lock wait timeout", "changed": "changed row"}


def _size(row: dict[str, Any]) -> str:
    sets, warehouses = row["sets"] or 1, row["warehouses"] or 0
    size = count(warehouses, "warehouse")
    if sets > 1:
        size = f"{count(sets, 'set')} of {size}"
    processes = count(row["clients"], "process", "processes")
    text = f"{row['setup']}: {size}, {count(row['terminals'], 'terminal')} in {processes}"
    facts = [
        *([f"profile {row['profile']}"] if row["profile"] else []),
        *(["prepared statements"] if row["protocol"] == "prepared" else []),
        *([row["isolation"].replace("_", " ")] if row["isolation"] else []),
    ]
    if row["foreign_keys"] not in (None, "none"):
        facts.append(f"foreign keys {row['foreign_keys']}")
    if row["indexes"] == "needed":
        facts.append("only the secondary indexes that statements use")
    if row["home"] == "fixed":
        facts.append("each terminal has a warehouse of its own")
    if row["weights"] not in (None, list(_DECK)):
        facts.append(f"decks of {'/'.join(map(str, row['weights']))}")
    if row["think_time"]:
        facts.append(f"keying and think times {row['think_time']:g} times those of TPC-C")
    else:
        facts.append(f"{row['rate']:,g} transactions/s" if row["rate"] else "as fast as possible, without thinking")
    after = f" after a ramp-up of {row['ramp_up_s']:,g} s" if row["ramp_up_s"] else ""
    return f"{text} ({', '.join(facts)}); {row['run_s'] or 0:,g} s are measured{after}."


def _verdicts(frame: pl.DataFrame, checks: pl.DataFrame) -> list[str]:
    """Which checks held, setup by setup where that differs, and what profiles break."""
    setups = frame.group_by("experiment", "setup", maintain_order=True).agg(
        pl.col("complete", "runs").sum(), pl.col("profile").first()
    )
    proves, broken_said = list[str](), list[str]()
    for experiment, setup, complete_runs, _, profile in setups.iter_rows():
        held, broken = proven(checks, experiment, setup, complete_runs)
        mine = frame.filter((pl.col("experiment") == experiment) & (pl.col("setup") == setup))
        row = mine.row(0, named=True)
        only = held & _only_of_the_load(checks, experiment, setup)
        after = _after(checks, experiment, setup)
        proves.append(_proves(after, held, only, set(row["drawn_conditions"]), row["drawn_warehouses"]))
        if conditions := broken & set(_CONDITIONS):
            why = f"defects of profile {profile} break this, so no run fails"
            broken_said.append(attention(f"{setup}: {_numbered(conditions)} did not hold; {why}."))
    if len(set(proves)) == 1:
        said = verdict(int(setups["complete"].sum()), int(setups["runs"].sum()), proves[0])
    else:
        rows = zip(setups.iter_rows(named=True), proves, strict=True)
        said = [text for row, proof in rows for text in verdict(row["complete"], row["runs"], proof, row["setup"])]
    return [*said, *broken_said]


def _only_of_the_load(checks: pl.DataFrame, experiment: str, setup: str) -> set[str]:
    """The rules (`checks`) that were checked after the load alone, where others were checked again after the run."""
    mine = checks.filter((pl.col("experiment") == experiment) & (pl.col("setup") == setup))
    again = set(mine.filter(pl.col("step_id") > pl.col("step_id").min())["rule"])
    return set(mine["rule"]) - again if again else set()


def _after(checks: pl.DataFrame, experiment: str, setup: str) -> str:
    """After which of the selected steps the checks were made: a run from a snapshot did not load its tables itself."""
    mine = checks.filter((pl.col("experiment") == experiment) & (pl.col("setup") == setup))
    steps = mine.sort("step_id")["step"].unique(maintain_order=True).to_list()
    return "after the run, as did the loaded tables before it" if len(steps) > 1 else f"after the {joined(steps)}"


def _proves(after: str, held: set[str], only_of_the_load: set[str], of_drawn: set[str], warehouses: int) -> str:
    """The rest of a sentence about complete runs for which these rules held, some of drawn warehouses only."""
    conditions, figures = held & set(_CONDITIONS), []
    if conditions:
        every = "all consistency conditions" if len(conditions) == len(_CONDITIONS) else "the consistency conditions"
        some = conditions & of_drawn
        of_some = f", {_numbered(some)} of {count(warehouses, 'drawn warehouse')} only" if some else ""
        figures.append(f"{every} of TPC-C that were checked ({_numbered(conditions)}{of_some})")
    if "ledger" in held:
        figures.append("the ledger of acknowledged transactions")
    if "rows" in held:
        figures.append("the number of rows of each table")
    if not figures:
        return NOT_RECORDED
    once = only_of_the_load & set(_CONDITIONS)
    but = f" ({_numbered(once)} after the load only)" if once else ""
    return f"passed these checks {after}{but}: {joined(figures)}"


def _numbered(conditions: set[str]) -> str:
    """Names of conditions, with those that follow each other as a range: C1 to C9 and C11."""
    numbers = sorted(_CONDITIONS.index(name) for name in conditions)
    ranges: list[list[int]] = []
    for number in numbers:
        if ranges and number == ranges[-1][-1] + 1:
            ranges[-1].append(number)
        else:
            ranges.append([number])
    return joined([
        _CONDITIONS[first] if first == last else f"{_CONDITIONS[first]} to {_CONDITIONS[last]}"
        for first, last in ((each[0], each[-1]) for each in ranges)
    ])  # fmt: skip
