"""Tables that are worked out from others when a run is sealed."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from ibench_lib.schema import RESPONSE_TIMES


def response_times(ops: pa.Table) -> pa.Table:
    """The rows of `response_times` for rows of `ops`: histograms of all seconds added up, largest response times."""
    merged: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in ops.to_pylist():
        for timing in ("service", "intended"):
            bins, counts, largest = row[f"{timing}_bins"], row[f"{timing}_counts"], row[f"{timing}_max_us"]
            if bins is None:
                continue
            where = {name: row[name] for name in ("run_id", "step_id", "step", "client", "worker", "operation")}
            found = merged.setdefault((*where.values(), timing), {**where, "timing": timing, "n": {}, "max_us": None})
            for number, count in zip(bins, counts, strict=True):
                found["n"][number] = found["n"].get(number, 0) + count
            if largest is not None:
                found["max_us"] = max(largest, found["max_us"] or 0.0)
    rows = []
    for row in merged.values():
        n = row.pop("n")
        bins = sorted(n)
        counts = [n[number] for number in bins]
        rows.append({**row, "responses": sum(counts), "bins": bins, "counts": counts})
    return pa.Table.from_pylist(rows, schema=RESPONSE_TIMES.arrow_schema)
