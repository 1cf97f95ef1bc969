"""Imports the logs of tpcc-mysql (`tpcc_start`): a line for each interval, and the totals at the end.

A log becomes a run of TPC-C with the step `run`. Its lines have the exact number of transactions of each type, so lines
of one second become seconds, and longer ones intervals. The totals are those of `sum ver.`, which do not race as those
before them can. T is the time that the log says was measured. What the totals have beyond the seconds is the last part
of the step. A log without seconds has TpmC as a published NOTPM.

Response times are not stored: percentiles are no histogram, and those of the first line and the means at the end
include the ramp-up.

Logs of different warehouses or connections get setups of their own; further logs of the same setup are its repeats.
No user, password, host, socket or name of a database is kept.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from ibench_lib.base.wording import count
from ibench_lib.errors import UsageError
from ibench_lib.importers.importer import ImportedRun, ImportedStep, ImportRequest, Remark, Row, nothing_used
from ibench_lib.importers.layout import NO_DBMS, dbms_of, setups_of
from ibench_lib.importers.lines import LineBlocks, refusal
from ibench_lib.importers.source import File, Source
from ibench_lib.workloads.workload import find

_TYPES = ("new_order", "payment", "order_status", "delivery", "stock_level")
"""In the order of the lines and of the totals."""
_STEP = "run"
_BEGINS = "*** ###easy### TPC-C Load Generator ***"
_COUNT, _TIME = r"(\d{1,9})", r"\d{1,9}\.\d+"
# Since 2015, with the slowest response of each type in ms; before that, a type was count(late):percentile|slowest.
_LINE = re.compile(
    rf"{_COUNT}, trx: {_COUNT}, 9\d%: {_TIME}, 9\d%: {_TIME}, max_rt: {_TIME}" + rf", {_COUNT}\|{_TIME}" * 4, re.ASCII
)
_OLD_LINE = re.compile(_COUNT + rf", {_COUNT}\(\d{{1,9}}\):{_TIME}(?:\|{_TIME})?" * len(_TYPES), re.ASCII)
_TOTAL = re.compile(
    r"\[([0-4])\] sc: ?(\d{1,12}) +lt: ?(\d{1,12}) +rt: ?(\d{1,12}) +fl: ?(\d{1,12})"
    r"(?: +avg_rt: (\d{1,9}\.\d{1,3}) \((\d{1,5})\))?",
    re.ASCII,
)
_HEADER = {
    "warehouses": re.compile(r"\[warehouse\]: (\d{1,6})", re.ASCII),
    "connections": re.compile(r"\[connection\]: (\d{1,6})", re.ASCII),
    "ramp_up_s": re.compile(r"\[rampup\]: (\d{1,7}) \(sec\.\)", re.ASCII),
    "measure_s": re.compile(r"\[measure\]: (\d{1,7}) \(sec\.\)", re.ASCII),
    "interval_s": re.compile(r"option i with value '(\d{1,5})'", re.ASCII),
}
_MEASURED = re.compile(r"in (\d{1,7}) sec\.", re.ASCII)
_SHARE = r"[\d.]+%(?: +\(>= ?[\d.]+%\))? +\[(?:OK|NG)\]"
# What says nothing of a figure, or only of who measured.
_SAYS_NOTHING = re.compile(
    r"(?:.*[ /])?tpcc_start .*|\*{10,}|\*{3} ###easy### TPC-C Load Generator \*{3}|<Parameters>"
    r"|\[(?:server|port|DBname|user|pass)\]:.*|option [a-hj-zA-Z] (?:\(\w+\) )?with value '.*'"
    r"|RAMP-UP TIME\.\(\d+ sec\.\)|MEASURING START\.|STOPPING THREADS[. ]*|<Raw Results>"
    r"|<Constraint Check> \(all must be \[OK\]\)|\[(?:transaction percentage|response time \(at least 90% passed\))\]"
    rf"|(?:New-Order|Payment|Order-Status|Delivery|Stock-Level): {_SHARE}|<TpmC>|\d+\.\d+ TpmC",
    re.ASCII,
)
_SUMS = "<Raw Results2(sum ver.)>"
_MARKS = {"warehouses": "w", "connections": "c"}
_DEFAULT_INTERVAL_S = 10
_MOST_S = 400_000
_ROLE = "terminal"
_WORKER: Mapping[str, Any] = {"client": 1, "worker": 0}


def _ints() -> array[int]:
    return array("l")


@dataclass
class _Log:
    """One log: `line` is where it begins, `ends` when its intervals ended, in seconds of the measured time."""

    file: str
    path: Path
    line: int
    header: dict[str, int] = field(default_factory=dict)
    ends: array[int] = field(default_factory=_ints)
    numbers: array[int] = field(default_factory=_ints)
    counts: list[array[int]] = field(default_factory=lambda: [_ints() for _ in _TYPES])
    totals: dict[str, dict[str, Any]] = field(default_factory=dict)
    sums: dict[str, dict[str, Any]] | None = None
    measured_s: int | None = None

    def remark(self, text: str) -> Remark:
        """Something to say of it, with the file and the line where it begins."""
        return Remark(self.file, self.line, text)

    def refusal(self, what: str, hint: str) -> UsageError:
        """An error that names where it begins."""
        return refusal(self.path, self.line, what, hint)

    @property
    def printed(self) -> dict[str, dict[str, Any]]:
        """The totals of each type: those of `sum ver.`, with what only the other ones have."""
        return {name: {**total, **(self.sums or {}).get(name, {})} for name, total in self.totals.items()}

    @property
    def is_whole(self) -> bool:
        """Whether all of its totals and its time are there."""
        return len(self.totals) == len(_TYPES) == len(self.sums or self.totals) and bool(self.measured_s)

    @property
    def duration_s(self) -> int:
        """T: what was measured, or up to its last line if it has no end."""
        if self.is_whole and self.measured_s:
            return self.measured_s
        return self.ends[-1] if self.ends else 0

    @property
    def interval_s(self) -> int:
        """How far apart its lines are: as its option says, or the default."""
        return self.header.get("interval_s", _DEFAULT_INTERVAL_S)

    def done(self, number: int) -> int:
        """Transactions of a type: its total, or what its lines add up to."""
        if not self.is_whole:
            return sum(self.counts[number])
        total = self.printed[_TYPES[number]]
        return int(total["in_time"] + total["late"])


class TpccMysqlLogs:
    """The importer of logs of tpcc-mysql."""

    name = "tpcc-mysql"
    expects = "logs of tpcc-mysql, as tpcc_start prints them"

    def recognises(self, file: File) -> str | None:
        """The first lines of a log, or a line of an interval."""
        if _BEGINS in file.beginning:
            return f"it has {_BEGINS.strip('* ')!r}"
        lines = (line.strip() for line in file.beginning.split("\n")[:-1])
        return "it has a line of new orders" if any(_LINE.fullmatch(line) for line in lines) else None

    def runs(self, source: Source, told: ImportRequest) -> Iterator[ImportedRun]:
        """One run for each log."""
        if told.test is not None:
            raise UsageError(f"{source}: logs of tpcc-mysql have no test", hint="leave --test out")
        warnings: list[Remark] = []
        logs: list[tuple[str, _Log]] = []
        for file in source.in_order:
            if source.many and self.recognises(file) is None:
                continue
            for log in _parse(file.name, source.blocks(file)):
                if not log.ends and not log.is_whole:
                    warnings.append(log.remark("it has no figures: this log was left out"))
                    continue
                dbms = told.dbms or dbms_of(source.folders(file.name))
                if dbms is None:
                    raise log.refusal(*NO_DBMS)
                logs.append((dbms, log))
        if warnings and not logs:
            raise nothing_used(source, warnings)
        repeats: dict[tuple[str, str], int] = {}
        first: dict[tuple[str, str], _Log] = {}
        headers = [log.header for _, log in logs]
        setups = setups_of(told.setup, _MARKS, headers, lambda number, what, hint: logs[number][1].refusal(what, hint))
        for (dbms, log), setup in zip(logs, setups, strict=True):
            key = (setup, dbms)
            _require_same(first.setdefault(key, log), log)
            repeats[key] = repeats.get(key, 0) + 1
            yield _run(setup, dbms, repeats[key], log, warnings)
            warnings = []  # the import has them once, however many runs there are


IMPORTER = TpccMysqlLogs()


def _parse(file: str, blocks: LineBlocks) -> list[_Log]:
    """The logs of a file. Lines that say nothing of a log are lost, and so is a last line that may be cut."""
    logs: list[_Log] = []
    log: _Log | None = None
    for first, texts in blocks:
        for number, text in enumerate(texts, start=first):
            line = text.strip()
            if not line:
                continue
            if line == _BEGINS or (log is None and (_LINE.fullmatch(line) or _OLD_LINE.fullmatch(line))):
                log = _Log(file, blocks.path, number)
                logs.append(log)
            may_be_cut = number == blocks.unterminated and not line.endswith("TpmC")
            if may_be_cut or not (_SAYS_NOTHING.fullmatch(line) or (log is not None and _take(log, number, line))):
                blocks.lost.add([number])
    for log in logs:
        _end(log, blocks)
    return logs


def _take(log: _Log, number: int, line: str) -> bool:
    """Take in a line of a log. Whether it was understood."""
    if log.measured_s is None and not log.totals and (found := _LINE.fullmatch(line) or _OLD_LINE.fullmatch(line)):
        end_s = int(found[1])
        if not (log.ends[-1] if log.ends else 0) < end_s <= _MOST_S:
            return False
        log.ends.append(end_s)
        log.numbers.append(number)
        for counts, done in zip(log.counts, found.groups()[1:], strict=True):
            counts.append(int(done))
        return True
    for name, pattern in _HEADER.items():
        if (found := pattern.fullmatch(line)) and name not in log.header and not log.ends and int(found[1]):
            log.header[name] = int(found[1])
            return True
        if found and name == "ramp_up_s" and name not in log.header:
            log.header[name] = 0
            return True
    if line == _SUMS and log.totals and log.sums is None:
        log.sums = {}
        return True
    if found := _TOTAL.fullmatch(line):
        totals, name = log.totals if log.sums is None else log.sums, _TYPES[int(found[1])]
        if name in totals or len(totals) != int(found[1]):
            return False
        totals[name] = dict(zip(("in_time", "late", "retries", "failed"), map(int, found.groups()[1:5]), strict=True))
        if found[6] is not None:
            totals[name] |= {"mean_ms_with_ramp_up": float(found[6]), "late_above_ms": int(found[7])}
        return True
    if (found := _MEASURED.fullmatch(line)) and log.measured_s is None and int(found[1]):
        log.measured_s = int(found[1])
        return True
    return False


def _end(log: _Log, blocks: LineBlocks) -> None:
    """Leave out what a log cannot have: lines after its end."""
    while log.is_whole and log.ends and log.ends[-1] > log.duration_s:
        blocks.lost.add([log.numbers.pop()])
        log.ends.pop()
        for counts in log.counts:
            counts.pop()


def _require_same(before: _Log, log: _Log) -> None:
    """Logs of other warehouses, connections or times are no repeats."""
    for name in ("warehouses", "connections", "ramp_up_s", "measure_s"):
        if before.header.get(name) != log.header.get(name):
            raise log.refusal(
                f"its {name.removesuffix('_s').replace('_', '-')} differs from that of {before.path}:{before.line}",
                "import them one at a time, each with a setup of its own",
            )


def _run(setup: str, dbms: str, repeat: int, log: _Log, warnings: Sequence[Remark]) -> ImportedRun:
    """A log as a run with one step."""
    said = list(warnings)
    error = None if log.is_whole else log.remark(f"its log ends in second {log.duration_s} without its totals")
    rest = _rest(log, said)
    longer = _longer(log, said)
    done = {name: log.done(number) for number, name in enumerate(_TYPES)}
    status = "complete" if log.is_whole else "failed"
    times = {"step": _STEP, "start_s": 0.0, "end_s": float(log.duration_s)}
    printed = log.printed if log.is_whole else {}
    worker = {
        **times, **_WORKER, "role": _ROLE, "status": status, "ops": sum(done.values()), "rows": None,
        "errors": sum(one["failed"] for one in printed.values()) if printed else None,
        "retries": sum(one["retries"] for one in printed.values()) if printed else None, "unknown": None,
        "connections": log.header.get("connections"), "ops_from": "counts",
    }  # fmt: skip
    step = {**times, "kind": _STEP, "status": status, "clients": 1, "duration_s": float(log.duration_s)}
    rows: dict[str, Any] = {"workers": [worker], "steps": [step]}
    if rest is not None:
        rows["ops"] = _Seconds(log, rest)
    elif log.is_whole:
        rows["published"] = [{"step": _STEP, "metric": "notpm", "value": 60 * done["new_order"] / log.duration_s}]
    if longer:
        rows["intervals"] = _Intervals(log)
    details = {"seconds": log.duration_s, "ramp_up_s": log.header.get("ramp_up_s"), "printed": printed}
    return ImportedRun(
        setup=setup,
        dbms=dbms,
        repeat=repeat,
        line=log.line,
        file=log.file,
        benchmark="tpcc",
        steps=[ImportedStep(_STEP, log.line, details, [log.file], log.header.get("connections"))],
        rows=rows,
        resolution_s=1.0 if rest is not None else None,
        missing=_missing(rest is not None, longer),
        workload={
            "clients": 1,
            "program": {"name": "tpcc-mysql"},
            **_profile(),
            "warehouses_used": log.header.get("warehouses"),
            "setup": {"sets": 1, "terminals": log.header.get("connections")},
        },
        error=error,
        failed_step=None if log.is_whole else _STEP,
        warnings=said,
        private=True,
    )


@cache
def _profile() -> dict[str, Any]:
    """How tpcc-mysql differs from the specification, as the manifest of a measured run says it of its profile."""
    workload = find("tpcc")
    options = workload.Options.model_validate({"benchmark": "tpcc", "profile": "tpcc_mysql"})
    setup = next(iter(workload.presets.values()))
    described = workload.describe(options, setup, workload.steps(options, setup, 1.0))
    return {name: described[name] for name in ("profile", "protocol", "deviations")}


def _rest(log: _Log, said: list[Remark]) -> list[int] | None:
    """What the totals of each type have beyond the lines; None if the lines become no seconds."""
    if not log.ends or log.interval_s != 1:
        return None
    rest = [log.done(number) - sum(log.counts[number]) for number in range(len(_TYPES))]
    if min(rest) < 0:
        said.append(log.remark("its lines have more transactions than its totals: only its totals were imported"))
        return None
    if log.is_whole and (any(rest) or len(log.ends) != log.duration_s):
        lines = f"it has {len(log.ends)} of {count(log.duration_s, 'line')} of its seconds"
        said.append(log.remark(f"{lines}: the other {sum(rest):,} transactions of its totals are its last part"))
    return rest


def _longer(log: _Log, said: list[Remark]) -> bool:
    """Whether its lines become intervals. Each has the counts of one interval.

    tpcc-mysql counts their ends up by the interval, so a line that is missing changes no other one. Where only the
    default says how long an interval is, a line that is missing may have shown that it is not.
    """
    every, ends = log.interval_s, list(log.ends)
    if not ends or every == 1:
        return False
    why = None
    if "interval_s" in log.header and any(end_s % every for end_s in ends):
        why = f"its lines are to be {every} s apart, and are not"
    elif "interval_s" not in log.header and ends != list(range(every, every * len(ends) + 1, every)):
        why = f"its lines are not {every} s apart, as is the default"
    elif any(log.done(number) < sum(counts) for number, counts in enumerate(log.counts)):
        why = "its lines have more transactions than its totals"
    if why is not None:
        said.append(log.remark(f"{why}: only its totals were imported"))
        return False
    expected = max(log.duration_s, ends[-1]) // every
    but = f" (it has {len(ends)} of {expected} lines)" if len(ends) < expected else ""
    said.append(log.remark(f"its lines are {every} s apart: they become intervals, not seconds{but}"))
    return True


@dataclass(frozen=True)
class _Intervals:
    """The rows of a log's longer intervals, type by type, made when they are asked for."""

    log: _Log

    def __iter__(self) -> Iterator[Row]:
        every = self.log.interval_s
        for name, counts in zip(_TYPES, self.log.counts, strict=True):
            for end_s, done in zip(self.log.ends, counts, strict=True):
                yield {
                    "step": _STEP, "client": 0, "operation": name, "end_s": float(end_s), "seconds": float(every),
                    "ops": done, "ops_per_s": done / every,
                }  # fmt: skip


@dataclass(frozen=True)
class _Seconds:
    """The rows of a log's seconds and of its last part, type by type, made when they are asked for."""

    log: _Log
    rest: Sequence[int]

    def __iter__(self) -> Iterator[Row]:
        for name, counts, rest in zip(_TYPES, self.log.counts, self.rest, strict=True):
            of_type: Mapping[str, Any] = {"step": _STEP, **_WORKER, "operation": name}
            for end_s, done in zip(self.log.ends, counts, strict=True):
                yield {**of_type, "second": end_s - 1, "ops": done}
            if any(self.rest):
                yield {**of_type, "second": max(self.log.duration_s, self.log.ends[-1]), "ops": rest}


def _missing(by_second: bool, by_interval: bool) -> dict[str, str]:
    """Why columns are NULL, as the manifest has it."""
    not_printed, not_said = "tpcc-mysql does not print it", "a log does not say it"
    histogram = "tpcc-mysql prints percentiles of each interval, which are no histogram and are not imported"
    found = {
        **{f"workers.{name}": not_printed for name in ("rows", "unknown")},
        **{f"workers.{name}": not_said for name in ("cpu_user_s", "cpu_system_s", "unrecorded_s")},
        **{f"workers.{name}": "a log without its totals does not say it" for name in ("errors", "retries")},
        "steps.history_list_length": not_said,
        "steps.existing_rows": not_said,
        "steps.client_bound": "not judged: a log does not say what the client used",
    }
    if by_second:
        found |= {f"ops.{name}": not_printed for name in ("rows", "errors", "retries", "unknown", "service_sum_us")}
        found["ops.service_max_us"] = "not imported: that of the first line is the slowest since the ramp-up began"
        found |= {f"ops.{name}": histogram for name in ("service_bins", "service_counts")}
    if by_interval:
        found |= {f"intervals.{name}_per_s": not_printed for name in ("errors", "retries")}
    return found
