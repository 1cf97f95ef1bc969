"""Logs of tpcc-mysql whose figures can be added up in the head."""

from __future__ import annotations

from collections.abc import Sequence

SECRETS = (b"db7.example", b"alice", b"hunter2", b"my.sock", b"secretdb")
NEW_ORDERS = (100, 110, 120, 90)


def line(end_s: int, new_orders: int, *, old: bool = False) -> str:
    """A line of an interval: as many payments as new orders, and a tenth of each other type."""
    few = new_orders // 10
    if old:
        return f"{end_s:4d}, {new_orders}(3):0.12|0.45, {new_orders}(0):0.05, {few}(0):0.01, {few}(0):0.2, {few}(1):0.3"
    return (
        f"{end_s:4d}, trx: {new_orders}, 95%: 5.224, 99%: 7.076, max_rt: 17.592, {new_orders}|7.066, {few}|1.104, "
        f"{few}|14.565, {few}|26.283"
    )


def log(
    new_orders: Sequence[int] = NEW_ORDERS,
    *,
    warehouses: int = 2,
    connections: int = 4,
    every: int = 1,
    measure: int | None = None,
    late: int = 7,
    rest: int = 0,
    old: bool = False,
    printed_sums: bool = True,
) -> str:
    """A log. Its totals are the sums of its lines, and `rest` payments more."""
    total = sum(new_orders)
    few = sum(one // 10 for one in new_orders)
    sums = [(total, late), (total + rest, 0), (few, 0), (few, 0), (few, 1)]
    seconds = measure or every * len(new_orders)
    totals = [f"[{n}] sc:{done - some} lt:{some}  rt:{n} fl:0" for n, (done, some) in enumerate(sums)]
    lines = [
        "# ./tpcc_start -h db7.example.com -d secretdb -u alice -p hunter2 -S /home/alice/my.sock",
        "***************************************",
        "*** ###easy### TPC-C Load Generator ***",
        "***************************************",
        "option h with value 'db7.example.com'",
        "option S (socket) with value '/home/alice/my.sock'",
        "option p with value 'hunter2'",
        f"option i with value '{every}'",
        "<Parameters>",
        "     [server]: db7.example.com",
        "     [port]: 3306",
        "     [DBname]: secretdb",
        "       [user]: alice",
        "       [pass]: hunter2",
        f"  [warehouse]: {warehouses}",
        f" [connection]: {connections}",
        "     [rampup]: 10 (sec.)",
        f"    [measure]: {seconds} (sec.)",
        "",
        "RAMP-UP TIME.(10 sec.)",
        "",
        "MEASURING START.",
        "",
        *(line((number + 1) * every, one, old=old) for number, one in enumerate(new_orders)),
        "",
        "STOPPING THREADS....",
        "",
        "<Raw Results>",
        *(f"  {one} avg_rt: 2.3 (5)" for one in totals),
        f" in {seconds} sec.",
        "",
        *(["<Raw Results2(sum ver.)>", *(f"  {one} " for one in totals), ""] if printed_sums else []),
        "<Constraint Check> (all must be [OK])",
        " [transaction percentage]",
        "        Payment: 43.48% (>=43.0%) [OK]",
        " [response time (at least 90% passed)]",
        "      New-Order: 98.49%  [OK]",
        "",
        "<TpmC>",
        f"                 {60 * total / seconds:.3f} TpmC",
    ]
    return "\n".join(lines) + "\n"
