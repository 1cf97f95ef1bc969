"""Imports what go-tpc prints of TPC-C, as text, tables or JSON: the transactions of each interval, and the summary.

A log becomes a run of TPC-C with the step `run`. go-tpc does not print when an interval ended: `Takes` is the time
since the first transaction of a type was answered. T is the longest `Takes` of the summary, so it lacks the first
response. NOTPM is new orders per minute of T, also of a log without seconds, where it is a figure of the run. What
go-tpc calls tpmC is divided by the time of new orders alone.

Intervals become seconds only if each is one second by its own times, if all of their lines were understood, and if
there are as many as T has seconds: an interval without a transaction is not printed. Longer ones become intervals, on
the same conditions; how long they are is in the command line, or else in their times. Percentiles have one digit and
become no histogram. No user, password, host, name of a database or text of an error is kept.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from ibench_lib.errors import UsageError
from ibench_lib.importers.importer import ImportedRun, ImportedStep, ImportRequest, Remark, Row, nothing_used
from ibench_lib.importers.layout import NO_DBMS, dbms_of, setups_of
from ibench_lib.importers.lines import LineBlocks, refusal
from ibench_lib.importers.source import File, Source

_STEP, _ROLE = "run", "terminal"
_WORKER: Mapping[str, Any] = {"client": 1, "worker": 0}
_TYPES = ("new_order", "payment", "order_status", "delivery", "stock_level")
_NUMBER = re.compile(r"\d{1,12}(?:\.\d)?", re.ASCII)
_COUNT = re.compile(r"\d{1,12}", re.ASCII)
_PREFIX = re.compile(r"\[(Current|Summary)\] ?")
_PLAIN = re.compile(r"(\[(?:Current|Summary)\] )([A-Z_]{1,20}) * - (Takes\(s\): .*)", re.ASCII)
_CELL = re.compile(r"([\w.]{1,10}(?:\(m?s\))?): (\S{1,16})", re.ASCII)
_WAITS = re.compile(r"\[(?:Current|Summary)\] (?:KEYING|THINKING)TIME-[A-Z_]{1,20} * - [\d.]{1,12}s", re.ASCII)
_BORDER = re.compile(r"(?:\+-+){2,}\+", re.ASCII)
_TPMC = re.compile(r"tpmC: ([\d.]{1,16})(?:, tpmTotal: ([\d.]{1,16}))?(?:, efficiency: [\d.]{1,16}%)?", re.ASCII)
_ANALYTIC = re.compile(r"\W*\[(?:Current|Summary)\]\W+Q\d{1,2}\b.*|\[\{.*\"Operation\": ?\"Q\d.*", re.ASCII)
_COMMAND = re.compile(r"(?:.*[/ ])?(?:go-tpc|tiup bench) (?:.* )?tpcc .*", re.ASCII)
_OPTIONS = {
    "warehouses": re.compile(r"--warehouses[ =](\d{1,6})\b", re.ASCII),
    "threads": re.compile(r"(?:--threads[ =]|-T ?)(\d{1,6})\b", re.ASCII),
}
_EVERY = re.compile(r"--interval[ =](\d{1,5})s\b", re.ASCII)
_MARKS = {"warehouses": "w", "threads": "c"}
_THREAD_ENDED = re.compile(r"execute run failed, err .*")
_SAYS_NOTHING = re.compile(
    r"Finished|\[[-\d: ]{19}\] (?:execute run failed, err .*|run worker \d+ stopped due to timeout.*)"
    r"|maxprocs: .*|Auto-setting connection max lifetime to .*",
    re.ASCII,
)
# What the columns of all forms are called here.
_COLUMNS = {
    "takes(s)": "takes_s", "count": "count", "tpm": "tpm", "sum(ms)": "sum_ms", "avg(ms)": "mean_ms",
    "50th(ms)": "p50_ms", "90th(ms)": "p90_ms", "95th(ms)": "p95_ms", "99th(ms)": "p99_ms", "99.9th(ms)": "p99_9_ms",
    "99 9th(ms)": "p99_9_ms", "max(ms)": "max_ms",
}  # fmt: skip
_NEEDED = ("takes_s", "count", "tpm", "sum_ms")
_A_SECOND = (0.9, 1.1)
_ROUNDED_S = 0.1
_FEWEST = 3
"""Intervals whose own times say how long all of them are."""
_IN_A_TAIL = 0.5
_LONGEST_COMMAND = 4096  # the time that its pattern takes grows with the square of the line
_MOST_INTERVALS = 1_000_000


class _Line(NamedTuple):
    """What go-tpc prints of a type: `of` is the interval or the summary, `type` may end in _err."""

    of: str
    type: str
    figures: dict[str, float]


class _Figures(NamedTuple):
    """The two figures at the end."""

    tpmc: float
    total: float | None


@dataclass
class _Interval:
    """Transactions and errors of an interval by type, and its longest time since a first transaction."""

    takes_s: float = 0.0
    counts: dict[str, int] = field(default_factory=dict)


@dataclass
class _Log:
    """One log: `line` is where it begins.

    `doubt` is a line that was not understood, so that an interval may be missing; `damaged`: one of its summary.
    """

    file: str
    path: Path
    line: int
    options: dict[str, int] = field(default_factory=dict)
    intervals: list[_Interval] = field(default_factory=list)
    last: str = ""
    summary: dict[str, dict[str, float]] = field(default_factory=dict)
    figures: _Figures | None = None
    ended_thread: int | None = None
    doubt: int | None = None
    damaged: bool = False
    analytic: bool = False

    def remark(self, text: str, line: int | None = None) -> Remark:
        """Something to say of it."""
        return Remark(self.file, line or self.line, text)

    def refusal(self, what: str, hint: str) -> UsageError:
        """An error that names where it begins."""
        return refusal(self.path, self.line, what, hint)

    @property
    def is_whole(self) -> bool:
        """Whether it has its end."""
        return self.figures is not None and "new_order" in self.summary and not self.damaged

    @property
    def duration_s(self) -> float:
        """T: the longest time in the summary. Without it, its seconds or longer intervals."""
        if self.is_whole:
            return max(one["takes_s"] for one in self.summary.values())
        return float(len(self.intervals) * (_every_s(self) or 1))

    def done(self, name: str) -> int:
        """Transactions of a type, or errors: those of the summary, else of the intervals."""
        if self.is_whole:
            return int(self.summary.get(name, {}).get("count", 0))
        return sum(one.counts.get(name, 0) for one in self.intervals)


class GoTpcLogs:
    """The importer of logs of go-tpc."""

    name = "go-tpc"
    expects = "logs of go-tpc tpcc run: text, tables or JSON"

    def recognises(self, file: File) -> str | None:
        """A line of a type of TPC-C."""
        if "Takes(s)" not in file.beginning and "TAKES(S)" not in file.beginning:
            return None
        reader = _Reader()
        for line in file.beginning.split("\n"):
            if any(isinstance(one, _Line) for one in reader.read(line.strip()) or ()):
                return "it has a line of new orders, payments or the like"
        return None

    def runs(self, source: Source, told: ImportRequest) -> Iterator[ImportedRun]:
        """One run for each log."""
        if told.test is not None:
            raise UsageError(f"{source}: logs of go-tpc have no test", hint="leave --test out")
        said: list[Remark] = []
        logs: list[tuple[str, _Log]] = []
        for file in source.in_order:
            if source.many and self.recognises(file) is None:
                continue
            for log in _parse(file.name, source.blocks(file)):
                if log.analytic:
                    said.append(log.remark("it is of CH-benCHmark: queries ran next to it: this log was left out"))
                    continue
                if not log.is_whole and not _has_seconds(log) and _every_s(log) is None:
                    why = "it has no summary, and no intervals of known length"
                    said.append(log.remark(f"{why}: this log was left out"))
                    continue
                dbms = told.dbms or dbms_of(source.folders(file.name))
                if dbms is None:
                    raise log.refusal(*NO_DBMS)
                logs.append((dbms, log))
        if said and not logs:
            raise nothing_used(source, said)
        repeats: dict[tuple[str, str], int] = {}
        logs.sort(key=lambda one: (one[1].file, one[1].line))
        sizes = [log.options for _, log in logs]
        setups = setups_of(told.setup, _MARKS, sizes, lambda number, what, hint: logs[number][1].refusal(what, hint))
        for (dbms, log), setup in zip(logs, setups, strict=True):
            repeats[setup, dbms] = repeats.get((setup, dbms), 0) + 1
            yield _run(setup, dbms, repeats[setup, dbms], log, said)
            said = []  # the import has them once, however many runs there are


IMPORTER = GoTpcLogs()


class _Reader:
    """Reads lines of all three forms. A table has a header, which its rows need."""

    def __init__(self) -> None:
        self._header: list[str] = []

    def read(self, line: str) -> list[_Line | _Figures] | None:
        """What a line says of types and figures, nothing for the frame of a table; None if it is none of all this."""
        if line[:1] == "[" and (found := _PLAIN.fullmatch(line)):
            cells = [_CELL.fullmatch(one) for one in found[3].split(", ")]
            names = [cell[1] if cell else "" for cell in cells]
            texts = [cell[2] if cell else "" for cell in cells]
            return _line(found[1], found[2], dict(zip(names, texts, strict=True))) if _apart(names) else None
        if _WAITS.fullmatch(line):
            return []
        if line[:2] == "[{":
            return _from_json(line)
        if found := _TPMC.fullmatch(line):
            return _end(found[1], found[2])
        if _BORDER.fullmatch(line):
            return []
        if line[:1] != "|":
            return None
        cells_of = [cell.strip() for cell in line.strip("|").split("|")]
        if cells_of[0] in ("PREFIX", "TPMC"):
            self._header = [cell.lower() for cell in cells_of]
            return []
        if len(cells_of) != len(self._header) or not _apart(self._header):
            return None
        row = dict(zip(self._header, cells_of, strict=True))
        if "tpmc" in row:
            return _end(row["tpmc"], row.get("tpmtotal"))
        return _line(row.pop("prefix"), row.pop("operation", ""), row)


def _apart(names: Sequence[str]) -> bool:
    return len({*names}) == len(names)


def _end(tpmc: str, total: str | None) -> list[_Line | _Figures] | None:
    if not _NUMBER.fullmatch(tpmc) or (total is not None and not _NUMBER.fullmatch(total)):
        return None
    return [_Figures(float(tpmc), None if total is None else float(total))]


def _line(prefix: str, type_: str, cells: Mapping[str, str]) -> list[_Line | _Figures] | None:
    """A type of TPC-C, if it has all of its figures, and they fit: a rate is a count over its time.

    Nothing for times of thinking and keying.
    """
    of, name = _PREFIX.fullmatch(prefix), type_.lower()
    if of is not None and name.startswith(("keyingtime-", "thinkingtime-")):
        return []
    known = {_COLUMNS.get(column.lower(), ""): text for column, text in cells.items()}
    if of is None or name.removesuffix("_err") not in _TYPES or not {*known} >= {*_NEEDED} or "" in known:
        return None
    if not _COUNT.fullmatch(known["count"]) or not all(map(_NUMBER.fullmatch, known.values())):
        return None
    figures = {column: float(text) for column, text in known.items()}
    if figures["count"] < 1 or not _fits(figures["count"], figures["takes_s"], figures["tpm"]):
        return None
    return [_Line(of[1], name, figures)]


def _fits(count: float, takes_s: float, tpm: float) -> bool:
    """Whether a rate is that of a count and a time, which have one digit after the point."""
    most = 60 * count / max(takes_s - 0.051, 0.0001)
    return 60 * count / (takes_s + 0.051) - 0.06 <= tpm <= most + 0.06


def _from_json(line: str) -> list[_Line | _Figures] | None:
    """What a line of JSON says: all types of an interval, or the figures at the end."""
    try:
        rows = json.loads(line)
    except (ValueError, RecursionError):
        return None
    found: list[_Line | _Figures] = []
    for row in rows if isinstance(rows, list) else [None]:
        if not isinstance(row, dict) or not all(isinstance(text, str) for text in row.values()):
            return None
        if "tpmC" in row:
            one = _end(row["tpmC"], row.get("tpmTotal"))
        else:
            one = _line(row.pop("Prefix", ""), row.pop("Operation", ""), row)
        if one is None:
            return None
        found += one
    return found


def _parse(file: str, blocks: LineBlocks) -> list[_Log]:
    """The logs of a file. A line that is not understood makes its intervals doubtful: one may be missing."""
    logs: list[_Log] = []
    log, command, reader, before = None, dict[str, int](), _Reader(), None
    for first, texts in blocks:
        for number, text in enumerate(texts, start=first):
            line = text.strip()
            if not line:
                continue
            said = None if number == blocks.unterminated and not _TPMC.fullmatch(line) else reader.read(line)
            if said:
                if log is None or log.figures is not None:
                    log = _Log(file, blocks.path, number, command, doubt=before)
                    command, before = {}, None
                    logs.append(log)
                if all(_take(log, one) for one in said):
                    continue
            elif said is not None or _SAYS_NOTHING.fullmatch(line):
                continue
            elif (log is None or log.figures is not None) and _is_command(line):
                forms = {**_OPTIONS, "every_s": _EVERY}
                command = {name: int(found[1]) for name, form in forms.items() if (found := form.search(line))}
                continue
            elif _THREAD_ENDED.fullmatch(line) and log is not None:
                log.ended_thread = log.ended_thread or number
                continue
            blocks.lost.add([number])
            if (log is None or log.figures is not None) and any(mark in line for mark in ("Takes", "Count", "|")):
                before = number  # it may be of the first interval
            if log is not None and _ANALYTIC.fullmatch(line):
                log.analytic = True
            if log is not None and log.figures is None and number != blocks.unterminated:
                if log.summary or "Summary" in line:
                    log.damaged = True
                else:
                    log.doubt = log.doubt or number
    for log in logs:
        if not log.summary and log.intervals:
            log.intervals.pop()  # nothing says that it has all of its types
    return logs


def _is_command(line: str) -> bool:
    return len(line) <= _LONGEST_COMMAND and _COMMAND.fullmatch(line) is not None


def _take(log: _Log, one: _Line | _Figures) -> bool:
    """Take in what a line says. Types of an interval are in the order of their names: another order begins the next."""
    if isinstance(one, _Figures):
        orders = log.summary.get("new_order", {}).get("tpm", 0.0)
        if abs(one.tpmc - orders) > 0.2 + 0.01 * orders:
            return False  # it is cut, or of another log
        log.figures = one
        return True
    count = int(one.figures["count"])
    if one.of == "Summary":
        if log.summary and one.type <= log.last:
            return False
        log.summary[one.type], log.last = one.figures, one.type
        return True
    if log.summary or one.type == log.last or len(log.intervals) >= _MOST_INTERVALS:
        return False
    if one.type < log.last or not log.intervals:
        log.intervals.append(_Interval())
    log.last = one.type
    log.intervals[-1].counts[one.type] = count
    log.intervals[-1].takes_s = max(log.intervals[-1].takes_s, one.figures["takes_s"])
    return True


def _has_seconds(log: _Log) -> bool:
    """Whether its intervals are seconds, and none is missing."""
    if log.doubt is not None or not log.intervals or (log.summary and not log.is_whole):
        return False
    if not all(_A_SECOND[0] <= one.takes_s <= _A_SECOND[1] for one in log.intervals[1:]):
        return False
    return log.intervals[0].takes_s <= _A_SECOND[1] and (
        not log.is_whole or -1 <= round(log.duration_s - len(log.intervals), 1) < _A_SECOND[0]
    )


def _every_s(log: _Log) -> int | None:
    """How long its intervals are, if that is more than a second, it is known, and none is missing; else None.

    An interval ends when it is time, so all are equally long. Its own times begin with its first answer.
    """
    told = log.options.get("every_s")
    takes = [one.takes_s for one in log.intervals]
    if log.doubt is not None or not takes or told == 1 or (log.summary and not log.is_whole):
        return None
    longest = max(takes)
    every = told or round(longest)
    is_known = told is not None or (len(takes) >= _FEWEST and abs(longest - every) <= _ROUNDED_S)
    least, most = (share * every for share in _A_SECOND)
    if every < 2 or not is_known or takes[0] > most or not all(least <= one <= most for one in takes[1:]):
        return None
    return every if not log.is_whole or _is_complete(log, every) else None


def _is_complete(log: _Log, every: int) -> bool:
    """Whether no interval is missing but the last, which go-tpc may not print: it ends as the test does.

    One without a transaction is not printed. What the summary has beyond the others then is nearly nothing.
    """
    tail_s = round(log.duration_s - every * len(log.intervals), 1)
    if tail_s < _A_SECOND[0] * every:
        return tail_s >= -1
    counted = sum(one.counts.get(name, 0) for one in log.intervals for name in _TYPES)
    rest = sum(map(log.done, _TYPES)) - counted
    return tail_s <= _A_SECOND[1] * every and rest >= _IN_A_TAIL * counted / len(log.intervals)


def _beyond(log: _Log) -> dict[str, int]:
    """What the summary has beyond the intervals, by type."""
    names = [*_TYPES, *(f"{name}_err" for name in _TYPES)]
    return {name: log.done(name) - sum(one.counts.get(name, 0) for one in log.intervals) for name in names}


def _longer(log: _Log, said: list[Remark]) -> int | None:
    """The length of its intervals in seconds, if they become intervals; None if not."""
    every = None if _has_seconds(log) else _every_s(log)
    if every is None:
        return None
    if min(_beyond(log).values()) < 0:
        said.append(log.remark("its intervals have more transactions than its summary: only its totals were imported"))
        return None
    said.append(log.remark(f"its intervals are of {every} s: they become intervals, not seconds"))
    return every


def _rest(log: _Log, said: list[Remark]) -> dict[str, int] | None:
    """What the summary has beyond the intervals, by type; None if they become no seconds."""
    if not log.intervals or (not _has_seconds(log) and _every_s(log) is not None):
        return None
    if not _has_seconds(log):
        why = "are of unknown length, or one may be missing"
        said.append(log.remark(f"its {len(log.intervals)} intervals {why}: only its totals were imported", log.doubt))
        return None
    rest = _beyond(log)
    if min(rest.values()) < 0:
        said.append(log.remark("its intervals have more transactions than its summary: only its totals were imported"))
        return None
    return rest


def _run(setup: str, dbms: str, repeat: int, log: _Log, warnings: Sequence[Remark]) -> ImportedRun:
    """A log as a run with one step."""
    said, error = list(warnings), None
    if not log.is_whole:
        error = log.remark(f"its log ends after {len(log.intervals)} intervals without its summary")
    elif log.ended_thread is not None:
        error = log.remark("a thread has ended with an error", log.ended_thread)
    total = log.figures.total if log.figures is not None and log.is_whole else None
    if (
        total is not None
        and abs(total - sum(log.summary.get(name, {}).get("tpm", 0.0) for name in _TYPES)) > 0.01 * total
    ):
        said.append(log.remark("its types do not add up to its tpmTotal"))
    rest, every = _rest(log, said), _longer(log, said)
    threads, status = log.options.get("threads"), "complete" if error is None else "failed"
    times = {"step": _STEP, "start_s": 0.0, "end_s": log.duration_s}
    worker = {
        **times, **_WORKER, "role": _ROLE, "status": status, "ops": sum(map(log.done, _TYPES)), "rows": None,
        "errors": sum(log.done(f"{name}_err") for name in _TYPES), "retries": None, "unknown": None,
        "connections": threads, "ops_from": "counts",
    }  # fmt: skip
    step = {**times, "kind": _STEP, "status": status, "clients": 1, "duration_s": log.duration_s}
    rows: dict[str, Any] = {"workers": [worker], "steps": [step]}
    if rest is not None:
        rows["ops"] = _Seconds(log, rest)
    elif log.figures is not None and log.is_whole and log.duration_s > 0:
        # By the definition: go-tpc itself divides by its own clock.
        value = 60 * log.done("new_order") / log.duration_s
        rows["published"] = [{"step": _STEP, "metric": "notpm", "value": value}]
    if every is not None:
        rows["intervals"] = _Intervals(log, every)
    printed: dict[str, Any] = dict(log.summary) if log.is_whole else {}
    if log.figures is not None and log.is_whole:
        printed |= {"tpmc": log.figures.tpmc, "tpm_total": total}
    return ImportedRun(
        setup=setup,
        dbms=dbms,
        repeat=repeat,
        line=log.line,
        file=log.file,
        benchmark="tpcc",
        steps=[ImportedStep(_STEP, log.line, {"seconds": log.duration_s, "printed": printed}, [log.file], threads)],
        rows=rows,
        resolution_s=1.0 if rest is not None else None,
        missing=_missing(rest is not None, every is not None),
        workload={
            "clients": 1,
            "program": {"name": "go-tpc"},
            "warehouses_used": log.options.get("warehouses"),
            "setup": {"sets": 1, "terminals": threads},
        },
        error=error,
        failed_step=None if error is None else _STEP,
        warnings=said,
        private=True,
    )


@dataclass(frozen=True)
class _Intervals:
    """The rows of a log's longer intervals, of `every` seconds each, type by type, made when they are asked for."""

    log: _Log
    every: int

    def __iter__(self) -> Iterator[Row]:
        for name in _TYPES:
            for number, one in enumerate(self.log.intervals, start=1):
                # A type that is not printed had no transaction.
                done, failed = one.counts.get(name, 0), one.counts.get(f"{name}_err", 0)
                yield {
                    "step": _STEP, "client": 0, "operation": name, "end_s": float(number * self.every),
                    "seconds": float(self.every), "ops": done, "ops_per_s": done / self.every,
                    "errors_per_s": failed / self.every,
                }  # fmt: skip


@dataclass(frozen=True)
class _Seconds:
    """The rows of a log's seconds and of its last part, type by type, made when they are asked for."""

    log: _Log
    rest: Mapping[str, int]

    def __iter__(self) -> Iterator[Row]:
        for name in _TYPES:
            of_type: Mapping[str, Any] = {"step": _STEP, **_WORKER, "operation": name}
            failed = f"{name}_err"
            for second, one in enumerate(self.log.intervals):
                # A type that is not printed had no transaction.
                yield {
                    **of_type, "second": second, "ops": one.counts.get(name, 0), "errors": one.counts.get(failed, 0),
                }  # fmt: skip
            if any(self.rest.values()):
                last = max(len(self.log.intervals), int(self.log.duration_s))
                yield {**of_type, "second": last, "ops": self.rest[name], "errors": self.rest[failed]}


def _missing(by_second: bool, by_interval: bool) -> dict[str, str]:
    """Why columns are NULL, as the manifest has it."""
    not_printed, not_said = "go-tpc does not print it", "a log does not say it"
    found = {
        **{f"workers.{name}": not_printed for name in ("rows", "retries", "unknown")},
        **{f"workers.{name}": not_said for name in ("connections", "cpu_user_s", "cpu_system_s", "unrecorded_s")},
        "steps.history_list_length": not_said,
        "steps.existing_rows": not_said,
        "steps.client_bound": "not judged: a log does not say what the client used",
    }
    if by_second:
        found |= {f"ops.{name}": not_printed for name in ("rows", "retries", "unknown")}
        found["ops.service_sum_us"] = "not imported: its percentiles and means are those of times from 1 ms to 16 s"
        found["ops.service_max_us"] = "go-tpc prints it with one digit"
        found |= {
            f"ops.{name}": "go-tpc prints percentiles of each interval, which are no histogram and are not imported"
            for name in ("service_bins", "service_counts")
        }
    if by_interval:
        found["intervals.retries_per_s"] = not_printed
    return found
