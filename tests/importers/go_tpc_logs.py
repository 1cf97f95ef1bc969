"""Logs of go-tpc whose figures can be added up in the head, in each of its three forms."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

SECRETS = (b"db7.example", b"alice", b"hunter2", b"secretdb")
NEW_ORDERS = (100, 110, 120, 90)
COMMAND = "# bin/go-tpc tpcc -H db7.example.com -U alice -p hunter2 -D secretdb --warehouses 2 -T 4 --interval 1s run"
ROUNDED = "Avg(ms): 8.9, 50th(ms): 8.4, 90th(ms): 10.5, 95th(ms): 12.6, 99th(ms): 16.8, 99.9th(ms): 33.6, Max(ms): 41.9"


def counts_of(new_orders: int, errors: int = 0) -> dict[str, int]:
    """As many payments as new orders, and a tenth of each other type."""
    few = new_orders // 10
    counts = {"DELIVERY": few, "NEW_ORDER": new_orders, "NEW_ORDER_ERR": errors, "ORDER_STATUS": few}
    return {name: done for name, done in {**counts, "PAYMENT": new_orders, "STOCK_LEVEL": few}.items() if done}


def rendered(prefix: str, counts: Mapping[str, int], takes_s: float, form: str) -> list[str]:
    """The lines of an interval, or of a summary."""
    rows = [
        {
            "Prefix": f"[{prefix}] ",
            "Operation": name,
            "Takes(s)": f"{takes_s:.1f}",
            "Count": f"{done}",
            "TPM": f"{60 * done / takes_s:.1f}",
            "Sum(ms)": f"{9 * done:.1f}",
            **dict(cell.split(": ") for cell in ROUNDED.split(", ")),
        }
        for name, done in counts.items()
    ]
    return _in_form(rows, form) if form != "plain" else [
        f"[{prefix}] {row['Operation']:<6s} - " + ", ".join(f"{name}: {text}" for name, text in list(row.items())[2:])
        for row in rows
    ]  # fmt: skip


def _in_form(rows: Sequence[Mapping[str, str]], form: str) -> list[str]:
    if form == "json":
        return [json.dumps(rows, sort_keys=True, separators=(",", ":"))]
    border = "+" + "-----------+" * len(rows[0])
    header = f"| {' | '.join(name.upper() for name in rows[0])} |"
    return [border, header, border, *(f"| {' | '.join(row.values())} |" for row in rows), border]


def log(
    new_orders: Sequence[int] = NEW_ORDERS,
    *,
    form: str = "plain",
    every: int = 1,
    rest: int = 5,
    errors: int = 2,
    command: str | None = COMMAND,
) -> str:
    """A log. Its summary has the sums of its intervals and `rest` payments more, its second interval the errors."""
    intervals = [counts_of(one, errors * (number == 1)) for number, one in enumerate(new_orders)]
    lines = ["maxprocs: Leaving GOMAXPROCS=8: CPU quota undefined"]
    lines += [command.replace("--interval 1s", f"--interval {every}s")] if command else []
    for one in intervals:
        lines += rendered("Current", one, float(every), form)
    seconds = every * len(new_orders) + 0.2
    sums = {name: sum(one.get(name, 0) for one in intervals) for name in counts_of(100, errors)}
    sums["PAYMENT"] += rest
    tpmc, total = (60 * done / seconds for done in (sums["NEW_ORDER"], sum(sums.values()) - errors))
    figures = {"tpmC": f"{tpmc:.1f}", "tpmTotal": f"{total:.1f}", "efficiency": "97.3%"}
    lines += ["Finished", *rendered("Summary", sums, seconds, form)]
    lines += (
        [", ".join(f"{name}: {text}" for name, text in figures.items())]
        if form == "plain"
        else _in_form([figures], form)
    )
    return "\n".join(lines) + "\n"
