"""Imports the logs of sysbench 0.4 to 1.1: what it prints of each interval, and its totals at the end.

A log becomes a step, called after its test and its number of threads (oltp_read_write.t4), as where ibench drives
sysbench. Logs of one setup and dbms make one run, its steps in the order of their threads; a further log of the same
step is of its next repeat. A file may have several logs, and any size.

sysbench prints rates of its intervals, not counts. A line that stands for one second becomes that second: its rates,
rounded. The totals are exact. What they have beyond the seconds, by rounding, in lines that are missing and after the
last line, is the last part of the step: it has no rate. Lines of longer intervals become intervals with their rates.
The totals add none: rates are rounded, so what is left of a total is not exactly what the last interval had.

Intervals are lines of text or CSV, or objects of JSON; a file of JSON alone has no totals. sysbench 0.5 has other
words and no rate of other statements. It counts a transaction by its COMMIT, so a script without any has events only.

Files next to a log give what else is known of its step: the samples of iostat, vmstat, mpstat and dstat become costs,
an option file the options of the server, a table of its metrics its counters. Logs of other buffer pools or with other
parameters are no repeats.

Of the command line, only options of the test itself and numbers are kept: no user, password, host or path.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from ibench_lib.base.later import later
from ibench_lib.base.wording import count
from ibench_lib.errors import UsageError
from ibench_lib.importers.host_means import HostMeans, log_of, sidecar_of
from ibench_lib.importers.importer import Columns, ImportedRun, ImportedStep, ImportRequest, Remark, Row, nothing_used
from ibench_lib.importers.layout import NO_DBMS, dbms_of, server_of, size_of
from ibench_lib.importers.lines import LineBlocks, refusal
from ibench_lib.importers.option_files import kept_options
from ibench_lib.importers.server_readings import (
    FIRST_READING,
    Readings,
    ReadingsOfStep,
    StepsOf,
    misfit,
    missing_figures,
    read_readings,
)
from ibench_lib.importers.source import File, Source
from ibench_lib.workloads.workload import Workload, find

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
else:
    np, pa = later("numpy"), later("pyarrow")

Numbers: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"

_RATE = r"(\d{1,12}\.\d\d)"
_COUNT = r"(\d{1,15})"
_PER_S = rf" +\({_RATE} per sec\.\)"
_VERSION = re.compile(r"sysbench (\d+\.\d+[\w.-]{0,40})(?:[ :].*)?", re.ASCII)
_BEGINS = "Running the test with following options:"
_ANY_RATE = r"\d{1,12}\.\d\d"
# Both have these groups: the end of the interval, threads, and rates in the order of _RATES.
_TEXT = re.compile(
    rf"\[ *(-?\d{{1,9}})s \] thds: (\d{{1,6}}) tps: {_RATE} qps: {_ANY_RATE} \(r/w/o: {_RATE}/{_RATE}/{_RATE}\) "
    rf"lat \(ms,\d{{1,3}}%\): {_ANY_RATE} err/s:? {_RATE} reconn/s: {_RATE}",
    re.ASCII,
)
_CSV = re.compile(
    rf"(\d{{1,9}}),(\d{{1,6}}),{_RATE},{_ANY_RATE},{_RATE},{_RATE},{_RATE},{_ANY_RATE},{_RATE},{_RATE}", re.ASCII
)
# What 0.5 prints: no rate of others, and in its first builds neither errors nor reconnects.
_OLD_TEXT = re.compile(
    rf"\[ *(-?\d{{1,9}})s\] threads: (\d{{1,6}}), tps: {_RATE}, reads(?:/s)?: {_RATE}, writes(?:/s)?: {_RATE}, "
    rf"response time: {_ANY_RATE}ms \(\d{{1,3}}%\)(?:, errors: {_RATE}, reconnects: +{_RATE})?",
    re.ASCII,
)
# The lines of an object of JSON, in their order, without its brackets.
_JSON = [
    re.compile(line, re.ASCII)
    for line in (
        r'"time": +(\d{1,9}),', r'"threads": (\d{1,6}),', rf'"tps": {_RATE},', r'"qps": \{',
        rf'"total": {_ANY_RATE},', rf'"reads": {_RATE},', rf'"writes": {_RATE},', rf'"other": {_RATE},?', r"\},",
        rf'"latency": {_ANY_RATE},', rf'"errors": {_RATE},', rf'"reconnects": {_RATE}',
    )
]  # fmt: skip
_BEGINS_JSON = re.compile(r'\s*(?:\[\s*)?\{\s*"time": +\d{1,9},\s*"threads": \d{1,6},\s*"tps": ', re.ASCII)
_RATES = ("transaction", "read", "write", "other", "ignored_errors", "reconnects")
_GROUPS = 2 + len(_RATES)
_HEADER = {
    "threads": re.compile(r"Number of threads: (\d{1,6})", re.ASCII),
    "interval": re.compile(r"Report intermediate results every (\d{1,9}) second\(s\)", re.ASCII),
    "rate": re.compile(r"Target transaction rate: (\d{1,9})/sec", re.ASCII),
    "warmup": re.compile(r"Warmup time: (\d{1,9})s", re.ASCII),
}
_TOTALS = {
    "read": re.compile(rf"read: +{_COUNT}", re.ASCII),
    "write": re.compile(rf"write: +{_COUNT}", re.ASCII),
    "other": re.compile(rf"other: +{_COUNT}", re.ASCII),
    "total": re.compile(rf"total: +{_COUNT}", re.ASCII),
    "transactions": re.compile(rf"transactions: +{_COUNT}{_PER_S}", re.ASCII),
    "queries": re.compile(rf"queries: +{_COUNT}{_PER_S}", re.ASCII),
    "ignored_errors": re.compile(rf"(?:ignored errors|deadlocks): +{_COUNT}{_PER_S}", re.ASCII),
    "requests": re.compile(rf"read/write requests: +{_COUNT}{_PER_S}", re.ASCII),
    "other_operations": re.compile(rf"other operations: +{_COUNT}{_PER_S}", re.ASCII),
    "reconnects": re.compile(rf"reconnects: +{_COUNT}{_PER_S}", re.ASCII),
    "seconds": re.compile(r"(?:total time|time elapsed): +(\d{1,9}\.\d{4})s", re.ASCII),
    "events_per_s": re.compile(r"events/s \(eps\): +(\d{1,12}\.\d{4})", re.ASCII),
    "events": re.compile(rf"total number of events: +{_COUNT}", re.ASCII),
    "latency_min_ms": re.compile(rf"min: +{_RATE}(?:ms)?", re.ASCII),
    "latency_avg_ms": re.compile(rf"avg: +{_RATE}(?:ms)?", re.ASCII),
    "latency_max_ms": re.compile(rf"max: +{_RATE}(?:ms)?", re.ASCII),
    "latency_sum_ms": re.compile(rf"sum: +{_RATE}", re.ASCII),
}
_PERCENTILE = re.compile(rf"(?:approx\. +)?(\d{{1,3}})(?:th)? percentile: +{_RATE}(?:ms)?", re.ASCII)
_FAIRNESS = {
    "events_of_a_thread": re.compile(r"events \(avg/stddev\): +(\d{1,15}\.\d{4}/\d{1,15}\.\d\d)", re.ASCII),
    "seconds_of_a_thread": re.compile(r"execution time \(avg/stddev\): +(\d{1,12}\.\d{4}/\d{1,12}\.\d\d)", re.ASCII),
}
_SUM_S = re.compile(r"total time taken by event execution: +(\d{1,12}\.\d{4})s?", re.ASCII)
_PARAMETER = re.compile(r"([a-z_]{1,30}): ?([\w.-]{1,60}) *", re.ASCII)
_OPTION_FILE = re.compile(r"(Tier\d{1,5}G)\.cnf(?:\.txt)?", re.ASCII)
_STATISTICS = {"SQL statistics:", "OLTP test statistics:"}
_BIN = re.compile(r"(\d{1,9}\.\d{3}) \|\** +(\d{1,15})", re.ASCII)
# What sysbench prints with every log, and says nothing of a figure.
_SAYS_NOTHING = re.compile(
    r"Initializing (?:random number generator from (?:current time|timer\.|seed \(\d+\)\.?)|worker threads\.\.\.)"
    r"|Threads started!|Warming up for \d+ seconds\.\.\.|(?:SQL|OLTP test) statistics:|queries performed:"
    r"|General statistics:|Throughput:|Latency \(ms\):|Threads fairness:"
    r"|Latency histogram \(values are in milliseconds\)|value +-+ distribution -+ count"
    r"|Time limit exceeded, exiting\.\.\.|Test execution summary:|(?:per-request statistics|response time):|Done\.|\]"
    r"|Random number generator seed is 0 and will be ignored|Forcing shutdown in \d+ seconds"
    r"|No DB drivers specified, using mysql|Doing (?:OLTP|read-only|write-only) test\.?"
    r"|(?:DB SCHEMA \w+)+|\(last message repeated \d+ times\)"
    r"|Running (?:simple OLTP|mixed OLTP|non-transactional) test|Using (?:Uniform|Normal|Special) distribution.*"
    r"|Using \"[A-Z ]+\" for starting transactions|Skipping BEGIN/COMMIT|(?:Using|Not using) auto_inc on the id column"
    r"|Maximum number of requests for OLTP test is limited to \d+|Using \d+ test tables",
    re.ASCII,
)
# Scripts of 0.4 and 0.5 that do what those of 1.0 do. Options that begin with `oltp-` have lost that word, too.
_OLD_SCRIPTS = {
    "oltp": "oltp_read_write",
    "oltp_simple": "oltp_point_select",
    **{name: f"oltp_{name}" for name in ("delete", "insert", "update_index", "update_non_index")},
}
_OLD_OPTIONS = {
    "max-time": "time",
    "oltp-tables-count": "tables",
    "oltp-table-size": "table-size",
    "oltp-dist-type": "rand-type",
}
_SETTINGS = {
    "tables": r"[1-9]\d{0,5}",
    "table-size": r"[1-9]\d{0,10}",
    "time": r"[1-9]\d{0,8}",
    "rand-type": r"[a-z]{1,20}",
    "db-ps-mode": r"auto|disable",
}
_OF_TESTS = {
    *("point-selects", "simple-ranges", "sum-ranges", "order-ranges", "distinct-ranges", "range-size"),
    *("range-selects", "index-updates", "non-index-updates", "delete-inserts", "skip-trx", "auto-inc", "secondary"),
    *("random-points", "random-ranges", "delta", "reconnect", "scale", "use-fk", "trx-level"),
}
_TPCC = "tpcc"
"""The test of sysbench-tpcc."""
_READS = ("oltp_point_select", "oltp_read_only", "select_random_points", "select_random_ranges")
_OPERATIONS = {"transaction": "transactions", "read": "read", "write": "write", "other": "other"}
"""Operations that sysbench counts, and what its totals call them."""
_IN_ORDER = sorted(_OPERATIONS)
_QUERIES = ("read", "write", "other")
_MICROBENCHMARK = re.compile(r"sb\.o\.([a-z-]+(?:\.[a-z]+)?)\.range(\d{1,6})\.pk\d+(?:\.dop\d+)?", re.ASCII)
_SHELL = {"|", ">", ">>", "2>", "2>&1", "&", "&>"}
_WORKER: Mapping[str, Any] = {"client": 1, "worker": 0}
_LONGEST_S, _DISAGREES = 1.5, 0.01
_MOST_S = 10_000_000
_METRICS = "innodb"
"""What scripts call a table of the metrics of the server."""
_MOST_PACKED_BYTES = 25_000_000


class _Intervals:
    """The lines of rates of a log: when their intervals ended, in whole seconds of the test, and hundredths of rates.

    Those that do not end later than all before them are not taken; `rejected` has the numbers of their lines. `lacks`
    are rates that some of them do not have.
    """

    def __init__(self) -> None:
        self.threads = 0
        self.rejected: list[int] = []
        self.lacks: set[str] = set()
        self.statements_only = False
        self.numbers: list[int] = []
        self.texts: list[str] = []
        self._blocks: list[tuple[Numbers, Numbers, Numbers]] = []
        self._last_s = 0

    @property
    def begun(self) -> bool:
        """Whether it has a line, taken or not."""
        return bool(self.numbers or self._blocks or self.rejected)

    def take_old(self, number: int, match: re.Match[str]) -> None:
        """Take a line of 0.5."""
        errors, reconnects = match.groups()[-2:]
        self.lacks.update(("other",) if errors else ("other", "ignored_errors", "reconnects"))
        self.numbers.append(number)
        self.texts.extend((*match.groups()[:5], "0", errors or "0", reconnects or "0"))

    def settle(self) -> None:
        """Take the lines in `numbers`, with their groups in `texts`, and empty both."""
        if not self.numbers:
            return
        values = np.fromiter(map(float, self.texts), float, len(self.texts)).reshape(-1, _GROUPS)
        numbers = np.array(self.numbers, np.int64)
        self.texts.clear()
        self.numbers.clear()
        ends = values[:, 0].astype(np.int64)
        # Ends of 0 and less are of the warm-up: understood, and of no second.
        latest = np.maximum.accumulate(np.where(ends <= _MOST_S, ends, 0))
        before = np.maximum(np.concatenate([[0], latest[:-1]]), self._last_s)
        taken = (ends > before) & (ends <= _MOST_S)
        self.rejected += numbers[~taken & (ends > 0)].tolist()
        if taken.any():
            self._last_s = int(ends[taken][-1])
            self.threads = max(self.threads, int(values[taken, 1].max()))
            rates = np.rint(100 * values[taken, 2:]).astype(np.int64)
            small = rates.astype(np.int32) if rates.max() < 1 << 31 else rates
            self._blocks.append((ends[taken].astype(np.int32), numbers[taken].astype(np.int32), small))

    def up_to(self, second: float) -> None:
        """Reject those that end later."""
        blocks, self._blocks = self._blocks, []
        for ends, numbers, rates in blocks:
            keep = ends <= second
            self.rejected += numbers[~keep].tolist()
            if keep.any():
                self._blocks.append((ends[keep], numbers[keep], rates[keep]))

    def forget_lines(self) -> None:
        """Keep no numbers of lines: a folder may have millions."""
        self._blocks = [(ends, np.zeros(0, np.int32), rates) for ends, _, rates in self._blocks]
        self.rejected = []

    def __len__(self) -> int:
        return sum(len(ends) for ends, _, _ in self._blocks)

    @property
    def ends(self) -> Numbers:
        """The end of each, in seconds."""
        return np.concatenate([np.zeros(0, np.int32), *(ends for ends, _, _ in self._blocks)])

    def hundredths(self, name: str) -> Numbers:
        """A hundred times the rate of each; of a script without transactions, each statement is one."""
        if name == "transaction" and self.statements_only:
            return np.asarray(self.hundredths("read").astype(np.int64) + self.hundredths("write"))
        column = _RATES.index(name)
        return np.concatenate([np.zeros(0, np.int64), *(rates[:, column] for _, _, rates in self._blocks)])


class _JsonLines:
    """Reads intervals in JSON, line by line, in the form in which sysbench prints them, which is not always valid JSON.

    `object` has the number of its first line and its groups when a line has ended one. `lost` are lines of an object
    that does not go on as it has to.
    """

    def __init__(self) -> None:
        self.object: tuple[int, list[str]] | None = None
        self.lost: list[int] = []
        self._numbers: list[int] = []
        self._groups: list[str] = []

    def takes(self, number: int, line: str) -> bool:
        """Whether a line is of an object: it begins one, or is its next line or its end."""
        self.object, self.lost = None, []
        at = len(self._numbers) - 1
        if at == len(_JSON) and line in ("}", "},"):
            self.object = self._numbers[0], self._groups
            self._numbers, self._groups = [], []
            return True
        if 0 <= at < len(_JSON) and (match := _JSON[at].fullmatch(line)):
            self._numbers.append(number)
            self._groups.extend(match.groups())
            return True
        self.lose()
        if line == "{":
            self._numbers.append(number)
        return line == "{"

    def lose(self) -> None:
        """Give up the object that has begun."""
        self.lost, self._numbers, self._groups = self._numbers, [], []


@dataclass
class _Command:
    """What is kept of a command line: the script, without folder and ending, and settings of the test."""

    line: int
    script: str
    settings: dict[str, str]
    options: dict[str, int | str]


@dataclass
class _Log:
    """One log. `totals` and `printed` are what it prints at its end; `line` is where it begins.

    `closed`: it has an end without totals, as JSON alone. `metrics` is the file that `readings` are from. `doubtful`:
    its file has lines that were not understood.
    """

    file: str
    path: Path
    line: int
    version: str | None = None
    command: _Command | None = None
    header: dict[str, int] = field(default_factory=dict)
    intervals: _Intervals = field(default_factory=_Intervals)
    totals: dict[str, int] = field(default_factory=dict)
    printed: dict[str, Any] = field(default_factory=dict)
    ended: bool = False
    closed: bool = False
    doubtful: bool = False
    size: str | None = None
    params: dict[str, str] = field(default_factory=dict)
    options: str = ""
    sidecars: HostMeans = field(default_factory=HostMeans)
    metrics: str | None = None
    readings: Readings | None = None

    def remark(self, text: str) -> Remark:
        """Something to say of it, with the file and the line where it begins."""
        return Remark(self.file, self.line, text)

    def refusal(self, what: str, hint: str) -> UsageError:
        """An error that names where it begins."""
        return refusal(self.path, self.line, what, hint)

    @property
    def is_json_alone(self) -> bool:
        """Whether it has neither the first lines of a log nor totals."""
        return self.intervals.begun and self.version is None and not self.header and not self.ended

    @property
    def has_begun(self) -> bool:
        """Whether it has more than its first line."""
        return bool(self.header or self.intervals.begun or self.printed)

    @property
    def threads(self) -> int | None:
        """Threads of the test."""
        return self.header.get("threads") or self.intervals.threads or None

    @property
    def is_whole(self) -> bool:
        """Whether its totals and its time are there."""
        return "transactions" in self.totals and self.printed.get("seconds", 0) > 0

    @property
    def duration_s(self) -> float:
        """T: by its own clock, or to the end of its last line if it has no end."""
        return float(self.printed["seconds"]) if self.is_whole else float(self.last_s)

    @property
    def last_s(self) -> int:
        """The end of its last interval."""
        return int(self.intervals.ends[-1]) if len(self.intervals) else 0

    @property
    def interval_s(self) -> int | None:
        """The length of its intervals; None if it has none, or does not say."""
        if not len(self.intervals):
            return None
        if told := self.header.get("interval"):
            return told
        return int(np.diff(self.intervals.ends).min()) if len(self.intervals) > 1 else None


class SysbenchLogs:
    """The importer of logs of sysbench."""

    name = "sysbench"
    expects = "logs of sysbench 0.4 to 1.1, as it prints them: text, CSV or JSON"

    def recognises(self, file: File) -> str | None:
        """The first lines of a log."""
        if _BEGINS in file.beginning:
            return f"it has {_BEGINS!r}"
        if _BEGINS_JSON.match(file.beginning):
            return "it begins with an interval in JSON"
        match = re.search(r"^sysbench \d+\.\d+.*\(using .*LuaJIT", file.beginning, re.MULTILINE | re.ASCII)
        return "it begins as sysbench does" if match else None

    def runs(self, source: Source, told: ImportRequest) -> Iterator[ImportedRun]:
        """One run for each dbms and repeat, with a step for each log."""
        if told.setup is None:
            raise UsageError(f"{source}: a log does not say of what setup it is", hint="name it with --setup")
        warnings: list[Remark] = []
        named: list[tuple[str, str, _Log]] = []
        sidecars: dict[str, HostMeans] = {}
        metrics = _Metrics()
        params: dict[str, dict[str, str]] = {}
        options: dict[tuple[str, str], str] = {}
        for file in source.in_order:
            if source.many and self.recognises(file) is None:
                if (pair := sidecar_of(file.name, [_METRICS])) is not None and pair[1] == _METRICS:
                    warnings += metrics.add(pair[0], file.name, source.blocks(file))
                elif pair is not None:
                    sidecars.setdefault(pair[0], HostMeans()).add(file.name, pair[1], source.blocks(file))
                folder, _, name = file.name.rpartition("/")
                if name == "params.txt":
                    params[folder] = _read_params(source.blocks(file))
                elif found := _OPTION_FILE.fullmatch(name):
                    options[folder, found[1]] = kept_options(source.blocks(file))
                continue
            for log in _parse(file.name, source.blocks(file)):
                log.size = size_of(source.folders(file.name), file.name)
                if why := _left_out(log):
                    warnings.append(log.remark(f"{why}: this log was left out"))
                    continue
                folders = source.folders(file.name)
                dbms = told.dbms or dbms_of(folders) or server_of(folders, file.name)
                if dbms is None:
                    raise log.refusal(*NO_DBMS)
                test = _test_of(log, told)
                if test is None:
                    warnings.append(log.remark("its script is none of the tests that ibench knows: it was left out"))
                    continue
                if why := _not_of(test, log):
                    warnings.append(log.remark(f"{why}: this log was left out"))
                    continue
                named.append((dbms, test, log))
        _add_sidecars(named, sidecars, metrics, warnings)
        for *_, log in named:
            folder = log.file.rpartition("/")[0]
            log.params = params.get(folder, {})
            log.options = options.get((folder, (log.size or "").partition("_")[0]), "")
        warnings.sort(key=lambda remark: (remark.file, remark.line))
        if warnings and not named:
            raise nothing_used(source, warnings)
        if told.dbms is not None and len({log.size for *_, log in named}) > 1:
            named = [(f"{dbms}_{log.size}" if log.size else dbms, test, log) for dbms, test, log in named]
        for dbms, logs in _steps(named).items():
            for repeat in range(1, 1 + max(map(len, logs.values()))):
                chosen = {step: same[repeat - 1] for step, same in logs.items() if len(same) >= repeat}
                yield _run(told.setup, dbms, repeat, chosen, warnings)
                warnings = []  # the import has them once, however many runs there are


IMPORTER = SysbenchLogs()


def _read_params(blocks: LineBlocks) -> dict[str, str]:
    """What a script has noted of the tests of a folder, to tell repeats from other tests. It is not stored."""
    found: dict[str, str] = {}
    for first, lines in blocks:
        for number, text in enumerate(lines, start=first):
            match = _PARAMETER.fullmatch(text)
            if match and match[1] not in found:
                found[match[1]] = match[2]
            elif text:
                blocks.lost.add([number])
    return {name: value for name, value in found.items() if name != "host"}


class _Metrics:
    """The tables of metrics of an import, by what `log_of` calls their logs: the file and its readings.

    Together they have at most `_MOST_PACKED_BYTES`, for they are in memory until their runs are written.
    """

    def __init__(self) -> None:
        self.tables: dict[str, tuple[str, Readings]] = {}
        self._bytes = 0

    def add(self, log: str, file: str, blocks: LineBlocks) -> list[Remark]:
        """Read a table. What to say if it is not kept."""
        readings = read_readings(blocks)
        if readings is None:
            return [Remark(file, 1, "it has no readings of metrics, or too many of them: it was left out")]
        self._bytes += len(readings.packed)
        if self._bytes > _MOST_PACKED_BYTES:
            return [Remark(file, 1, "there are too many metrics before it: it was left out; import the logs in parts")]
        self.tables[log] = file, readings
        return []


def _add_sidecars(
    named: Sequence[tuple[str, str, _Log]], sidecars: Mapping[str, HostMeans], metrics: _Metrics, warnings: list[Remark]
) -> None:
    """Give each log the samples and metrics next to it. Those of a file with several logs are of none of them."""
    logs: dict[str, list[_Log]] = {}
    for *_, log in named:
        logs.setdefault(log_of(log.file), []).append(log)
    alone = {name: of_file[0] for name, of_file in logs.items() if len(of_file) == 1}
    lonely: list[str] = []
    for name, means in sidecars.items():
        if name in alone:
            alone[name].sidecars = means
        else:
            lonely += means.files
    for name, (file, readings) in metrics.tables.items():
        if name in alone:
            alone[name].metrics, alone[name].readings = file, readings
        else:
            lonely.append(file)
    warnings += [Remark(file, 1, "no single log is called as it is: it was left out") for file in lonely]


def _steps(named: Sequence[tuple[str, str, _Log]]) -> dict[str, dict[str, list[_Log]]]:
    """The logs of each step of each dbms: tests in the order of the files, each with its threads in their order.

    Microbenchmarks are in the order in which their scripts run them.
    """
    in_order = sorted(named, key=lambda one: (one[2].file, one[2].line))
    tests = sorted(dict.fromkeys(test for _, test, _ in in_order), key=_place)
    by_step: dict[str, dict[str, list[_Log]]] = {dbms: {} for dbms, _, _ in in_order}
    for dbms, test, log in sorted(in_order, key=lambda one: (tests.index(one[1]), one[2].threads or 0)):
        same = by_step[dbms].setdefault(f"{test}.t{log.threads}", [])
        _require_same(same, log)
        same.append(log)
    return by_step


def _place(test: str) -> int:
    """The place of a microbenchmark among them; all others are behind them."""
    return _microbenchmarks().get(test, len(_microbenchmarks()))


@lru_cache
def _microbenchmarks() -> dict[str, int]:
    given = {"benchmark": "sysbench", "tests": "microbenchmarks", "threads": [1], "rand_type": "uniform"}
    parsed: Any = _workload().Options.model_validate(given)
    return {one.test: place for place, one in enumerate(parsed.tests)}


def _parse(file: str, blocks: LineBlocks) -> list[_Log]:
    """The logs of a file. Lines that say nothing of a log are lost."""
    logs: list[_Log] = []
    command: _Command | None = None
    log: _Log | None = None
    numbers: list[int] = []
    groups: list[str | Any] = []
    is_text, is_csv, is_old = _TEXT.fullmatch, _CSV.fullmatch, _OLD_TEXT.fullmatch
    json = _JsonLines()
    for first, texts in blocks:
        for number, text in enumerate(texts, start=first):
            if (match := is_text(text) or is_csv(text)) and log is not None and not log.ended:
                numbers.append(number)
                groups.extend(match.groups())
                continue
            line = text.strip()
            if not line:
                continue
            if json.takes(number, line):
                blocks.lost.add(json.lost)
                if json.object is not None:
                    begins, object_groups = json.object
                    if (log is None or log.closed) and object_groups[1] != "0":
                        log = _Log(file, blocks.path, begins)
                        logs.append(log)
                        numbers, groups = log.intervals.numbers, log.intervals.texts
                    if not _take_object(log, begins, object_groups):
                        blocks.lost.add(range(begins, number + 1))
                continue
            blocks.lost.add(json.lost)
            if (old := is_old(line)) and log is not None and not log.ended:
                log.intervals.take_old(number, old)
            elif given := _command(number, line):
                command = given
            elif (version := _VERSION.fullmatch(line)) or line == _BEGINS:
                if log is None or log.has_begun:
                    log = _Log(file, blocks.path, number, None, command)
                    logs.append(log)
                    numbers, groups = log.intervals.numbers, log.intervals.texts
                log.version = version[1] if version else log.version
                log.command, command = command or log.command, None
            elif number == blocks.unterminated and line.split()[-1].isdecimal():
                blocks.lost.add([number])  # a count that may be cut
            elif line == "[":  # before the first interval in JSON
                continue
            elif log is not None and (_SAYS_NOTHING.fullmatch(line) or _take(log, number, line)):
                log.ended |= line in _STATISTICS
                log.closed |= line == "]" and log.is_json_alone
            else:
                blocks.lost.add([number])
        for one in logs:
            one.intervals.settle()
    json.lose()
    blocks.lost.add(json.lost)
    for log in logs:
        _count_events(log)
        if log.is_whole:  # a line from after the end is of another log
            log.intervals.up_to(log.duration_s + 1)
        blocks.lost.add(log.intervals.rejected)
        log.intervals.forget_lines()
    for log in logs:
        log.doubtful = blocks.lost.count > 0
    return logs


def _take_object(log: _Log | None, number: int, groups: Sequence[str]) -> bool:
    """Take in an interval in JSON, or the means of the whole test, which have no threads. Whether it was understood."""
    if log is None or log.ended:
        return False
    if groups[1] != "0":
        log.intervals.numbers.append(number)
        log.intervals.texts.extend(groups)
        return True
    if not log.intervals.begun or "transactions_per_s" in log.printed:
        return False
    log.printed["transactions_per_s"] = float(groups[2])
    log.closed = True
    return True


def _count_events(log: _Log) -> None:
    """Count the events of a script of 0.5 that has no COMMIT: if each had one statement, its lines have them, too."""
    events = log.totals.get("events", 0)
    if log.totals.get("transactions") != 0 or not events:
        return
    statements = sum(log.totals.get(name, 0) for name in _QUERIES)
    log.totals["transactions"] = events
    if statements == events == log.totals.get("read", 0) + log.totals.get("write", 0):
        log.intervals.statements_only = True
    else:
        log.intervals.lacks.add("transaction")


def _take(log: _Log, number: int, line: str) -> bool:
    """Take in a line of a log. Whether it was understood."""
    if not log.ended:
        if match := _TEXT.fullmatch(line) or _CSV.fullmatch(line):
            log.intervals.numbers.append(number)
            log.intervals.texts.extend(match.groups())
            return True
        for name, pattern in _HEADER.items():
            if (match := pattern.fullmatch(line)) and name not in log.header and not log.intervals.begun:
                log.header[name] = int(match[1])
                return True
        if match := _BIN.fullmatch(line):
            bins = log.printed.setdefault("histogram", [])
            if bins and bins[-1][0] == float(match[1]):  # small values have too few digits to be told apart
                bins[-1][1] += int(match[2])
            else:
                bins.append([float(match[1]), int(match[2])])
            return True
        return False
    for name, pattern in (_TOTALS | _FAIRNESS).items():
        if (match := pattern.fullmatch(line)) and name not in log.printed:
            if name == "events" and log.totals.get("transactions") not in (0, int(match[1])):
                return False  # cut off, or of another log
            is_count = match[1].isdecimal()
            if is_count:
                log.totals[name] = int(match[1])
            log.printed[name] = int(match[1]) if is_count else match[1] if "/" in match[1] else float(match[1])
            if match.lastindex == 2:
                log.printed[f"{name}_per_s"] = float(match[2])
            return True
    if (match := _PERCENTILE.fullmatch(line)) and "latency_percentile_ms" not in log.printed:
        log.printed |= {"percentile": int(match[1]), "latency_percentile_ms": float(match[2])}
        return True
    if (match := _SUM_S.fullmatch(line)) and "latency_sum_ms" not in log.printed:
        log.printed["latency_sum_ms"] = round(1000 * float(match[1]), 1)
        return True
    return False


def _command(number: int, line: str) -> _Command | None:
    """What is kept of a line that runs sysbench; None for any other."""
    if "sysbench" not in line:
        return None
    words = list(takewhile(lambda word: word not in _SHELL, line.split()))
    names = [word.rpartition("/")[2] for word in words]
    rest = words[names.index("sysbench") + 1 :] if "sysbench" in names else []
    if "run" not in rest:
        return None
    rest.remove("run")
    scripts = [word.removeprefix("--test=") for word in rest if word.startswith("--test=") or word[:1] != "-"]
    options_given = (word[2:].partition("=") for word in rest if word.startswith("--"))
    given = {_option(name): value if equals else "on" for name, equals, value in options_given}
    settings = {
        name: given[name] for name, form in _SETTINGS.items() if name in given and re.fullmatch(form, given[name])
    }
    options: dict[str, int | str] = {
        name: int(value) if value.isdecimal() else value
        for name, value in given.items()
        if name in _OF_TESTS and re.fullmatch(r"\d{1,9}|on|off|true|false", value, re.ASCII)
    }
    script = scripts[-1].rpartition("/")[2].removesuffix(".lua") if scripts else ""
    return _Command(number, _script(script, given), settings, options)


def _option(name: str) -> str:
    """What 1.0 calls an option."""
    name = name.replace("_", "-")
    return _OLD_OPTIONS.get(name, name.removeprefix("oltp-"))


def _script(script: str, given: Mapping[str, str]) -> str:
    """What 1.0 calls a script: the one of 0.5 for reading and writing has options to do only one of both."""
    if script == "oltp" and given.get("test-mode", "complex") != "complex":
        return "oltp_point_select" if given["test-mode"] == "simple" else script
    for only in ("read-only", "write-only"):
        if script == "oltp" and given.get(only) == "on":
            return f"oltp_{only.replace('-', '_')}"
    return _OLD_SCRIPTS.get(script, script)


def _left_out(log: _Log) -> str | None:
    """Why a log cannot be used; None if it can."""
    if not len(log.intervals) and not log.is_whole:
        return "it has no figures"
    if "other" in log.intervals.lacks and not log.is_whole and not log.intervals.hundredths("transaction").any():
        return "its lines have no transactions, and it has no totals"
    return None if log.threads else "it does not say how many threads it had"


def _test_of(log: _Log, told: ImportRequest) -> str | None:
    """The test of a log: by its command line, the name of its file or `--test`. None if it is none that ibench has."""
    workload = _workload()
    if (named := microbenchmark_of(log.file.rpartition("/")[2])) is not None:
        if told.test not in (None, named):
            raise log.refusal(f"this log is not of the test {told.test!r:.80}", "leave --test out")
        return named
    if log.command is not None and log.command.script:
        script = log.command.script
        if told.test not in (None, script):
            raise log.refusal(f"this log is not of the test {told.test!r:.80}", "leave --test out")
        return script if _is_test(workload, script) else None
    if told.test is not None:
        if not _is_test(workload, told.test):
            raise UsageError(
                f"unknown test {told.test!r:.80}", hint="such as oltp_read_write: docs/sysbench.md has them all"
            )
        return told.test
    named = _named_by(log.file.rpartition("/")[2])
    if named is None:
        raise log.refusal(
            "a log does not say of what test it is", "name it with --test, such as --test oltp_read_write"
        )
    return named


def _not_of(test: str, log: _Log) -> str | None:
    """Why a log without a command line cannot be of a test: whole folders are named by one `--test`."""
    writes = log.totals.get("write")
    if log.command is not None or writes is None or not log.is_whole:
        return None
    if test in _READS and writes:
        return f"it has writes, and {test} has none"
    if test.startswith("oltp_") and test not in _READS and not writes:
        return f"it has no writes, and {test} has some"
    return None


@lru_cache  # a file may have many logs
def microbenchmark_of(file: str) -> str | None:
    """The microbenchmark that a file of the field's scripts is of; None for any other file.

    They run one Lua file with other options as different tests, and only the name of the log tells them apart.
    """
    match = _MICROBENCHMARK.fullmatch(file)
    if match is None:
        return None
    name = match[1].replace("warmpre", "warm-pre").replace(".", "-")
    for test in (f"{name}-{match[2]}", name):
        if _is_test(_workload(), test) or _workload().kind_of(f"{test}.t1") == "warm_up":
            return test
    return None


@lru_cache
def _named_by(file: str) -> str | None:
    """The longest test that the name of a file contains."""
    words = re.findall(r"[a-z]+(?:_[a-z]+)+", file)
    return max((test for word in words for test in _contained(_workload(), word)), key=len, default=None)


def _contained(workload: Workload, word: str) -> Iterator[str]:
    """The tests in a word such as my_oltp_read_write_log."""
    parts = word.split("_")
    for first in range(len(parts)):
        for last in range(first + 1, len(parts) + 1):
            if _is_test(workload, test := "_".join(parts[first:last])):
                yield test


def _workload() -> Workload:
    return find("sysbench")


def _is_test(workload: Workload, name: str) -> bool:
    return workload.kind_of(f"{name}.t1") is not None


def _settings(log: _Log) -> dict[str, Any]:
    """What decides the work of a test, as far as its log says it."""
    command = log.command
    known = {"rate": log.header.get("rate"), "warmup": log.header.get("warmup"), **log.params}
    return {**known, **(command.settings if command else {}), **(command.options if command else {})}


def _require_same(before: Sequence[_Log], log: _Log) -> None:
    """A test with other options is no repeat."""
    for other in before[:1]:
        if (other.command is None) == (log.command is None) and _settings(other) != _settings(log):
            raise log.refusal(
                f"this log is of the same test and threads as {other.path}:{other.line}, with different options",
                "import them one at a time, each with a setup of its own",
            )


def _run(setup: str, dbms: str, repeat: int, logs: Mapping[str, _Log], warnings: Sequence[Remark]) -> ImportedRun:
    """One run: its steps one after the other, since logs do not say when they began."""
    rows: dict[str, list[Row]] = {"workers": [], "steps": [], "step_counters": []}
    said, start_s = list(warnings), 0.0
    with_seconds: dict[str, _Log] = {}
    with_intervals: dict[str, _Log] = {}
    failed: dict[str, Remark] = {}
    read: list[ReadingsOfStep] = []
    for step, log in logs.items():
        seconds = _seconds(log, said)
        intervals = _longer(log, said)
        if log.closed and not log.is_whole:
            said.append(log.remark("it has no totals: its transactions are what its lines add up to"))
        elif not log.is_whole:
            failed[step] = log.remark(f"its log ends in second {log.last_s} without its totals")
        elif "total" in log.totals and log.totals["total"] != sum(_counts(log)[name] or 0 for name in _QUERIES):
            said.append(log.remark("its reads, writes and others do not add up to its queries"))
        _add_step(rows, step, log, seconds, start_s)
        costs, why_not = log.sidecars.costs(step, start_s, log.duration_s)
        rows["step_counters"] += costs
        said += [log.remark(text) for text in why_not]
        if log.readings is not None and (misfits := misfit(log.readings, log.duration_s)):
            said.append(Remark(log.metrics or log.file, 1, f"{misfits}: it was left out"))
        elif log.readings is not None:
            read.append(ReadingsOfStep(log.readings, step, len(read), start_s, start_s + log.duration_s))
        start_s += log.duration_s
        if seconds is not None:
            with_seconds[step] = log
        if intervals is not None:
            with_intervals[step] = log
    lacks = {name for log in logs.values() for name in log.intervals.lacks}
    columns: dict[str, Sequence[Columns]] = {"ops": _OpsOfSteps(with_seconds)} if with_seconds else {}
    if read:
        columns |= {
            "server_samples": StepsOf([one.samples for one in read]),
            "server_counters": StepsOf([make for one in read for make in one.counters()]),
        }
    resolution_s = 1.0 if columns else None
    if with_intervals:
        columns["intervals"] = _IntervalsOfSteps(with_intervals)
    first = next(iter(logs.values()))
    cpus = {log.sidecars.cpus for log in logs.values() if log.sidecars.cpus}
    return ImportedRun(
        setup=setup,
        dbms=dbms,
        repeat=repeat,
        line=first.line,
        file=first.file,
        benchmark="sysbench",
        steps=[
            ImportedStep(step, log.line, _details(step, log), _files_of(log), log.threads) for step, log in logs.items()
        ],
        rows={name: columns for name, columns in rows.items() if columns},
        columns=columns,
        resolution_s=resolution_s,
        settings=first.options if len({log.options for log in logs.values()}) == 1 else "",
        host={"logical_cpus": str(cpus.pop())} if len(cpus) == 1 else {},
        missing={
            **_missing(bool(with_seconds), bool(with_intervals), lacks),
            **(missing_figures([one.readings for one in read]) if read else {}),
        },
        workload=_described(logs, bool(read)),
        error=next(iter(failed.values()), None),
        failed_step=next(iter(failed), None),
        warnings=said,
        private=True,
    )


def _files_of(log: _Log) -> list[str]:
    """The files that a step is read from."""
    return [log.file, *log.sidecars.files, *([log.metrics] if log.metrics else [])]


class _OfSteps(Sequence[Columns]):
    """Rows of each step, made when they are asked for: together they may be larger than memory."""

    def __init__(self, logs: Mapping[str, _Log]) -> None:
        self._logs = list(logs.items())

    def __len__(self) -> int:
        return len(self._logs)


class _OpsOfSteps(_OfSteps):
    """The rows of the seconds of each step."""

    def __getitem__(self, number: Any) -> Any:
        step, log = self._logs[number]
        seconds = _seconds(log, [])
        assert seconds is not None  # only steps with seconds are here
        rows = len(seconds["second"])
        zeros, printed = np.zeros(rows, np.int64), [one for one in _IN_ORDER if one in seconds]
        columns = {"errors": "reconnects", "retries": "ignored_errors"}
        of_transactions = {name: seconds[column] for name, column in columns.items() if column in seconds}
        values = {
            name: np.concatenate([of_transactions[name] if one == "transaction" else zeros for one in printed])
            for name in of_transactions
        }
        values |= {
            "operation": pa.concat_arrays([pa.repeat(one, rows) for one in printed]),
            "second": np.tile(seconds["second"], len(printed)),
            "ops": np.concatenate([seconds[one] for one in printed]),
        }
        return Columns(step, rows * len(printed), {**_WORKER, **values})


class _IntervalsOfSteps(_OfSteps):
    """The rows of the longer intervals of each step."""

    def __getitem__(self, number: Any) -> Any:
        step, log = self._logs[number]
        intervals = _longer(log, [])
        assert intervals is not None  # only steps with intervals are here
        rows, printed = len(intervals["end_s"]), [one for one in _IN_ORDER if one in intervals]
        # A line has one rate of errors, and they are of transactions.
        nothing = pa.nulls(rows, pa.float64())
        columns = {"errors_per_s": "reconnects", "retries_per_s": "ignored_errors"}
        values: dict[str, Any] = {
            name: pa.concat_arrays([pa.array(intervals[of]) if one == "transaction" else nothing for one in printed])
            for name, of in columns.items()
            if of in intervals
        }
        values |= {name: np.tile(intervals[name], len(printed)) for name in ("end_s", "seconds")}
        values |= {
            "client": 0,
            "operation": pa.concat_arrays([pa.repeat(one, rows) for one in printed]),
            "ops_per_s": np.concatenate([intervals[one] for one in printed]),
        }
        return Columns(step, rows * len(printed), values)


def _longer(log: _Log, said: list[Remark]) -> dict[str, Numbers] | None:
    """The end, the length and the rates of each interval, in seconds. None if its lines are seconds, or cannot be used.

    An interval is as long as the ends of its line and of the line before it are apart: sysbench divides by its own
    clock, and a line may be late. Where a line may be missing before it, its length is not known, and it is left out.
    """
    every = log.interval_s
    if every == 1 or not len(log.intervals):
        return None
    why = None
    if "transaction" in log.intervals.lacks:
        why = "its lines count no transactions and become no seconds"
    elif every is None:
        why = "its lines are an unknown time apart and become no seconds"
    if every is None or why is not None:
        said.append(log.remark(f"{why}: only its totals were imported"))
        return None
    ends = log.intervals.ends.astype(np.int64)
    lasted = np.diff(ends, prepend=0)
    known = (2 * lasted > every) & (2 * lasted < 3 * every)
    known[0] = lasted[0] == every
    if "interval" not in log.header and (log.doubtful or not (lasted == every).all()):
        # Nothing but its lines says how long they stand for: those of seconds may be missing between them.
        known[:] = False
    rates = {name: log.intervals.hundredths(name) / 100 for name in _RATES if name not in log.intervals.lacks}
    total, rounded = _counts(log)["transaction"] or 0, 0.005 * int(ends[-1])
    if log.is_whole and np.dot(rates["transaction"], lasted * known) > (1 + _DISAGREES) * total + 1 + rounded:
        said.append(log.remark("its lines have more transactions than its totals: only its totals were imported"))
        return None
    unknown = int((~known).sum())
    if unknown == len(ends):
        why = f"its lines are {every} s apart, and nothing says how long they stand for"
        said.append(log.remark(f"{why}: only its totals were imported"))
        return None
    but = f", but for {count(unknown, 'line')} after one that may be missing" if unknown else ""
    said.append(log.remark(f"its lines are {every} s apart: they become intervals, not seconds{but}"))
    return {"end_s": ends[known].astype(float), "seconds": lasted[known].astype(float)} | {
        name: values[known] for name, values in rates.items()
    }


def _seconds(log: _Log, said: list[Remark]) -> dict[str, Numbers] | None:
    """The number of each second and its counts; the last is the last part. None if it has no seconds."""
    if not len(log.intervals) or log.interval_s != 1:
        return None
    if "transaction" in log.intervals.lacks:
        said.append(log.remark("its lines count no transactions and become no seconds: only its totals were imported"))
        return None
    printed = [name for name in _RATES if name not in log.intervals.lacks]
    columns = {"second": log.intervals.ends - 1}
    columns |= {name: np.rint(log.intervals.hundredths(name) / 100).astype(np.int64) for name in printed}
    if not log.is_whole:
        return columns
    totals = {name: total for name, total in _counts(log).items() if total is not None}
    rest = {name: totals[name] - int(columns[name].sum()) for name in printed if _total_of(name) in log.totals}
    if rest["transaction"] < -_DISAGREES * totals["transaction"] - 1:
        said.append(log.remark("its lines have more transactions than its totals: only its totals were imported"))
        return None
    is_gapless = len(log.intervals) == log.last_s
    is_next = is_gapless and log.duration_s - log.last_s <= _LONGEST_S
    last = log.last_s if is_next else max(log.last_s, int(log.duration_s))
    before = int(columns["transaction"][-1])
    columns = {name: np.append(values, last if name == "second" else 0) for name, values in columns.items()}
    for name, left in rest.items():
        values, position = columns[name], len(columns[name]) - 1
        while left and position >= 0:  # less than the lines have: rounding, taken from the last of them
            values[position], left = max(0, values[position] + left), min(0, int(values[position]) + left)
            position -= 1
    if not is_gapless or not is_next:
        said.append(
            log.remark(
                f"it has {len(log.intervals)} of {int(log.duration_s)} lines of its seconds: the rest of its totals is "
                "its last part"
            )
        )
    elif log.duration_s - log.last_s < 1 - _DISAGREES and rest["transaction"] > max(
        _DISAGREES * totals["transaction"], 1.1 * before
    ):
        said.append(log.remark(f"its totals have {rest['transaction']:,} transactions more than its lines"))
    return columns


def _total_of(name: str) -> str:
    """What the totals call that of which the lines have rates."""
    return _OPERATIONS.get(name, name)


def _counts(log: _Log) -> dict[str, int | None]:
    """The totals that it prints, by the name of what the lines have rates of. Of the others, the sum of its lines."""
    return {name: log.totals.get(_total_of(name), of_lines) for name, of_lines in _from_rates(log).items()}


def _add_step(
    rows: dict[str, list[Row]], step: str, log: _Log, seconds: Mapping[str, Numbers] | None, start_s: float
) -> None:
    """The rows of a step. What its worker has done is what the seconds have; without seconds, its transactions."""
    status = "complete" if log.is_whole or log.closed else "failed"
    times = {"start_s": start_s, "end_s": start_s + log.duration_s}
    counts = _counts(log) if log.is_whole else _from_rates(log)
    of_seconds = [] if seconds is None else [int(seconds[name].sum()) for name in _OPERATIONS if name in seconds]
    done = counts["transaction"] if seconds is None else sum(of_seconds)
    rows["workers"].append(
        {
            "step": step, **_WORKER, **times, "role": "sysbench", "status": status, "ops": done, "rows": None,
            "errors": counts["reconnects"], "retries": counts["ignored_errors"], "unknown": None,
            "connections": log.threads, "ops_from": "counts" if log.is_whole else "rates",
        }
    )  # fmt: skip
    rows["steps"].append(
        {
            "step": step, **times, "kind": _workload().kind_of(step), "status": status, "clients": 1,
            "duration_s": log.duration_s, "target_rows_per_s": log.header.get("rate"),
        }
    )  # fmt: skip


def _from_rates(log: _Log) -> dict[str, int | None]:
    """What the lines add up to: each stands for the time since the one before, or for its interval if that is less.

    None for what they have no rates of.
    """
    ends = log.intervals.ends
    seconds = np.diff(ends, prepend=0)
    if log.interval_s:
        seconds = np.minimum(seconds, log.interval_s)
    return {
        name: None
        if name in log.intervals.lacks
        else round(int(np.dot(log.intervals.hundredths(name).astype(np.int64), seconds)) / 100)
        for name in _RATES
    }


def _details(step: str, log: _Log) -> dict[str, Any]:
    """A step as the manifest of a measured run has it, with what sysbench prints at the end."""
    command = log.command
    options = command.options if command else {}
    settings = command.settings if command else {}
    test = _chosen_test(step, log, options)
    numbers = {"tables": "tables", "table_size": "table-size", "seconds": "time"}
    return {
        "threads": log.threads,
        "rate": log.header.get("rate"),
        "test": test,
        **{name: int(settings[option]) for name, option in numbers.items() if option in settings},
        "printed": log.printed,
    }


def _chosen_test(step: str, log: _Log, options: Mapping[str, int | str]) -> dict[str, Any]:
    """The test as the record of a measured run has it."""
    # What was imported may have more threads and a higher rate than an experiment of ours.
    # A microbenchmark has options of its own, and its name says them.
    named = microbenchmark_of(log.file.rpartition("/")[2]) is not None
    chosen = {"test": step.rpartition(".t")[0], "options": {} if named else dict(options)}
    given: dict[str, Any] = {"benchmark": "sysbench", "tests": [chosen], "threads": [1], "rand_type": "uniform"}
    if chosen["test"] == _TPCC:
        given["lua"] = [f"{_TPCC}.lua"]
    parsed: Any = _workload().Options.model_validate(given)
    (one,) = parsed.tests
    # The field's microbenchmarks are the Lua files of others: what they do is the same.
    script = {"script": log.command.script} if log.command is not None and log.command.script else {}
    return {**one.resolved(), **script, "rate": log.header.get("rate") or None}


def _described(logs: Mapping[str, _Log], has_metrics: bool) -> dict[str, Any]:
    """What all steps of a run have in common, as far as the logs say it."""
    options: dict[str, Any] = {
        "clients": 1,
        "threads": sorted({log.threads for log in logs.values() if log.threads}),
        "tests": [{"test": test} for test in dict.fromkeys(step.rpartition(".t")[0] for step in logs)],
    }
    versions = {log.version for log in logs.values()}
    if len(versions) == 1 and None not in versions:
        options["program"] = {"name": "sysbench", "version": f"sysbench {versions.pop()}"}
    assumptions = dict.fromkeys(one for log in logs.values() for one in log.sidecars.assumptions())
    if has_metrics:
        assumptions[FIRST_READING] = None
    if assumptions:
        options["assumptions"] = list(assumptions)
    for name in ("rand-type", "db-ps-mode"):
        values = {log.command.settings.get(name) if log.command else None for log in logs.values()}
        if len(values) == 1 and None not in values:
            options[name.replace("-", "_")] = values.pop()
    return options


def _missing(by_second: bool, by_interval: bool, lacks: set[str]) -> dict[str, str]:
    """Why columns are NULL, as the manifest has it."""
    not_printed, not_said = "sysbench does not print it", "a log does not say it"
    histogram = "sysbench prints a percentile of each interval, which is no histogram and is not imported"
    reasons = {
        **{f"workers.{name}": not_printed for name in ("rows", "unknown")},
        **{f"workers.{name}": not_said for name in ("cpu_user_s", "cpu_system_s", "unrecorded_s")},
        "steps.history_list_length": not_said,
        "steps.existing_rows": not_said,
        "steps.client_bound": "not judged: a log does not say what the client used",
    }
    columns = {"ignored_errors": "retries", "reconnects": "errors"}
    reasons |= {f"workers.{columns[name]}": "this version of sysbench may not print it" for name in lacks & {*columns}}
    if by_second:
        reasons |= {f"ops.{columns[name]}": "this version of sysbench does not print it" for name in lacks & {*columns}}
        reasons |= {f"ops.{name}": not_printed for name in ("rows", "unknown", "service_sum_us", "service_max_us")}
        reasons |= {f"ops.{name}": histogram for name in ("service_bins", "service_counts")}
    if by_interval:
        reasons["intervals.ops"] = "sysbench prints rates of its intervals, rounded, and no counts"
        of_transactions = "sysbench prints one rate for each interval, that of its transactions"
        reasons |= {f"intervals.{name}_per_s": of_transactions for name in ("errors", "retries")}
    return reasons
