"""Logs and CSV files of the original LinkBench whose figures can be added up in the head."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

SECRETS = (b"db7.example", b"alice", b"hunter2", b"secretdb")
OPERATIONS = (
    *("MULTIGET_LINK", "GET_LINKS_LIST", "COUNT_LINK", "UPDATE_LINK", "ADD_LINK", "RANGE_SIZE"),
    *("ADD_NODE", "UPDATE_NODE", "DELETE_NODE", "GET_NODE"),
)
COUNTS = ((100, 110, 120, 90), (200, 210, 220, 190))
"""Lists of each second, of each thread."""
DELETED = 7
"""Requests of each thread to delete a link: no interval has them."""
_COMMAND = (
    "# java -cp classes com.facebook.LinkBench.LinkBenchDriver -c /home/alice/my.properties -Dhost=db7.example.com "
    "-Duser=alice -Dpassword=hunter2 -Ddbid=secretdb -r"
)
_RANGES = "  ".join(f"p{one} = [0.1,0.2]ms" for one in (25, 50, 75, 95, 99))
_START_S = 3 * 3600
_HEAD = (
    "threadID,timestamp,op,totalops,totalerrors,ops,sampleDuration_us,sampleOps,mean_us,min_us,p25_us,p50_us,p75_us,"
    "p90_us,p95_us,p99_us,max_us"
)


def said(at_ms: int, text: str, thread: str = "main") -> str:
    """A line of a log, `at_ms` after it began."""
    s, ms = divmod(at_ms, 1000)
    s += _START_S
    return f"INFO 2026-11-21 {s // 3600:02d}:{s // 60 % 60:02d}:{s % 60:02d},{ms:03d} [{thread}]: {text}"


def done(operation: str, number: int) -> int:
    """Operations of an interval of which lists are `number`."""
    return number if operation in ("GET_LINKS_LIST", "RANGE_SIZE") else number // 10


def intervals(counts: Sequence[int], every_ms: int = 1000) -> Iterator[tuple[int, str, int, int]]:
    """Each line of a thread's intervals: milliseconds since its start, operation, total, operations."""
    totals = dict.fromkeys(OPERATIONS, 0)
    for number, count in enumerate(counts, start=1):
        for operation in OPERATIONS:
            totals[operation] += done(operation, count)
            yield number * every_ms, operation, totals[operation], done(operation, count)


def requests_of(counts: Sequence[int]) -> int:
    """Requests of a thread."""
    served = [operation for operation in OPERATIONS if operation != "RANGE_SIZE"]
    return sum(done(operation, one) for one in counts for operation in served) + DELETED


def request_log(counts: Sequence[Sequence[int]] = COUNTS, *, every_ms: int = 1000, whole: bool = True) -> str:
    """A log of requests after a warm-up of 2 s. Each thread begins 100 ms after the one before it."""
    lines = [
        _COMMAND,
        said(0, "Config file: /home/alice/my.properties"),
        said(1, "Workload config file: /home/alice/FBWorkload.properties"),
        said(2, "Skipping load data per the cmdline arg"),
        said(3, "Using random seed 17 since request_random_seed not specified"),
    ]
    threads = range(len(counts))
    for number in threads:
        name = f"Thread-{number}"
        lines.append(said(10, f"Requester thread #{number} started: will do 1000 ops after 2 second warmup", name))
    for number in threads:
        text = f"Requester #{number} warmup finished  after 50 warmup requests.  0/1000 requests done"
        lines.append(said(2000 + 100 * number, text, f"Thread-{number}"))
    for number in threads:
        start, name = 2000 + 100 * number, f"Thread-{number}"
        for at_ms, operation, total, ops in intervals(counts[number], every_ms):
            sampled = "mean = 12.5 min = 1 25% = 2 50% = 3 75% = 4 90% = 5 95% = 6 99% = 7 max = 8" if ops else ""
            lines.append(
                said(
                    start + at_ms,
                    f"ThreadID = {number} {operation} totalOps = {total} totalErrors = 0 ops = {ops} "
                    f"sampleDuration = {every_ms}ms samples = {ops} {sampled}".rstrip(),
                    name,
                )
            )
        so_far = f"Requester #{number} {requests_of(counts[number]) - 1}/1000 requests done"
        lines.append(said(start + len(counts[number]) * every_ms, so_far, name))
    if whole:
        for number in threads:
            end, name = 2000 + 100 * number + len(counts[number]) * every_ms, f"Thread-{number}"
            lines.append(said(end, f"Requester #{number}: time limit of 4s elapsed, shutting down.", name))
            total = requests_of(counts[number])
            text = f"ThreadID = {number} total requests = {total} requests/second = 1 found = 2 not found = 1"
            lines.append(said(end + 5, text, name))
        for operation, total in totals(counts).items():
            lines.append(said(9000, f"{operation} count = {total}  {_RANGES}  max = 5.474ms  mean = 0.111ms"))
        total = sum(map(requests_of, counts))
        lines.append(said(9000, f"REQUEST PHASE COMPLETED. {total} requests done in 5 seconds. Requests/second = 2"))
    return "\n".join(lines) + "\n"


def totals(counts: Sequence[Sequence[int]]) -> dict[str, int]:
    """What the statistics have."""
    found = {
        operation: sum(done(operation, one) for each in counts for one in each)
        for operation in OPERATIONS
        if operation != "RANGE_SIZE"
    }
    return {**found, "DELETE_LINK": DELETED * len(counts)}


def stream_csv(counts: Sequence[Sequence[int]] = COUNTS, every_ms: int = 1000) -> str:
    """The file of `-csvstream`: each thread writes the lines of an interval at once."""
    lines = [_HEAD]
    for number in range(max(map(len, counts))):
        for thread, each in enumerate(counts):
            rows = list(intervals(each, every_ms))[number * len(OPERATIONS) : (number + 1) * len(OPERATIONS)]
            for at_ms, operation, total, ops in rows:
                sampled = "12.5,1,2,3,4,5,6,7,8" if ops else ",,,,,,,,"
                at = 1_795_230_002 + at_ms // 1000
                lines.append(f"{thread},{at},{operation},{total},0,{ops},{every_ms},{ops},{sampled}")
    return "\n".join(lines) + "\n"


def stats_csv(counts: Sequence[Sequence[int]] = COUNTS) -> str:
    """The file of `-csvstats`."""
    lines = ["op,count,p25_low,p25_high,p50_low,p50_high,p75_low,p75_high,p95_low,p95_high,p99_low,p99_high,max,mean"]
    lines += [
        f"{name},{total},0,0.1,0.1,0.2,0.1,0.2,0.1,0.2,0.2,0.3,5.47,0.11" for name, total in totals(counts).items()
    ]
    return "\n".join(lines) + "\n"


def load_log(*, counts_mean: str = "100") -> str:
    """A log of a load of 1,000 nodes with 10 links each, in 8 s. It has 50 times `counts_mean` rows of counttable."""
    sampled = "min = 1 25% = 2 50% = 3 75% = 4 90% = 5 95% = 6 99% = 7 max = 8"
    interval = "totalErrors = 0 ops = {0} sampleDuration = 8000ms samples = {0}"
    lines = [
        _COMMAND.replace("-r", "-l"),
        said(0, "Config file: /home/alice/my.properties"),
        said(4, "Starting loaders 1"),
        said(400, "Will generate graph nodes during loading"),
        said(500, "Starting loader thread  #1 loading nodes", "Thread-1"),
        said(900, "Starting loader thread  #0 loading links", "Thread-0"),
        said(1000, "512/1000 id1s loaded (51.2% complete) at 5574.96 id1s/sec avg. 5120 links loaded", "Thread-0"),
        said(1200, f"ThreadID = 1 LOAD_NODE_BULK totalOps = 2 {interval.format(2)} mean = 1.5 {sampled}", "Thread-1"),
        said(8400, f"ThreadID = 0 LOAD_LINKS_BULK totalOps = 10 {interval.format(10)} mean = 9 {sampled}", "Thread-0"),
        said(
            8500,
            f"ThreadID = 0 LOAD_COUNTS_BULK_NLINKS totalOps = 50 {interval.format(50)} mean = {counts_mean} {sampled}",
            "Thread-0",
        ),
        said(8590, f"LOAD_NODE_BULK count = 2  {_RANGES}  max = 5.474ms  mean = 0.111ms"),
        said(8590, f"LOAD_LINKS_BULK count = 10  {_RANGES}  max = 5.474ms  mean = 0.111ms"),
        said(8590, f"LOAD_COUNTS_BULK count = 50  {_RANGES}  max = 5.474ms  mean = 0.111ms"),
        said(
            8600,
            "LOAD PHASE COMPLETED.  Loaded 1000 nodes (Expected 1000). Loaded 10000 links (10.00 links per node).  "
            "Took 8.1 seconds.  Links/second = 1234",
        ),
        said(8600, "Skipping request phase per the cmdline arg"),
    ]
    return "\n".join(lines) + "\n"
