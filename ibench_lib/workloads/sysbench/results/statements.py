"""Sentences on sysbench: what was run, whether it is consistent, and whether the server has counted the same."""

from __future__ import annotations

from typing import Any

import polars as pl

from ibench_lib.base.wording import count, joined, shortened
from ibench_lib.show.kit.statements import NOT_RECORDED, asks, attention, complete, proven, verdict

OWN = "your own"
"""The group of tests that are Lua files of the user's."""


_HELD = {
    "rows": "the tables have as many rows as were prepared",
    "inserted rows": "those of bulk_insert have as many as its transactions",
}
"""What the rules of checks prove once they have held."""


@asks("sysbench_workload", "checks")
def sysbench_statements(sysbench_workload: pl.DataFrame, checks: pl.DataFrame) -> list[str]:
    """The tables and tests of each setup, the sysbench that ran them, and the verdict of the checks."""
    rows = sysbench_workload.to_dicts()
    said = [*dict.fromkeys(_size(row) for row in rows)]
    programs = sysbench_workload.select("version", "sha256").unique(maintain_order=True)
    if len(programs) > 1:
        versions = joined([str(version) for version in programs["version"].to_list()])
        said.append(attention(f"these runs were not made by one sysbench, but by {len(programs)}: {versions}."))
    held, runs = (sum(int(row[column]) for row in rows) for column in ("complete", "runs"))
    proven_rules = [
        proven(checks, row["experiment"], row["setup"], row["complete"])[0] for row in rows if row["complete"]
    ]
    held_words = [text for rule, text in _HELD.items() if all(rule in rules for rules in proven_rules)]
    if proven_rules and held_words:
        proves = f"passed the checks: {joined(held_words)}"
    elif all(row["prepared_by"] is not None for row in rows):
        proves = "completed; no rows were counted, because a script of its own made the tables"
    else:
        proves = NOT_RECORDED
    return said + verdict(held, runs, proves)


@asks("sysbench_statements")
def sysbench_counted_statements(sysbench_statements: pl.DataFrame) -> list[str]:
    """Whether the server has counted the writes and transactions that sysbench has, and where it has not."""
    # What a Lua file of the user's sends need not be of a kind that the server counts here.
    sysbench_statements = sysbench_statements.filter(pl.col("test_group").ne_missing(pl.lit(OWN)))
    known = complete(sysbench_statements).filter(pl.col("statement") != "read", pl.col("counted").is_not_null())
    clean = known.filter(pl.col("retries") == 0)
    # Of a write that changes no row, such as a DELETE of one that is gone, sysbench says that it is another statement.
    both = pl.col("unexplained").sum().over("run_id", "step_id")
    is_moved = (both == 0) & (pl.col("unexplained") * pl.when(statement="write").then(1).otherwise(-1) > 0)
    wrong = clean.filter((pl.col("unexplained") != 0) & ~is_moved)
    steps, moved = (rows.select("run_id", "step_id").n_unique() for rows in (clean, clean.filter(is_moved)))
    said = []
    if steps and wrong.is_empty():
        said.append(
            f"In {count(steps, 'step')} in which no transaction was sent again, the server counted exactly the writes, "
            "BEGINs and COMMITs that sysbench did."
            + (" It counts a write that changes no row among the other statements." if moved else "")
        )
    for row in wrong.head(3).to_dicts():
        said.append(
            attention(
                f"{row['setup']}, {row['dbms']}, {row['step']}: the server counted {row['counted']:,} of kind "
                f"{row['statement']}, but sysbench {row['sent']:,}."
            )
        )
    unread = (
        complete(sysbench_statements)
        .filter(pl.col("counted").is_null(), pl.col("counts_kinds"))
        .unique(["run_id", "step_id"], maintain_order=True)
    )
    if len(unread):
        items = [f"{row['dbms']} r{row['repeat']} in {row['step']}" for row in unread.to_dicts()]
        said.append(
            f"In {count(len(items), 'step')} the server's counters were not read both before the first statement and "
            f"after the last one, so they prove nothing: {shortened(items)}."
        )
    others = complete(sysbench_statements).filter(~pl.col("counts_kinds"))["dbms"].unique(maintain_order=True)
    if len(others):
        said.append(
            f"{joined(others.to_list())}: the server does not count statements by kind, so it proves neither the "
            "writes nor the transactions of sysbench."
        )
    return said


def _size(row: dict[str, Any]) -> str:
    """What was run; an imported log may not say all of it."""
    threads, warming = [str(number) for number in row["threads"] or []], set(row["warming"] or [])
    tables = "tables of a size that is not recorded"
    if row["prepared_by"] is not None:
        tables = f"tables that {row['prepared_by']} has made"
    elif row["tables"] is not None and row["table_size"] is not None:
        tables = f"{count(row['tables'], 'table')} of {count(row['table_size'], 'row')}"
    warm = {True: "each after a warm-up", False: "without a warm-up", None: "a warm-up is not recorded"}
    rand_type, db_ps_mode = (row[name] or "not recorded" for name in ("rand_type", "db_ps_mode"))
    return (
        f"{row['setup']}: {tables}, rand_type {rand_type}, db_ps_mode {db_ps_mode}; "
        f"{count(len(set(row['tests'] or []) - warming), 'test')} with {joined(threads)} "
        f"{'thread' if threads == ['1'] else 'threads'}, {warm[row['has_warm_up']]}"
        f"{f', and {len(warming)} that only warm up' if warming else ''}; {row['version'] or 'sysbench'}."
    )
