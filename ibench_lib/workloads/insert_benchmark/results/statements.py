"""Sentences for the Insert Benchmark only: what was run, and how long the query for the smallest key takes.

What was run: clients, tables, and the work of each step, for each setup. The query, get_min: which configurations take
over ten times as long as the fastest, how their times compare with the base, and how much history purge had left. Where
old row versions are dead rows, each server is compared with itself: before and after they piled up, and after vacuum.
"""

from __future__ import annotations

from collections.abc import Mapping
from statistics import median
from typing import Any

import polars as pl

from ibench_lib.analysis.against import Place, against_base
from ibench_lib.analysis.frames import by_position, measured, rows_of, steps_of
from ibench_lib.analysis.verdicts import FAR, Ratio, ratio
from ibench_lib.ask.bases import Bases, bases
from ibench_lib.base.wording import PROTOCOLS, count, joined, shortened
from ibench_lib.metrics import METRICS
from ibench_lib.show.kit import theme
from ibench_lib.show.kit.statements import (
    NOISE_UNKNOWN,
    asks,
    attention,
    caveats,
    columns_of,
    complete,
    over_ten_times,
    unfinished,
)
from ibench_lib.show.kit.table_cells import relative_text
from ibench_lib.show.kit.wording import method_said

SLOW_S = 0.1
"""A get_min of at most so many seconds is never called slow."""

_VACUUMS = "postgres"
"""The family of servers that is settled by a vacuum."""

_MOST_SETTLED = 6
"""Results whose time to settle a sentence names."""

_MANY_DEAD = 10_000
_SLOWER = 2.0
"""A get_min that takes less than so many times as long is not called slower: it lasts less than a millisecond."""

_TRANSPORTS = {"socket": "a Unix socket", "tcp": "TCP", "tls": "TCP with TLS"}


@asks("workload")
def insert_benchmark_statements(workload: pl.DataFrame) -> list[str]:
    """Clients, tables and how statements are sent; if runs differ, the sentences name the setups.

    Where those of one setup differ, as servers of two families do, they name the dbms as well.
    """
    mixed = _editions(workload)
    said: dict[tuple[str, str], dict[str, list[str]]] = {}
    for row in workload.to_dicts():
        experiment = f"{row['experiment']}, " if workload["experiment"].n_unique() > 1 else ""
        of_setup = said.setdefault((experiment, row["setup"]), {})
        of_setup.setdefault(_workload(row), []).extend(row["dbms"])
    places: dict[str, list[str]] = {}
    for (experiment, setup), sentences in said.items():
        for sentence, dbms in sentences.items():
            with_dbms = f" with {shortened(list(dict.fromkeys(dbms)), ', ')}" if len(sentences) > 1 else ""
            places.setdefault(sentence, []).append(f"{experiment}{setup}{with_dbms}")
    if len(places) == 1:
        return [*places, *mixed]
    return [*(f"{joined(where)}: {sentence}" for sentence, where in places.items()), *mixed]


def _editions(workload: pl.DataFrame) -> list[str]:
    """That the runs do not all send the same, which nobody should overlook."""
    runs = workload.group_by("edition").agg(pl.col("runs").sum()).sort("edition").rows()
    if len(runs) < 2:
        return []
    items = joined([f"{count(number, 'run')} of edition {edition}" for edition, number in runs])
    return [
        attention(
            f"The client of this benchmark changed between these runs: {items}. Their rows and point queries are not "
            "the same; the table below says how they differ. What looks like a difference between configurations may "
            "be one between editions."
        )
    ]


@asks("planned_work")
def step_statements(planned_work: pl.DataFrame) -> list[str]:
    """What each step does and how long it takes; steps that differ only in their rate share a sentence."""
    alike: dict[str, list[dict[str, Any]]] = {}
    for row in planned_work.to_dicts():
        alike.setdefault(_step(row, "some" if row["rate"] else ""), []).append(row)
    said = []
    for rows in alike.values():
        steps = list(dict.fromkeys(row["step"] for row in rows))
        rates = list(dict.fromkeys(row["rate"] for row in rows if row["rate"]))
        sizes = _sizes(rows)
        text = f"{', '.join(steps)}: {_step(rows[0], ', '.join(f'{rate:,g}' for rate in rates))}"
        said.append(f"{text}{f'; {sizes}' if sizes else ''}.")
    said += _settled([row for row in planned_work.to_dicts() if row["settle_before"]])
    held = [row["step"] for row in planned_work.to_dicts() if row["long_transaction"]]
    if held:
        said.append(f"During {joined(list(dict.fromkeys(held)))}, a transaction with a read view stays open.")
    return said


def _settled(rows: list[dict[str, Any]]) -> list[str]:
    """What is done before the queries, which families do in their own ways; nothing if no run is settled."""
    if not rows:
        return []
    waits = sorted({row["settle_s"] for row in rows} - {None})
    for_s = joined([f"{wait_s:,.0f} s" for wait_s in waits])
    families = {family for row in rows for family in row["families"]}
    ways = []
    if families != {_VACUUMS}:
        ways.append(f"statistics are updated and dirty pages are flushed{f' for {for_s}' if waits else ''}")
    if _VACUUMS in families:
        where = "on PostgreSQL, " if ways else ""
        rest = f", then nothing is sent for {for_s}" if waits else ""
        ways.append(f"{where}tables are vacuumed and a checkpoint writes all pages{rest}")
    steps = joined(list(dict.fromkeys(row["step"] for row in rows)))
    return [f"Before {steps} the database is settled: {'; '.join(ways)}."]


@asks("settling_times")
def settling_statements(settling_times: pl.DataFrame) -> list[str]:
    """How long it took to settle the databases, and what took it: median of the runs. Nothing where none was."""
    said = []
    for (setup, step), rows in settling_times.group_by("setup", "step", maintain_order=True):
        items = [_time_to_settle(rows.filter(pl.col("dbms") == name)) for name in by_position(rows)]
        more = len(items) - _MOST_SETTLED
        items = [*items[:_MOST_SETTLED], *([f"and {more} more"] if more > 0 else [])]
        said.append(f"{setup}: to settle the database before {step} took {'; '.join(items)}.")
    return said


def _time_to_settle(rows: pl.DataFrame) -> str:
    """Such as: 5.9 s with postgres-18.cx10a (VACUUM 5.2 s, CHECKPOINT 0.7 s)."""
    kinds = rows.group_by("what").agg(pl.col("position").min(), pl.col("seconds").median()).sort("position")
    parts = [f"{what} {seconds:,.1f} s" for what, seconds in kinds.select("what", "seconds").rows()]
    whole = float(median(rows.group_by("run_id").agg(pl.col("seconds").sum())["seconds"].to_list()))
    return f"{whole:,.1f} s with {rows['dbms'][0]} ({', '.join(parts)})"


def _workload(row: dict[str, Any]) -> str:
    clients, tables = row["clients"], row["tables"]
    said = count(clients, "client")
    if tables:
        said += ", each with its own table" if tables == clients > 1 else f" on {count(tables, 'table')}"
    engine = {"innodb": "InnoDB", "rocksdb": "MyRocks"}.get(row["engine"])
    facts = [engine] if engine else []
    if row["data_length"]:
        facts.append(f"{row['data_length'][0]} to {row['data_length'][1]} bytes in column data")
    if row["protocol"] in PROTOCOLS and row["transport"] in _TRANSPORTS:
        facts.append(f"{PROTOCOLS[row['protocol']]} over {_TRANSPORTS[row['transport']]}")
    if row["bulk_load"]:
        facts.append("bulk load in l.i0")
    said += f" ({', '.join(facts)})" if facts else ""
    said += "; each client has its own processes and connections."
    if row["settle"] == "none":
        said += " The database is not settled between the steps."
    if row["count_rows"] is not None:
        if row["count_rows"]:
            said += (
                " After each step, the server's COUNT(*) is compared with the rows that the clients' statements leave."
            )
        else:
            said += " The server's COUNT(*) is not checked after the steps."
    return said


def _step(row: dict[str, Any], rates: str) -> str:
    """What a step does at these rates, without its sizes."""
    commit = f", {row['rows_per_commit']} per statement" if row["rows_per_commit"] else ""
    if row["kind"] == "load":
        return f"inserts rows in primary key order, without secondary indexes{commit}{_limit(rates)}"
    if row["kind"] == "index":
        indexes = row["secondary_indexes"]
        return f"creates {'the' if indexes is None else indexes} secondary indexes on each table"
    if row["kind"] == "write":
        deletes = " and deletes the same number at its tail" if row["deletes"] else ""
        return f"inserts rows at the head of each table{deletes}, with all indexes{commit}{_limit(rates)}"
    if row["kind"] == "query":
        what = {"range": f"range queries of up to {row['query_rows']} rows", "point": "point queries of ten keys"}
        queriers = row["queriers"]
        who = f"{count(queriers, 'process', 'processes')} per client " if queriers else ""
        said = f"{who}{'run' if queriers and queriers > 1 else 'runs'} {what.get(row['query'], 'queries')}"
        said += " as fast as possible"
        return said + (f", while each client also inserts and deletes {rates} rows/s{commit}" if rates else "")
    return "a step of a kind that this version of ibench does not know"


def _limit(rates: str) -> str:
    return f", at most {rates} rows/s per client" if rates else ""


def _sizes(rows: list[dict[str, Any]]) -> str:
    """How many rows or seconds, by setup if they differ."""
    growing = [
        (row["setup"], row["step"], f"{row['rows']:,} rows per client" if row["rows"] else f"{row['seconds']:,g} s")
        for row in rows
        if row["rows"] or row["seconds"]
    ]
    of_setup: dict[str, set[str]] = {}
    for setup, _, size in growing:
        of_setup.setdefault(setup, set()).add(size)
    places: dict[str, list[str]] = {}
    for setup, step, size in growing:
        places.setdefault(size, []).append(setup if len(of_setup[setup]) == 1 else f"{step} of {setup}")
    if len(places) == 1:
        return next(iter(places))
    return ", ".join(f"{size} in {joined(list(dict.fromkeys(where)))}" for size, where in places.items())


@asks("get_min")
def get_min_statements(get_min: pl.DataFrame) -> list[str]:
    """Steps whose first get_min took over ten times as long as the fastest with some dbms, and over 0.1 s."""
    return over_ten_times(get_min, "get_min_s", SLOW_S, theme.seconds, "the time of the get_min query")


@asks("get_min", "purge_lag_at_step_end", base=True)
def mvcc_gc_statements(get_min: pl.DataFrame, purge_lag_at_step_end: pl.DataFrame, base: str | Bases) -> list[str]:
    """For each step, whose get_min is over ten times faster or slower than the base's, clearly, and over 0.1 s.

    Ratios and intervals are those of the post's tables and pictures, or their inverse.
    The sentence also gives the history list at the end of the previous step, which the query had to step over.
    """
    said = []
    seen: list[Ratio] = []
    ratios = against_base(get_min, base, ["get_min_s"])
    for setup, step, rows in columns_of(_with_history(complete(get_min), purge_lag_at_step_end)):
        for of_group, others in bases(base).groups(by_position(rows)).items():
            sentence = _against(setup, step, rows, of_group, others, ratios, seen)
            said += [sentence] if sentence else []
    return [*said, *_chance(seen)]


def _against(
    setup: str,
    step: str,
    rows: pl.DataFrame,
    base: str,
    others: list[str],
    ratios: Mapping[Place, Ratio],
    seen: list[Ratio],
) -> str | None:
    """What is far from one base in one step; its ratios are added to `seen`."""
    of_base = measured(rows, base, step, "get_min_s")
    faster: list[tuple[float, str]] = []
    slower: list[tuple[float, str]] = []
    for name in others:
        values = measured(rows, name, step, "get_min_s")
        more = ratios.get((setup, step, "get_min_s", name))
        if not values or not of_base or more is None:
            continue
        less = more.inverse
        left = _history(rows, name, step)
        facts = [theme.seconds(median(values)), *([f"history list {left}"] if left else [])]
        about = f"{name} ({', '.join([*facts, *caveats(rows_of(rows, name, step))])})"
        if _far(less) and median(of_base) > SLOW_S:
            seen.append(less)
            faster.append((less.value, f"{relative_text(less)} slower than with {about}"))
        elif _far(more) and median(values) > SLOW_S:
            seen.append(more)
            slower.append((more.value, f"{relative_text(more)} slower with {about}"))
    if not faster and not slower:
        return None
    runs = f"median of {len(of_base)} runs" if len(of_base) > 1 else "one run"
    left = _history(rows, base, step)
    facts = [runs, *([f"history list {left} at the end of {_before(rows, base)}"] if left else [])]
    facts += caveats(rows_of(rows, base, step))
    text = f"{setup}, {step}: get_min took {theme.seconds(median(of_base))} with {base} ({', '.join(facts)})."
    for begin, items in (("That is", faster), ("It was", slower)):
        if items:
            text += f" {begin} {shortened([item for _, item in sorted(items, reverse=True)])}."
    return text


def _with_history(get_min: pl.DataFrame, lag: pl.DataFrame) -> pl.DataFrame:
    """Each row with the step before it and the history list at that step's end, NULL where it did not complete."""
    before = complete(lag).select(
        "setup", "dbms", "repeat", pl.col("step_id") + 1, before="step", left="history_list_length"
    )
    return get_min.join(before, on=["setup", "dbms", "repeat", "step_id"], how="left", maintain_order="left")


def _history(rows: pl.DataFrame, name: str, step: str) -> str:
    left = measured(rows, name, step, "left")
    return format(median(left), METRICS["hll"].format) if left else ""


def _before(rows: pl.DataFrame, name: str) -> str:
    return str(rows.filter(pl.col("dbms") == name, pl.col("left").is_not_null())["before"][0])


def _far(found: Ratio) -> bool:
    return (found.value if found.low is None else found.low) > FAR


def _chance(seen: list[Ratio]) -> list[str]:
    """What the brackets in the sentences hold, and what chance does."""
    said = []
    if any(ratio.is_range for ratio in seen):
        said.append("Two runs: the brackets hold the range of the ratio (low to high). Their noise is unknown.")
    return [*said, *filter(None, [method_said(seen)])]


@asks("get_min_dead_rows")
def get_min_dead_rows_statements(get_min_dead_rows: pl.DataFrame) -> list[str]:
    """What dead rows do to get_min and to the planning of deletes, and what vacuum does: each server by itself.

    For each server: the step with the most dead rows before it, next to an earlier step with few, and to the first
    later one that a vacuum has left few for.
    """
    done = complete(get_min_dead_rows).filter(pl.col("get_min_s").is_not_null(), pl.col("dead_rows").is_not_null())
    said = []
    looked_at = 0
    for of_setup in done.partition_by("setup", maintain_order=True) if len(done) else []:
        for name in by_position(of_setup):
            rows = of_setup.filter(pl.col("dbms") == name)
            looked_at += 1
            said += _of_dead_rows(f"{rows['setup'][0]}, {name}", name, rows)
    if looked_at and not said:
        said.append(f"Before no step were there more than {_MANY_DEAD:,} dead rows that get_min could meet.")
    alone = bool(said) and done.group_by("setup", "dbms").agg(pl.col("run_id").n_unique())["run_id"].max() == 1
    return [*([NOISE_UNKNOWN] if alone else []), *said, *unfinished(get_min_dead_rows)]


def _of_dead_rows(where: str, name: str, rows: pl.DataFrame) -> list[str]:
    """The sentences on one server in one setup; none if it never had many dead rows."""
    steps = steps_of(rows)
    dead = {step: median(measured(rows, name, step, "dead_rows")) for step in steps}
    most = max(steps, key=lambda step: dead[step])
    place = steps.index(most)
    few = max(dead[most] / FAR, 1)
    if dead[most] <= _MANY_DEAD:
        return []
    said = []
    # The tables are empty before the first step of a run.
    first = rows.filter(pl.col("step_id") == 0)["step"].to_list()
    earlier = [step for step in steps[:place] if dead[step] <= few and step not in first]
    text = f"{where}: before {most} there were {_rows(dead[most])}, and get_min took {_took(rows, name, most)}"
    if earlier:
        before = min(earlier, key=lambda step: dead[step])
        text += f"; before {before}, with {_rows(dead[before])}, {_took(rows, name, before)}"
        found = ratio(measured(rows, name, most, "get_min_s"), measured(rows, name, before, "get_min_s"))
        slower = found is not None and _clear(rows, name, most, before)
        longer = (
            f", so it took {relative_text(found)} as long before {most} (geometric means)" if slower and found else ""
        )
        text += longer or ", and the difference is not clear"
    said.append(f"{text}.")
    vacuumed = [step for step in steps[place + 1 :] if dead[step] <= few and _vacuumed(rows, name, most, step)]
    if vacuumed:
        faster = "fell to" if _clear(rows, name, most, vacuumed[0]) else "did not clearly fall: it was"
        said.append(
            f"{where}: vacuum left {_rows(dead[vacuumed[0]])} before {vacuumed[0]}, and get_min {faster} "
            f"{_took(rows, name, vacuumed[0])}."
        )
    return [*said, *_planning(where, name, rows)]


def _planning(where: str, name: str, rows: pl.DataFrame) -> list[str]:
    """Whether the planner reads more than ten times as many blocks for a delete before one step than before another."""
    blocks = {
        step: median(values) for step in steps_of(rows) if (values := measured(rows, name, step, "plan_delete_blocks"))
    }
    if not blocks:
        return []
    most, least = max(blocks, key=lambda step: blocks[step]), min(blocks, key=lambda step: blocks[step])
    if blocks[most] <= FAR * max(blocks[least], 1):
        return []
    slow, fast = (theme.seconds(median(measured(rows, name, step, "plan_delete_s"))) for step in (most, least))
    return [
        f"{where}: to plan a delete, the server read {blocks[most]:,.0f} blocks before {most} ({slow}), and "
        f"{blocks[least]:,.0f} before {least} ({fast})."
    ]


def _rows(dead: float) -> str:
    return f"{dead:,.0f} dead rows"


def _took(rows: pl.DataFrame, name: str, step: str) -> str:
    about = caveats(rows_of(rows, name, step))
    return theme.seconds(median(measured(rows, name, step, "get_min_s"))) + (f" ({', '.join(about)})" if about else "")


def _clear(rows: pl.DataFrame, name: str, slow: str, fast: str) -> bool:
    """Whether get_min was slower in every run, and by more than it varies from one millisecond to the next."""
    slows, fasts = (measured(rows, name, step, "get_min_s") for step in (slow, fast))
    return min(slows) > max(fasts) and median(slows) >= _SLOWER * median(fasts)


def _vacuumed(rows: pl.DataFrame, name: str, before: str, after: str) -> bool:
    """Whether the server counted a vacuum between the starts of two steps, in every run."""
    counts = [{row["repeat"]: row["vacuums"] for row in rows_of(rows, name, step)} for step in (before, after)]
    return all(counts[1][repeat] > counts[0][repeat] for repeat in counts[0].keys() & counts[1].keys())
