"""Sentences on LinkBench: what was run, whether it is consistent, and how much the graph's growth has changed."""

from __future__ import annotations

from statistics import median
from typing import Any

import polars as pl

from ibench_lib.analysis.frames import by_position, rows_of, steps_of
from ibench_lib.base.wording import count, joined, shortened
from ibench_lib.show.kit.statements import NOT_RECORDED, asks, attention, complete, proven, verdict

_MUCH = 0.1
_PROVEN = {
    "rows": "the tables have as many rows as the acknowledged operations leave",
    "ledger": "as many links are visible as these operations leave",
    "counts": "the counts of the checked nodes equal their links",
}
"""By the rule of a check: what it proves."""


@asks("linkbench_workload", "checks")
def linkbench_statements(linkbench_workload: pl.DataFrame, checks: pl.DataFrame) -> list[str]:
    """The graph and the rules of each setup, and the verdict of the checks."""
    rows = linkbench_workload.to_dicts()
    return [*dict.fromkeys(_size(row) for row in rows), *_verdicts(rows, checks)]


@asks("linkbench_summary")
def drift_statements(linkbench_summary: pl.DataFrame) -> list[str]:
    """The rate of the step control, relative to the step that it repeats."""
    said = []
    done = complete(linkbench_summary)
    for (setup,), rows in done.group_by("setup", maintain_order=True):
        control = rows.filter(pl.col("kind") == "control")
        if control.is_empty():
            continue
        firsts, items, most = set[str](), list[str](), 0.0
        for name in by_position(rows):
            changes = []
            for after in control.filter(dbms=name).to_dicts():
                step = f"t{after['requesters']}"
                before = [row["ops_per_s"] for row in rows_of(rows, name, step) if row["run_id"] == after["run_id"]]
                if before and before[0]:
                    firsts.add(step)
                    changes.append(after["ops_per_s"] / before[0])
            if changes:
                most = max(most, *(abs(change - 1) for change in changes))
                of_first = "" if items else " of its first rate"
                items.append(f"{_range(changes)}{of_first} with {name}")
        if items:
            first = firsts.pop() if len(firsts) == 1 else "the first measured step"
            text = f"{setup}: {first} was repeated at the end and reached {shortened(items)}."
            said.append(attention(text) if most > _MUCH else text)
    return said


def _range(changes: list[float]) -> str:
    """The median, with the range of several: 0.98 (0.96 to 1.03 in 3 runs)."""
    text = f"{median(changes):.2f}"
    if len(changes) < 2:
        return text
    return f"{text} ({min(changes):.2f} to {max(changes):.2f} in {len(changes)} runs)"


@asks("rate_by_tenth")
def warm_statements(rate_by_tenth: pl.DataFrame) -> list[str]:
    """Measured steps whose rate in the last tenth differs by over 10 % from that in the first."""
    items = []
    for row in complete(rate_by_tenth).filter(pl.col("kind").is_in(["requests", "control"])).to_dicts():
        rates = row["rates"]
        if rates and rates[0] and abs(rates[-1] / rates[0] - 1) > _MUCH:
            items.append(
                f"{row['dbms']} r{row['repeat']} in {row['step']} of {row['setup']} ({rates[-1] / rates[0]:.2f})"
            )
    if not items:
        return []
    text = (
        "not warmed up, or not steady: in these steps the rate of the last tenth differs from that of the first by "
        f"over {100 * _MUCH:.0f} % (last / first)"
    )
    return [attention(f"{text}: {shortened(items)}.")]


@asks("linkbench_statements")
def counted_statements(linkbench_statements: pl.DataFrame) -> list[str]:
    """Whether the server has counted the statements that acknowledged operations took, and where it has not."""
    done = complete(linkbench_statements).filter(pl.col("statement") != "SELECT")
    known = done.filter(pl.col("counted").is_not_null())
    said = []
    clean = known.filter(pl.col("repeats") == 0)
    steps = clean.select("run_id", "step_id").n_unique() if len(clean) else 0
    wrong = clean.filter(pl.col("unexplained") != 0)
    if steps and wrong.is_empty():
        kinds = joined(clean["statement"].unique(maintain_order=True).to_list())
        said.append(
            f"In {count(steps, 'step')} without repeats, the server counted exactly the statements that the "
            f"outcomes of operations explain ({kinds})."
        )
    for row in wrong.head(3).to_dicts():
        said.append(
            attention(
                f"{row['setup']}, {row['dbms']}, {row['step']}: the server counted {row['counted']:,} "
                f"{row['statement']}, but the outcomes of operations explain {row['sent']:,}."
            )
        )
    repeated = known.filter(pl.col("repeats") > 0)
    if len(repeated):
        said.append(f"Repeats after errors sent further statements in {joined(steps_of(repeated))}.")
    unread = done.filter(pl.col("counted").is_null(), pl.col("counts_kinds")).unique(
        ["run_id", "step_id"], maintain_order=True
    )
    if len(unread):
        items = [
            f"{row['dbms']} r{row['repeat']} in {row['step']} of {row['setup']}"
            for row in unread.sort("setup", "step_id", "dbms_position", "repeat").to_dicts()
        ]
        other = "other step" if len(known) else "step"
        said.append(
            f"In {count(len(items), other)} the server's counters were not read both before the first statement "
            f"and after the last one, so they prove nothing: {shortened(items)}."
        )
    others = done.filter(~pl.col("counts_kinds"))["dbms"].unique(maintain_order=True)
    if len(others):
        said.append(
            f"{joined(others.to_list())}: the server does not count statements by kind, so it proves none of those "
            "that the outcomes of operations explain."
        )
    return said


def _size(row: dict[str, Any]) -> str:
    numbers = row["requesters"] or []
    requesters = f"{joined([str(number) for number in numbers])} {'requester' if numbers == [1] else 'requesters'}"
    tables, statements = row["tables"], row["statements"]
    alike = [f"tables and statements of {tables}"] if tables else ["those of the original LinkBench"]
    facts = [
        *(alike if tables == statements else [f"tables of {tables}", f"statements of {statements}"]),
        *([count(row["partitions"], "partition") if row["partitions"] else "no partitions"] if tables else []),
        f"{row['rate']:,g} operations/s" if row["rate"] else "as fast as possible",
    ]
    graph = "a graph of unknown size"
    if row["nodes"] and row["links"]:
        tail = f" (degree_tail {row['degree_tail']})" if row["degree_tail"] else ""
        graph = f"{count(row['nodes'], 'node')} and {count(row['links'], 'link')} after the load{tail}"
    return (
        f"{row['setup']}: {graph}; {requesters} in up to "
        f"{count(row['clients'], 'process', 'processes')} ({', '.join(facts)})."
    )


def _verdicts(rows: list[dict[str, Any]], checks: pl.DataFrame) -> list[str]:
    held, runs = (sum(int(row[column]) for row in rows) for column in ("complete", "runs"))
    rules = [proven(checks, row["experiment"], row["setup"], row["complete"])[0] for row in rows if row["complete"]]
    figures = [text for rule, text in _PROVEN.items() if rules and all(rule in of_run for of_run in rules)]
    proves = f"passed the checks after each step: {joined(figures)}" if figures else NOT_RECORDED
    return verdict(held, runs, proves)
