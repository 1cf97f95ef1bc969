"""Logs of sysbench whose figures can be added up in the head."""

from __future__ import annotations

from collections.abc import Sequence

COMMAND = (
    "# sysbench oltp_read_write --mysql-host=db7.example.com --mysql-user=alice --mysql-password=hunter2 "
    "--mysql-socket=/home/alice/my.sock --tables=4 --table-size=1000 --range-size=50 --threads=4 --time=3 run"
)
SECRETS = (b"db7.example", b"alice", b"hunter2", b"my.sock")


def line(second: int, tps: int, threads: int = 4, *, errors: int = 0, form: str = "text") -> str:
    """A line of an interval: each transaction has 2 reads, 3 writes and 1 other statement."""
    if form == "csv":
        return f"{second},{threads},{tps}.00,{6 * tps}.00,{2 * tps}.00,{3 * tps}.00,{tps}.00,12.30,{errors}.00,0.00"
    return (
        f"[ {second}s ] thds: {threads} tps: {tps}.00 qps: {6 * tps}.00 (r/w/o: {2 * tps}.00/{3 * tps}.00/{tps}.00) "
        f"lat (ms,95%): 12.30 err/s: {errors}.00 reconn/s: 0.00"
    )


def log(
    tps: Sequence[int] = (100, 110, 120),
    *,
    rest: int = 5,
    seconds: str = "3.0011",
    threads: int = 4,
    every: int = 1,
    errors: int = 2,
    command: str | None = COMMAND,
    form: str = "text",
    version: str = "1.0.20",
) -> str:
    """A log of 1.0, or of 1.1 with its other words. Its total is the sum of its lines and `rest`."""
    total = sum(tps) * every + rest
    lines = [
        *([command] if command else []),
        f"sysbench {version} (using system LuaJIT 2.1.0-beta3)",
        "",
        "Running the test with following options:",
        f"Number of threads: {threads}",
        f"Report intermediate results every {every} second(s)",
        "Initializing random number generator from current time",
        "",
        "",
        "Initializing worker threads...",
        "",
        "Threads started!",
        "",
        *(line((n + 1) * every, rate, threads, errors=errors * (n == 1), form=form) for n, rate in enumerate(tps)),
        "SQL statistics:",
        "    queries performed:",
        f"        read:                            {2 * total}",
        f"        write:                           {3 * total}",
        f"        other:                           {total}",
        f"        total:                           {6 * total}",
        f"    transactions:                        {total}    (111.63 per sec.)",
        f"    queries:                             {6 * total}   (669.75 per sec.)",
        f"    ignored errors:                      {errors}      (0.67 per sec.)",
        "    reconnects:                          0      (0.00 per sec.)",
        "",
    ]
    if version.startswith("1.1"):
        lines += ["Throughput:", "    events/s (eps):                      111.6257", f"    time elapsed:   {seconds}s"]
    else:
        lines += ["General statistics:", f"    total time:                          {seconds}s"]
    lines += [
        f"    total number of events:              {total}",
        "",
        "Latency (ms):",
        "         min:                                    2.84",
        "         avg:                                    8.74",
        "         max:                                  319.46",
        "         95th percentile:                       12.30",
        "         sum:                                11990.00",
        "",
        "Threads fairness:",
        "    events (avg/stddev):           83.7500/1.20",
        "    execution time (avg/stddev):   2.9975/0.01",
        "",
    ]
    return "\n".join(lines) + "\n"
