"""Sentences on LinkBench: what was run, whether it is consistent, and how much the graph's growth has changed."""

from __future__ import annotations

from statistics import median
from typing import Any

import polars as pl

from ibench_lib.show.frames import by_position, measured
from ibench_lib.show.statements.common import asks, attention, complete, verdict
from ibench_lib.show.wording import count, joined, shortened

_MUCH = 0.1


@asks("linkbench_workload")
def linkbench_statements(linkbench_workload: pl.DataFrame) -> list[str]:
    """The graph and the rules of each setup, and the verdict of the checks."""
    rows = linkbench_workload.to_dicts()
    return [*dict.fromkeys(_size(row) for row in rows), *_verdicts(rows)]


@asks("linkbench_summary")
def drift_statements(linkbench_summary: pl.DataFrame) -> list[str]:
    """The rate of the step control, relative to the step that it repeats."""
    said = []
    done = complete(linkbench_summary)
    for (setup,), rows in done.group_by("setup", maintain_order=True):
        control = rows.filter(pl.col("step") == "control")
        if control.is_empty():
            continue
        first, items, most = f"t{control['requesters'][0]}", [], 0.0
        for name in by_position(rows):
            before = measured(rows, name, first, "ops_per_s")
            after = measured(rows, name, "control", "ops_per_s")
            if before and after:
                change = median(after) / median(before)
                most = max(most, abs(change - 1))
                items.append(f"{change:.2f} with {name}")
        if items:
            text = f"{setup}: when {first} was repeated at the end, its rate relative to the first time was"
            text += f" {shortened(items)}."
            said.append(attention(text) if most > _MUCH else text)
    return said


def _size(row: dict[str, Any]) -> str:
    numbers = row["requesters"] or []
    requesters = f"{joined([str(number) for number in numbers])} {'requester' if numbers == [1] else 'requesters'}"
    facts = [
        f"tables of {row['tables']}",
        f"statements of {row['statements']}",
        count(row["partitions"], "partition") if row["partitions"] else "no partitions",
        f"{row['rate']:,g} operations/s" if row["rate"] else "as fast as possible",
    ]
    return (
        f"{row['setup']}: {count(row['nodes'], 'node')} and {count(row['links'], 'link')} after the load "
        f"(degree_tail {row['degree_tail']}); {requesters} in up to "
        f"{count(row['clients'], 'process', 'processes')} ({', '.join(facts)})."
    )


def _verdicts(rows: list[dict[str, Any]]) -> list[str]:
    held, runs = (sum(int(row[column]) for row in rows) for column in ("complete", "runs"))
    proves = (
        "passed the checks after each step: rows and links shown are what the acknowledged operations leave, and the "
        "counts of the checked nodes equal their links"
    )
    return verdict(held, runs, proves)
