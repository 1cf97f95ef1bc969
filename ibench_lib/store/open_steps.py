"""Steps whose end nobody recorded: what is known of them up to now, from the seconds that were captured."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from ibench_lib.schema import STEPS, WORKERS
from ibench_lib.store.sealing import in_order

_COUNTS = ("ops", "rows", "errors", "retries", "unknown")


def close_open_steps(tables: Mapping[str, pa.Table], status: str) -> dict[str, pa.Table]:
    """The tables with each row of `steps` and `workers` that says running updated to its last captured second.

    `status` is what such a step and its workers become. With any status but running, the operation that each worker
    had in flight counts as unknown.
    """
    closed = dict(tables)
    seconds = _seconds(tables["ops"]) if "ops" in tables else {}
    for table in (STEPS, WORKERS):
        if table.name in tables:
            rows = in_order(table, tables[table.name]).to_pylist()
            closed[table.name] = pa.Table.from_pylist(
                [_closed(row, table.name, seconds, status) if row["status"] == "running" else row for row in rows],
                schema=table.arrow_schema,
            )
    return closed


def _closed(row: dict[str, Any], table: str, seconds: dict[int, list[dict[str, Any]]], status: str) -> dict[str, Any]:
    mine = seconds.get(row["step_id"], [])
    if table == WORKERS.name:
        mine = [second for second in mine if second["worker"] == row["worker"]]
        sums = {name: _sum([second[name] for second in mine]) for name in _COUNTS}
        if sums["unknown"] is not None:
            sums["unknown"] += status != "running"
        row = {**row, **sums}
    end_s = row["start_s"] + max((second["last"] + 1 for second in mine), default=0)
    row = {**row, "status": status, "end_s": end_s}
    return {**row, "duration_s": end_s - row["start_s"]} if table == STEPS.name else row


def _sum(counts: list[int | None]) -> int | None:
    """Their sum; None if one of them is not known, as those that a driven program does not print."""
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None


def _seconds(ops: pa.Table) -> dict[int, list[dict[str, Any]]]:
    """Per step: one row per worker with its last second and the sums of its counts."""
    wanted = [("second", "max"), *((name, "sum") for name in _COUNTS)]
    summed = ops.group_by(["step_id", "worker"]).aggregate(wanted)
    seconds: dict[int, list[dict[str, Any]]] = {}
    for row in summed.to_pylist():
        counts = {name: row[f"{name}_sum"] for name in _COUNTS}
        seconds.setdefault(row["step_id"], []).append({"worker": row["worker"], "last": row["second_max"], **counts})
    return seconds
