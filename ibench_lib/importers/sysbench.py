"""Imports the logs of sysbench 1.0 and 1.1: what it prints of each interval, and its totals at the end.

A log becomes a step, called after its test and its number of threads (oltp_read_write.t4), as where ibench drives
sysbench. Logs of one setup and dbms make one run; a further log of the same step is of its next repeat. A file may have
several logs.

sysbench prints rates of its intervals, not counts. A line that stands for one second becomes that second: its rates,
rounded. The totals are exact. What they have beyond the seconds, by rounding, in lines that are missing and after the
last line, is the last part of the step: it has no rate. Lines of longer intervals become no seconds.

Of the command line, only options of the test itself and numbers are kept: no user, password, host or path.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise, takewhile
from typing import Any

from ibench_lib.errors import UsageError
from ibench_lib.importers.importer import ImportedRun, ImportedStep, ImportRequest, Row
from ibench_lib.importers.lines import Lines
from ibench_lib.importers.source import File, Source
from ibench_lib.workloads.workload import Workload, find

_RATE = r"(\d{1,12}\.\d\d)"
_COUNT = r"(\d{1,15})"
_PER_S = rf" +\({_RATE} per sec\.\)"
_VERSION = re.compile(r"sysbench (\d+\.\d+[\w.-]{0,40})(?:[ :].*)?", re.ASCII)
_BEGINS = "Running the test with following options:"
_TEXT = re.compile(
    rf"\[ *(-?\d{{1,9}})s \] thds: (\d{{1,6}}) tps: {_RATE} qps: {_RATE} \(r/w/o: {_RATE}/{_RATE}/{_RATE}\) "
    rf"lat \(ms,\d{{1,3}}%\): {_RATE} err/s:? {_RATE} reconn/s: {_RATE}",
    re.ASCII,
)
_CSV = re.compile(r"(\d{1,9}),(\d{1,6})" + f",{_RATE}" * 8, re.ASCII)
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
    "ignored_errors": re.compile(rf"ignored errors: +{_COUNT}{_PER_S}", re.ASCII),
    "reconnects": re.compile(rf"reconnects: +{_COUNT}{_PER_S}", re.ASCII),
    "seconds": re.compile(r"(?:total time|time elapsed): +(\d{1,9}\.\d{4})s", re.ASCII),
    "events_per_s": re.compile(r"events/s \(eps\): +(\d{1,12}\.\d{4})", re.ASCII),
    "events": re.compile(rf"total number of events: +{_COUNT}", re.ASCII),
    "latency_min_ms": re.compile(rf"min: +{_RATE}", re.ASCII),
    "latency_avg_ms": re.compile(rf"avg: +{_RATE}", re.ASCII),
    "latency_max_ms": re.compile(rf"max: +{_RATE}", re.ASCII),
    "latency_sum_ms": re.compile(rf"sum: +{_RATE}", re.ASCII),
}
_PERCENTILE = re.compile(rf"(\d{{1,3}})th percentile: +{_RATE}", re.ASCII)
_FAIRNESS = {
    "events_of_a_thread": re.compile(r"events \(avg/stddev\): +(\d{1,15}\.\d{4}/\d{1,15}\.\d\d)", re.ASCII),
    "seconds_of_a_thread": re.compile(r"execution time \(avg/stddev\): +(\d{1,12}\.\d{4}/\d{1,12}\.\d\d)", re.ASCII),
}
_BIN = re.compile(r"(\d{1,9}\.\d{3}) \|\** +(\d{1,15})", re.ASCII)
# What sysbench prints with every log, and says nothing of a figure.
_SAYS_NOTHING = re.compile(
    r"Initializing (?:random number generator from (?:current time|seed \(\d+\)\.?)|worker threads\.\.\.)"
    r"|Threads started!|Warming up for \d+ seconds\.\.\.|SQL statistics:|queries performed:|General statistics:"
    r"|Throughput:|Latency \(ms\):|Threads fairness:|Latency histogram \(values are in milliseconds\)"
    r"|value +-+ distribution -+ count",
    re.ASCII,
)
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
    *("random-points", "random-ranges", "delta", "reconnect"),
}
_OPERATIONS = {"transaction": "transactions", "read": "read", "write": "write", "other": "other"}
"""Operations that sysbench counts, and what its totals call them."""
_QUERIES = ("read", "write", "other")
_SHELL = {"|", ">", ">>", "2>", "2>&1", "&", "&>"}
_WORKER: Mapping[str, Any] = {"client": 1, "worker": 0}
_LONGEST_S, _DISAGREES = 1.5, 0.01
_MOST_S = 10_000_000


@dataclass(frozen=True)
class _Interval:
    """A line of rates: when its interval ended, in whole seconds of the test, and events of each kind per second."""

    line: int
    end_s: int
    threads: int
    rates: Mapping[str, float]


@dataclass
class _Command:
    """What is kept of a command line: the script, without folder and ending, and settings of the test."""

    line: int
    script: str
    settings: dict[str, str]
    options: dict[str, int | str]


@dataclass
class _Log:
    """One log. `totals` and `printed` are what it prints at its end; `line` is where it begins."""

    file: str
    line: int
    version: str | None = None
    command: _Command | None = None
    header: dict[str, int] = field(default_factory=dict)
    intervals: list[_Interval] = field(default_factory=list)
    totals: dict[str, int] = field(default_factory=dict)
    printed: dict[str, Any] = field(default_factory=dict)
    ended: bool = False

    @property
    def where(self) -> str:
        """The file and line where it begins, for messages."""
        return f"{self.file}:{self.line}"

    @property
    def has_begun(self) -> bool:
        """Whether it has more than its first line."""
        return bool(self.header or self.intervals or self.printed)

    @property
    def threads(self) -> int | None:
        """Threads of the test."""
        return self.header.get("threads") or max((one.threads for one in self.intervals), default=0) or None

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
        return self.intervals[-1].end_s if self.intervals else 0

    @property
    def interval_s(self) -> int | None:
        """The length of its intervals; None if it has none, or does not say."""
        if not self.intervals:
            return None
        ends = [one.end_s for one in self.intervals]
        steps = [after - before for before, after in pairwise(ends)]
        return self.header.get("interval") or min(steps, default=0) or None


class SysbenchLogs:
    """The importer of logs of sysbench."""

    name = "sysbench"
    expects = "logs of sysbench 1.0 or 1.1, as it prints them"

    def takes(self, source: Source) -> bool:
        """Whether a file has the first lines of a log."""
        return any(map(_is_log, source.files))

    def runs(self, source: Source, told: ImportRequest) -> Iterator[ImportedRun]:
        """One run for each dbms and repeat, with a step for each log."""
        if told.setup is None:
            raise UsageError(f"{source.path}: a log does not say of what setup it is", hint="name it with --setup")
        warnings: list[str] = []
        steps: dict[str, dict[str, list[_Log]]] = {}
        base = _common_folder(source)
        for file in source.files:
            if source.many and not _is_log(file):
                continue
            lines = source.lines(file)
            for log in _parse(file.name, lines):
                if why := _left_out(log):
                    warnings.append(f"{log.where}: {why}: this log was left out")
                    continue
                dbms = told.dbms or _dbms_of(file.name.removeprefix(base))
                if dbms is None:
                    raise lines.refusal(
                        log.line,
                        "a log does not say of what dbms it is",
                        "name it with --dbms <build>.<config>, or put the logs of each dbms in a folder of that name",
                    )
                test = _test_of(log, lines, told)
                if test is None:
                    warnings.append(f"{log.where}: its script is none of the tests that ibench knows: it was left out")
                    continue
                same = steps.setdefault(dbms, {}).setdefault(f"{test}.t{log.threads}", [])
                _require_same(same, log, lines)
                same.append(log)
        if warnings and not steps:
            raise UsageError(f"{source.path} has no log that can be used", detail="\n".join(warnings))
        for dbms, logs in steps.items():
            for repeat in range(1, 1 + max(map(len, logs.values()))):
                chosen = {step: same[repeat - 1] for step, same in logs.items() if len(same) >= repeat}
                yield _run(told.setup, dbms, repeat, chosen, warnings)
                warnings = []  # the import has them once, however many runs there are


IMPORTER = SysbenchLogs()


def _is_log(file: File) -> bool:
    text = file.beginning
    return _BEGINS in text or re.search(r"^sysbench \d+\.\d+.*\(using .*LuaJIT", text, re.MULTILINE) is not None


def _common_folder(source: Source) -> str:
    """The folder that all files of an archive are in, with its `/`, unless it names a dbms; else empty."""
    tops = {file.name.partition("/")[0] if "/" in file.name else "" for file in source.files}
    top = tops.pop() if len(tops) == 1 else ""
    return f"{top}/" if top and _dbms_of(f"{top}/") is None else ""


def _dbms_of(name: str) -> str | None:
    """The first folder of a name if it is a `<build>.<config>`, which begins with a letter."""
    folder, slash, _ = name.partition("/")
    return folder if slash and re.fullmatch(r"[A-Za-z][\w.-]*\.[\w-]+", folder, re.ASCII) else None


def _parse(file: str, lines: Lines) -> list[_Log]:
    """The logs of a file. Lines that say nothing of a log are not `used`."""
    logs: list[_Log] = []
    command: _Command | None = None
    for number, text in lines:
        line = text.strip()
        log = logs[-1] if logs else None
        if found := _command(number, line):
            command = found
            lines.used(number)
        elif (version := _VERSION.fullmatch(line)) or line == _BEGINS:
            if log is None or log.has_begun:
                log = _Log(file, number, None, command)
                logs.append(log)
            log.version = version[1] if version else log.version
            log.command, command = command or log.command, None
            lines.used(number)
        elif log is not None and (_SAYS_NOTHING.fullmatch(line) or _take(log, number, line)):
            log.ended |= line == "SQL statistics:"
            lines.used(number)
    for log in logs:
        if log.is_whole:  # a line from after the end is of another log
            log.intervals = [one for one in log.intervals if one.end_s <= log.duration_s + 1]
        for one in log.intervals:
            lines.used(one.line)
    return logs


def _take(log: _Log, number: int, line: str) -> bool:
    """Take in a line of a log. Whether it was understood; a line of an interval is `used` later."""
    if not log.ended:
        if found := _TEXT.fullmatch(line) or _CSV.fullmatch(line):
            return _take_interval(log, number, found)
        for name, pattern in _HEADER.items():
            if (found := pattern.fullmatch(line)) and name not in log.header and not log.intervals:
                log.header[name] = int(found[1])
                return True
        if found := _BIN.fullmatch(line):
            log.printed.setdefault("histogram", []).append([float(found[1]), int(found[2])])
            return True
        return False
    for name, pattern in (_TOTALS | _FAIRNESS).items():
        if (found := pattern.fullmatch(line)) and name not in log.printed:
            if name == "events" and int(found[1]) != log.totals.get("transactions"):
                return False  # cut off, or of another log
            is_count = found[1].isdecimal()
            if is_count:
                log.totals[name] = int(found[1])
            log.printed[name] = int(found[1]) if is_count else found[1] if "/" in found[1] else float(found[1])
            if found.lastindex == 2:
                log.printed[f"{name}_per_s"] = float(found[2])
            return True
    if (found := _PERCENTILE.fullmatch(line)) and "latency_percentile_ms" not in log.printed:
        log.printed |= {"percentile": int(found[1]), "latency_percentile_ms": float(found[2])}
        return True
    return False


def _take_interval(log: _Log, number: int, found: re.Match[str]) -> bool:
    end_s = int(found[1])
    if end_s <= 0:
        return True  # of the warm-up, which its clock counts below 0
    if log.last_s < end_s <= _MOST_S:
        tps, _, read, write, other, _, errors, reconnects = map(float, found.groups()[2:])
        rates = {"transaction": tps, "read": read, "write": write, "other": other}
        rates |= {"ignored_errors": errors, "reconnects": reconnects}
        log.intervals.append(_Interval(number, end_s, int(found[2]), rates))
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
    given = {name: value if equals else "on" for name, equals, value in options_given}
    settings = {
        name: given[name] for name, form in _SETTINGS.items() if name in given and re.fullmatch(form, given[name])
    }
    options: dict[str, int | str] = {
        name.replace("_", "-"): int(value) if value.isdecimal() else value
        for name, value in given.items()
        if name.replace("_", "-") in _OF_TESTS and re.fullmatch(r"\d{1,9}|on|off|true|false", value, re.ASCII)
    }
    script = scripts[-1].rpartition("/")[2].removesuffix(".lua") if scripts else ""
    return _Command(number, script, settings, options)


def _left_out(log: _Log) -> str | None:
    """Why a log cannot be used; None if it can."""
    if log.version is not None and log.version.startswith("0."):
        return "it is of sysbench 0.x, whose logs have another form"
    if not log.intervals and not log.is_whole:
        return "it has no figures"
    return None if log.threads else "it does not say how many threads it had"


def _test_of(log: _Log, lines: Lines, told: ImportRequest) -> str | None:
    """The test of a log: by its command line, the name of its file or `--test`. None if it is none that ibench has."""
    workload = _workload()
    if log.command is not None and log.command.script:
        script = log.command.script
        if told.test not in (None, script):
            raise lines.refusal(log.line, f"this log is not of the test {told.test!r:.80}", "leave --test out")
        return script if _is_test(workload, script) else None
    if told.test is not None:
        if not _is_test(workload, told.test):
            raise UsageError(
                f"unknown test {told.test!r:.80}", hint="such as oltp_read_write: docs/sysbench.md has them all"
            )
        return told.test
    named = _named_by(log.file.rpartition("/")[2])
    if named is None:
        raise lines.refusal(
            log.line, "a log does not say of what test it is", "name it with --test, such as --test oltp_read_write"
        )
    return named


@lru_cache  # a file may have many logs
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
    return workload.kind_of(f"{name}.t1") == "test"


def _settings(log: _Log) -> dict[str, Any]:
    """What decides the work of a test, as far as its log says it."""
    command = log.command
    known = {"rate": log.header.get("rate"), "warmup": log.header.get("warmup")}
    return {**known, **(command.settings if command else {}), **(command.options if command else {})}


def _require_same(before: Sequence[_Log], log: _Log, lines: Lines) -> None:
    """A test with other options is no repeat."""
    for other in before[:1]:
        if (other.command is None) == (log.command is None) and _settings(other) != _settings(log):
            raise lines.refusal(
                log.line,
                f"this log is of the same test and threads as {other.where}, with different options",
                "import them one at a time, each with a setup of its own",
            )


def _run(setup: str, dbms: str, repeat: int, logs: Mapping[str, _Log], warnings: Sequence[str]) -> ImportedRun:
    """One run: its steps one after the other, since logs do not say when they began."""
    rows: dict[str, list[Row]] = {"ops": [], "workers": [], "steps": []}
    said, start_s, by_second = list(warnings), 0.0, False
    failed: dict[str, str] = {}
    for step, log in logs.items():
        seconds = _seconds(log, said)
        if not log.is_whole:
            failed[step] = f"{log.where}: its log ends in second {log.last_s} without its totals"
        elif "total" in log.totals and log.totals["total"] != sum(_counts(log)[name] for name in _QUERIES):
            said.append(f"{log.where}: its reads, writes and others do not add up to its queries")
        _add_step(rows, step, log, seconds, start_s)
        start_s += log.duration_s
        by_second |= bool(seconds)
    first = next(iter(logs.values()))
    return ImportedRun(
        setup=setup,
        dbms=dbms,
        repeat=repeat,
        line=first.line,
        file=first.file,
        benchmark="sysbench",
        steps=[ImportedStep(step, log.line, _details(step, log)) for step, log in logs.items()],
        rows={name: found for name, found in rows.items() if found},
        resolution_s=1.0 if by_second else None,
        missing=_missing(by_second),
        workload=_described(logs),
        error=next(iter(failed.values()), None),
        failed_step=next(iter(failed), None),
        warnings=said,
        private=True,
    )


def _seconds(log: _Log, said: list[str]) -> list[dict[str, Any]]:
    """The seconds of a log, each with its counts by name, and the last part; empty if its lines are of no seconds."""
    if not log.intervals:
        return []
    if log.interval_s != 1:
        every = f"{log.interval_s} s" if log.interval_s else "an unknown time"
        said.append(f"{log.where}: its lines are {every} apart and become no seconds: only its totals were imported")
        return []
    found = [
        {"second": one.end_s - 1, **{name: round(rate) for name, rate in one.rates.items()}} for one in log.intervals
    ]
    if not log.is_whole:
        return found
    totals = _counts(log)
    rest = {name: total - sum(one[name] for one in found) for name, total in totals.items()}
    if rest["transaction"] < -_DISAGREES * totals["transaction"] - 1:
        said.append(f"{log.where}: its lines have more transactions than its totals: only its totals were imported")
        return []
    is_gapless = len(found) == log.last_s
    is_next = is_gapless and log.duration_s - log.last_s <= _LONGEST_S
    last = log.last_s if is_next else max(log.last_s, int(log.duration_s))
    found.append({"second": last, **dict.fromkeys(totals, 0)})
    for name, left in rest.items():
        for one in reversed(found):  # less than the lines have: rounding, taken from the last of them
            one[name], left = max(0, one[name] + left), min(0, one[name] + left)
            if left == 0:
                break
    if not is_gapless or not is_next:
        said.append(
            f"{log.where}: it has {len(log.intervals)} of {int(log.duration_s)} lines of its seconds: the rest of its "
            "totals is its last part"
        )
    elif log.duration_s - log.last_s < 1 - _DISAGREES and rest["transaction"] > max(
        _DISAGREES * totals["transaction"], 1.1 * found[-2]["transaction"]
    ):
        said.append(f"{log.where}: its totals have {rest['transaction']:,} transactions more than its lines")
    return found


def _counts(log: _Log) -> dict[str, int]:
    """The totals by the name of what the lines have rates of."""
    named = {**_OPERATIONS, "ignored_errors": "ignored_errors", "reconnects": "reconnects"}
    return {name: log.totals.get(total, 0) for name, total in named.items()}


def _of_one(second: Mapping[str, Any]) -> list[Row]:
    """The rows of a second."""
    unknown = ("rows", "unknown", "service_sum_us", "service_max_us", "service_bins", "service_counts")
    return [
        {
            **_WORKER,
            "operation": operation,
            "second": second["second"],
            "ops": second[operation],
            "errors": second["reconnects"] if operation == "transaction" else 0,
            "retries": second["ignored_errors"] if operation == "transaction" else 0,
            **dict.fromkeys(unknown),
        }
        for operation in _OPERATIONS
    ]


def _add_step(
    rows: dict[str, list[Row]], step: str, log: _Log, seconds: Sequence[Mapping[str, Any]], start_s: float
) -> None:
    """The rows of a step. What its worker has done is what the seconds have; without seconds, its transactions."""
    status = "complete" if log.is_whole else "failed"
    times = {"start_s": start_s, "end_s": start_s + log.duration_s}
    counts = _counts(log) if log.is_whole else _from_rates(log)
    done = sum(one[name] for one in seconds for name in _OPERATIONS) if seconds else counts["transaction"]
    rows["ops"] += [{"step": step, **row} for second in seconds for row in _of_one(second)]
    rows["workers"].append(
        {
            "step": step, **_WORKER, **times, "role": "sysbench", "status": status, "ops": done, "rows": None,
            "errors": counts["reconnects"], "retries": counts["ignored_errors"], "unknown": None,
            "connections": log.threads, "ops_from": "counts" if log.is_whole else "rates",
        }
    )  # fmt: skip
    rows["steps"].append(
        {
            "step": step, **times, "kind": "test", "status": status, "clients": 1, "duration_s": log.duration_s,
            "target_rows_per_s": log.header.get("rate"),
        }
    )  # fmt: skip


def _from_rates(log: _Log) -> dict[str, int]:
    """What the lines add up to: each stands for the time since the one before, or for its interval if that is less."""
    sums = dict.fromkeys(_counts(log), 0.0)
    before = 0
    for one in log.intervals:
        seconds = min(one.end_s - before, log.interval_s or one.end_s)
        before = one.end_s
        for name in sums:
            sums[name] += one.rates[name] * seconds
    return {name: round(value) for name, value in sums.items()}


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
    chosen = {"test": step.rpartition(".t")[0], "options": dict(options)}
    given = {"benchmark": "sysbench", "tests": [chosen], "threads": [1], "rand_type": "uniform"}
    parsed: Any = _workload().Options.model_validate(given)
    (one,) = parsed.tests
    return {**one.resolved(), "rate": log.header.get("rate") or None}


def _described(logs: Mapping[str, _Log]) -> dict[str, Any]:
    """What all steps of a run have in common, as far as the logs say it."""
    found: dict[str, Any] = {
        "clients": 1,
        "threads": sorted({log.threads for log in logs.values() if log.threads}),
        "tests": [{"test": test} for test in dict.fromkeys(step.rpartition(".t")[0] for step in logs)],
    }
    versions = {log.version for log in logs.values()}
    if len(versions) == 1 and None not in versions:
        found["program"] = {"name": "sysbench", "version": f"sysbench {versions.pop()}"}
    for name in ("rand-type", "db-ps-mode"):
        values = {log.command.settings.get(name) if log.command else None for log in logs.values()}
        if len(values) == 1 and None not in values:
            found[name.replace("-", "_")] = values.pop()
    return found


def _missing(by_second: bool) -> dict[str, str]:
    """Why columns are NULL, as the manifest has it."""
    not_printed, not_said = "sysbench does not print it", "a log does not say it"
    histogram = "sysbench prints a percentile of each interval, which is no histogram and is not imported"
    found = {
        **{f"workers.{name}": not_printed for name in ("rows", "unknown")},
        **{f"workers.{name}": not_said for name in ("cpu_user_s", "cpu_system_s", "unrecorded_s")},
        "steps.history_list_length": not_said,
        "steps.existing_rows": not_said,
        "steps.client_bound": "not judged: a log does not say what the client used",
    }
    if by_second:
        found |= {f"ops.{name}": not_printed for name in ("rows", "unknown", "service_sum_us", "service_max_us")}
        found |= {f"ops.{name}": histogram for name in ("service_bins", "service_counts")}
    return found
