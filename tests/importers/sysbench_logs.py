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
    """A log of 1.0, or of 1.1 with its other words. Its total is the sum of its lines and `rest`.

    `form` is that of its intervals: text, csv or json.
    """
    total = sum(tps) * every + rest
    as_lines = [line((n + 1) * every, rate, threads, errors=errors * (n == 1), form=form) for n, rate in enumerate(tps)]
    intervals = [json_alone(tps, every).rstrip("\n")] if form == "json" else as_lines
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
        *intervals,
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


OLD_COMMAND = (
    "# sysbench --test=/home/alice/tests/db/oltp.lua --mysql-host=db7.example.com --mysql-user=alice "
    "--mysql-password=hunter2 --oltp-tables-count=4 --oltp_table_size=1000 --oltp-range-size=50 --num-threads=4 "
    "--max-time=3 --max-requests=0 run"
)


def old_log(
    tps: Sequence[int] = (100, 110, 120),
    *,
    rest: int = 5,
    command: str = OLD_COMMAND,
    first: bool = False,
    commits: bool = True,
    version: str = "0.5",
    every: int = 1,
) -> str:
    """A log of 0.5, or of its first builds. Each transaction has 2 reads, 3 writes and 1 other statement.

    Without commits, each event is one read.
    """
    total = sum(tps) * every + rest
    per, other = (2, 1) if commits else (1, 0)
    writes = 3 if commits else 0
    each = "/s" if first else ""
    ends = "" if first else ", errors: {}.00, reconnects:  0.00"
    lines = [
        command,
        f"sysbench {version}:  multi-threaded system evaluation benchmark",
        "",
        "Running the test with following options:",
        "Number of threads: 4",
        *([f"Report intermediate results every {every} second(s)"] if tps else []),
        "Random number generator seed is 0 and will be ignored",
        "",
        "",
        "Initializing worker threads...",
        "",
        "Threads started!",
        "",
        *(
            f"[{(n + 1) * every:4d}s] threads: 4, tps: {commits * rate}.00, reads{each}: {per * rate}.00, "
            f"writes{each}: {writes * rate}.00, response time: 12.30ms (95%)" + ends.format(2 * (n == 1))
            for n, rate in enumerate(tps)
        ),
        "OLTP test statistics:",
        "    queries performed:",
        f"        read:                            {per * total}",
        f"        write:                           {writes * total}",
        f"        other:                           {other * total}",
        f"        total:                           {(per + writes + other) * total}",
        f"    transactions:                        {commits * total:<6d} (111.63 per sec.)",
        *(["    deadlocks:                           2      (0.67 per sec.)"] if first else []),
        f"    read/write requests:                 {(per + writes) * total:<6d} (558.13 per sec.)",
        f"    other operations:                    {other * total:<6d} (111.63 per sec.)",
        *(
            []
            if first
            else [
                "    ignored errors:                      2      (0.67 per sec.)",
                "    reconnects:                          0      (0.00 per sec.)",
            ]
        ),
        "",
        "General statistics:",
        f"    total time:                          {max(3, len(tps) * every)}.0011s",
        f"    total number of events:              {total}",
        "    total time taken by event execution: 11.9900s",
        "    response time:",
        "         min:                                  2.84ms",
        "         avg:                                  8.74ms",
        "         max:                                319.46ms",
        "         approx.  95 percentile:              12.30ms",
        "",
        "Threads fairness:",
        "    events (avg/stddev):           83.7500/1.20",
        "    execution time (avg/stddev):   2.9975/0.01",
        "",
    ]
    return "\n".join(lines) + "\n"


def json_interval(second: int, tps: int, threads: int = 4) -> str:
    """An object of an interval, as sysbench prints it: its end of the line belongs to the next one."""
    return (
        f'  {{\n    "time": {second:4d},\n    "threads": {threads},\n    "tps": {tps}.00,\n    "qps": {{\n'
        f'      "total": {6 * tps}.00,\n      "reads": {2 * tps}.00,\n      "writes": {3 * tps}.00,\n'
        f'      "other": {tps}.00\n    }},\n    "latency": 12.30,\n    "errors": 0.00,\n    "reconnects": 0.00\n  }}'
    )


def json_alone(tps: Sequence[int] = (100, 110, 120), every: int = 1) -> str:
    """A file of JSON without a log."""
    return "[\n" + ",\n".join(json_interval((n + 1) * every, rate) for n, rate in enumerate(tps)) + "\n]\n"
