"""Imports what the original LinkBench (`LinkBenchDriver`, Java) leaves: its log, and the CSV files of its statistics.

A log has the step `load`, or requests: `t2` for two requesters. Files of one folder that differ only in their ending
belong together: the log `req.txt`, the statistics `req.csv` (`-csvstats`) and the intervals `req.stream.csv`
(`-csvstream`). T is from when the first requester ended its warm-up to when the last one stopped, by the clock of the
log, which is not what `Requests/second` is divided by. Without a log, T is the longest time that a thread's intervals
add up to, and the statistics have the totals.

An interval of 0.9 to 1.1 s is a second, if all lines of its thread up to it go on from those before them: their totals
are cumulative. Longer ones are intervals, each as long as its line says; those of all requesters are added up where
they begin and end at about the same time. Requests to delete a link are in no interval. Percentiles are of a sample and
are not stored. `sampleDuration_us` is in milliseconds, whatever its name says. Sizes (`RANGE_SIZE`, `*_NLINKS`) are no
requests.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from ibench_lib.base.wording import count
from ibench_lib.errors import UsageError
from ibench_lib.importers.importer import ImportedRun, ImportedStep, ImportRequest, Remark, Row, nothing_used
from ibench_lib.importers.layout import NO_DBMS, dbms_of
from ibench_lib.importers.lines import LineBlocks, refusal
from ibench_lib.importers.source import File, Source

_IN_INTERVALS = {
    *("MULTIGET_LINK", "GET_LINKS_LIST", "COUNT_LINK", "UPDATE_LINK", "ADD_LINK"),
    *("ADD_NODE", "UPDATE_NODE", "DELETE_NODE", "GET_NODE"),
}
_SIZES = "RANGE_SIZE"
_WHOLE_INTERVAL = _IN_INTERVALS | {_SIZES}
_REQUESTS = _IN_INTERVALS | {"DELETE_LINK"}
_BULK = {"LOAD_NODE_BULK", "LOAD_LINKS_BULK", "LOAD_COUNTS_BULK"}
_COUNT_ROWS = "LOAD_COUNTS_BULK_NLINKS"
_SECOND_MS = (900, 1100)
_APART = 0.1
"""How far apart requesters may begin and end an interval of all of them, as a part of its length."""

_STREAM = "threadID,timestamp,op,totalops,totalerrors,ops,sampleDuration_us,sampleOps,mean_us"
_STATS = "op,count,p25_low,p25_high"
_LINE = re.compile(
    r"(?:TRACE|DEBUG|INFO|WARN|ERROR|FATAL) +(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}) \[(\w[\w .-]{0,60})\]: (.*)",
    re.ASCII,
)
_N, _DECIMAL = r"(\d{1,15})", r"(\d{1,12}(?:\.\d{1,17})?(?:E-?\d{1,2})?)"
_OF_SAMPLE = rf" mean = {_DECIMAL} min = \d+(?: \d\d% = \d+){{6}} max = \d+"
_INTERVAL = re.compile(
    rf"ThreadID = (\d{{1,4}}) ([A-Z_]{{1,40}}) total[oO]ps = {_N} totalErrors = {_N} ops = {_N} "
    rf"sampleDuration = (\d{{1,9}})ms samples = {_N}(?:{_OF_SAMPLE})?",
    re.ASCII,
)
_STREAM_ROW = re.compile(
    rf"(\d{{1,4}}),(\d{{9,10}}),([A-Z_]{{1,40}}),{_N},{_N},{_N},(\d{{1,9}}),{_N},(?:{_DECIMAL}(?:,\d+){{8}}|,{{8}})",
    re.ASCII,
)
_RANGE = r"\[[\d.]+,[\d.]+\]ms"
_TOTAL = re.compile(
    rf"([A-Z_]{{1,40}}) count = {_N}(?: +p\d\d = {_RANGE}){{5}} +max = {_DECIMAL}ms +mean = {_DECIMAL}ms", re.ASCII
)
_STATS_ROW = re.compile(rf"([A-Z_]{{1,40}}),{_N}(?:,[\d.]+){{10}},{_DECIMAL},{_DECIMAL}", re.ASCII)
_BEGINS = re.compile(r"Config file: .*")
_LOADERS = re.compile(r"Starting loaders (\d{1,4})", re.ASCII)
_LOADER = re.compile(r"Starting loader thread +#(\d{1,4}) loading (?:nodes|links)", re.ASCII)
_LOADED = re.compile(
    rf"LOAD PHASE COMPLETED\. +Loaded {_N} nodes \(Expected {_N}\)\. +Loaded {_N} links \([\d.]+ links per node\)\. +"
    rf"Took {_DECIMAL} seconds\. +Links/second = {_N}",
    re.ASCII,
)
_STARTED = re.compile(
    rf"Requester thread #(\d{{1,4}}) started: will do {_N} ops after (\d{{1,6}}) second warmup", re.ASCII
)
_WARM = re.compile(
    rf"Requester #(\d{{1,4}}) warmup finished +after {_N} warmup requests\. +\d+/\d+ requests done", re.ASCII
)
_NONE = {"rows": None, "errors": None, "retries": None, "unknown": None}
_PROGRESS = re.compile(rf"Requester #(\d{{1,4}}) {_N}/\d+ requests done", re.ASCII)
_STOPPED = re.compile(r"Requester #(\d{1,4}): time limit of (\d{1,9})s elapsed, shutting down\.", re.ASCII)
_REQUESTED = re.compile(rf"ThreadID = (\d{{1,4}}) total requests = {_N} requests/second = \d+ .*", re.ASCII)
_DONE = re.compile(rf"REQUEST PHASE COMPLETED\. {_N} requests done in {_N} seconds\. *Requests/second = {_N}", re.ASCII)
# What says nothing of a figure, or only of who measured.
_SAYS_NOTHING = re.compile(
    r"Workload config file: .*|Starting requesters .*|Using random seed .*|Loading real distribution data .*"
    r"|Will generate graph nodes during loading|Loading of nodes .* done|Skipping .*"
    r"|\d+/\d+ id1s loaded \(.*|\d+/\d+ requests finished: .*|Requester #\d+ received .*",
    re.ASCII,
)
_COMMAND = re.compile(r"(?:# )?(?:\S*/)?java .*com\.facebook\.LinkBench\.LinkBenchDriver .*")
_ENDINGS = re.compile(r"(?:[._-]?(?:stream|csvstream|stats|csvstats|log|out))*(?:\.(?:csv|txt|log|out))?(?:\.gz)?$")
_LOAD, _TESTED = "load", "requests"
_MOST_S = 1e7


@dataclass
class _Thread:
    """A thread of a log or of a file of intervals. `totals` are cumulative, with the errors, by operation.

    `intervals` are the whole ones up to the first line that does not go on from those before it: their milliseconds,
    and the operations and errors of each kind. `sizes` are the rows of bulk loads, None if they are not exact.
    """

    started: datetime | None = None
    warm_up_s: int = 0
    warm: datetime | None = None
    warm_requests: int | None = None
    ended: datetime | None = None
    requests: int | None = None
    seen: tuple[datetime, int] | None = None
    totals: dict[str, tuple[int, int]] = field(default_factory=dict)
    intervals: list[tuple[int, dict[str, tuple[int, int]]]] = field(default_factory=list)
    begun: dict[str, tuple[int, int]] = field(default_factory=dict)
    begun_ms: int = 0
    broken: bool = False
    count_rows: int | None = 0

    def take(self, operation: str, numbers: Sequence[int], mean: float | None, exact: float) -> bool:
        """Take in a line of an interval. False if it does not go on from the lines before it."""
        total, errors, ops, ms, samples = numbers
        before, errors_before = self.totals.get(operation, (0, 0))
        fits = total == before + ops and errors >= errors_before and samples <= ops
        if operation not in _WHOLE_INTERVAL:
            if fits:
                self.totals[operation] = (total, errors)
                if operation == _COUNT_ROWS:
                    self._add_rows(ops, samples, mean, exact)
            return fits
        if not fits or operation in self.begun or (self.begun and ms != self.begun_ms):
            self.broken = True
            return False
        self.totals[operation] = (total, errors)
        if self.broken:
            return True
        self.begun[operation], self.begun_ms = (ops, errors - errors_before), ms
        if self.begun.keys() == _WHOLE_INTERVAL:
            self.intervals.append((ms, self.begun))
            self.begun = {}
        return True

    def _add_rows(self, ops: int, samples: int, mean: float | None, exact: float) -> None:
        """Rows of bulk loads: their mean is of all of them if each is in the sample, and its digits must suffice."""
        if ops == 0:
            return
        known = samples == ops and mean is not None and exact * ops < 0.5 and self.count_rows is not None
        self.count_rows = (self.count_rows or 0) + round((mean or 0) * ops) if known else None

    @property
    def begins(self) -> datetime | None:
        """When its requests began to count: at the end of its warm-up."""
        return self.warm or (self.started if not self.warm_up_s else None)

    @property
    def known(self) -> int:
        """Its requests, or the most that it is known to have done."""
        return self.requests if self.requests is not None else self.seen[1] if self.seen else 0

    @property
    def interval_s(self) -> float:
        """Length of its intervals together."""
        return sum(ms for ms, _ in self.intervals) / 1000

    def seconds(self) -> Iterator[tuple[int, dict[str, tuple[int, int]]]]:
        """The number of each second from 0, and what was done in it."""
        end_ms, last = 0, -1
        for ms, done in self.intervals:
            end_ms += ms
            second = (end_ms + 500) // 1000 - 1
            if _SECOND_MS[0] <= ms <= _SECOND_MS[1] and second > last:
                last = second
                yield second, done

    def longer(self) -> list[_Longer | None]:
        """Its intervals, with None in place of those that are not longer than a second."""
        end_ms, found = 0, list[_Longer | None]()
        for ms, done in self.intervals:
            end_ms += ms
            if not _is_longer(ms):
                found.append(None)
                continue
            kinds = {name.lower(): one for name, one in done.items() if name != _SIZES}
            counts = {name: ops for name, (ops, _) in kinds.items()}
            rates = {name: (1000 * ops / ms, 1000 * errors / ms) for name, (ops, errors) in kinds.items()}
            found.append(_Longer((end_ms - ms) / 1000, end_ms / 1000, counts, rates))
        return found


def _is_longer(ms: int) -> bool:
    """Whether an interval of so many milliseconds is too long for a second."""
    return ms > _SECOND_MS[1]


@dataclass(frozen=True)
class _Longer:
    """An interval that is longer than a second: its ends, in seconds since the requests began, and what was done.

    `rates` are operations and errors per second of each kind; those of several requesters are sums of theirs.
    """

    begin_s: float
    end_s: float
    done: Mapping[str, int]
    rates: Mapping[str, tuple[float, float]]


@dataclass
class _Phase:
    """The load or the requests of a log, or of files without one. `line` is where it begins.

    `totals` are count, slowest and mean in ms of each operation; `clock` is its last time.
    """

    kind: str
    file: str
    path: Path
    line: int
    files: list[str] = field(default_factory=list)
    threads: dict[int, _Thread] = field(default_factory=dict)
    loaders: int | None = None
    first: datetime | None = None
    clock: datetime | None = None
    totals: dict[str, tuple[int, float, float]] = field(default_factory=dict)
    loaded: tuple[int, int, int] | None = None
    done: tuple[int, int, int] | None = None
    limit_s: int | None = None
    has_log: bool = True
    began: datetime | None = None

    def remark(self, text: str) -> Remark:
        """Something to say of it."""
        return Remark(self.file, self.line, text)

    def thread(self, number: int) -> _Thread:
        """A thread of it."""
        return self.threads.setdefault(number, _Thread())

    @property
    def requesters(self) -> int:
        """How many threads it has, by the largest number."""
        return max(self.threads, default=-1) + 1

    @property
    def step(self) -> str:
        """Its step."""
        return _LOAD if self.kind == _LOAD else f"t{self.requesters}"

    @property
    def requests(self) -> int:
        """Requests of all threads: those of a log, or of its statistics."""
        if self.has_log:
            return sum(thread.known for thread in self.threads.values())
        return sum(total[0] for name, total in self.totals.items() if name in _REQUESTS)

    @property
    def start(self) -> datetime | None:
        """When it began."""
        if self.kind == _LOAD:
            return self.first
        return min((thread.begins for thread in self.threads.values() if thread.begins), default=None)

    @property
    def end(self) -> datetime | None:
        """When its last thread ended, or up to when its counts are known."""
        if self.kind == _LOAD:
            return self.clock
        ends = [thread.ended or (thread.seen[0] if thread.seen else None) for thread in self.threads.values()]
        return max((end for end in ends if end is not None), default=None)

    @property
    def duration_s(self) -> float:
        """T in seconds; 0 if it is not known."""
        if not self.has_log:
            return max((thread.interval_s for thread in self.threads.values()), default=0.0)
        start, end = self.start, self.end
        seconds = (end - start).total_seconds() if start is not None and end is not None else 0.0
        return seconds if 0 < seconds <= _MOST_S else 0.0

    @property
    def failure(self) -> str | None:
        """Why it is no whole step."""
        if not self.has_log:
            return None
        if self.kind == _LOAD:
            return None if self.loaded is not None else "its log ends before the load has"
        threads = [self.threads.get(number) for number in range(self.requesters)]
        if self.done is None:
            return f"its log ends after {self.duration_s:.0f} s without its totals"
        if any(thread is None or thread.requests is None or thread.begins is None for thread in threads):
            return "it does not say when each requester began, and what it has done"
        if self.requests != self.done[0]:
            return f"its requesters did {self.requests:,} requests, and its totals are {self.done[0]:,}"
        return None


@dataclass
class _Csv:
    """Files of statistics and intervals that go with a log. `began` is the wall time at which the intervals began."""

    file: str
    path: Path
    totals: dict[str, tuple[int, float, float]] = field(default_factory=dict)
    threads: dict[int, _Thread] = field(default_factory=dict)
    began: datetime | None = None


class LinkBenchLogs:
    """The importer of the original LinkBench."""

    name = "linkbench"
    expects = "logs of the original LinkBench (Java), with the files of -csvstats and -csvstream next to them"

    def recognises(self, file: File) -> str | None:
        """The header of a CSV file, or lines that only its driver prints."""
        lines = file.beginning.split("\n")
        if lines[0].startswith(_STREAM):
            return "its header has threadID, timestamp, op, totalops"
        if lines[0].startswith(_STATS):
            return "its header has op, count, p25_low, p25_high"
        for line in lines[:-1]:
            found = _LINE.fullmatch(line.rstrip("\r"))
            if found and any(one.fullmatch(found[3]) for one in (_STARTED, _LOADERS, _REQUESTED)):
                return "it has lines of loaders or requesters"
        return None

    def runs(self, source: Source, told: ImportRequest) -> Iterator[ImportedRun]:
        """One run for the load and the requests of a dbms; a further log of the same step is of its next repeat."""
        if told.test is not None:
            raise UsageError(f"{source}: logs of LinkBench have no test", hint="leave --test out")
        if told.setup is None:
            raise UsageError(f"{source}: a log does not say of what setup it is", hint="name it with --setup")
        logs: dict[tuple[str, str], list[_Phase]] = {}
        tables: dict[tuple[str, str], list[_Csv]] = {}
        for file in source.in_order:
            if source.many and self.recognises(file) is None:
                continue
            folder, _, base = file.name.rpartition("/")
            key = (folder, _ENDINGS.sub("", base))
            if file.beginning.startswith((_STREAM, _STATS)):
                tables.setdefault(key, []).append(_table(file.name, source.blocks(file)))
            else:
                logs.setdefault(key, []).extend(_phases(file.name, source.blocks(file)))
        said: list[Remark] = []
        phases = [phase for key in sorted({*logs, *tables}) for phase in _joined(logs, tables, key, said)]
        runs: dict[tuple[str, int], dict[str, _Phase]] = {}
        for phase in phases:
            why = _unusable(phase)
            if why is not None:
                said.append(phase.remark(f"{why}: this log was left out"))
                continue
            dbms = told.dbms or dbms_of(source.folders(phase.file))
            if dbms is None:
                raise refusal(phase.path, phase.line, *NO_DBMS)
            repeat = 1
            while phase.step in runs.get((dbms, repeat), {}):
                repeat += 1
            runs.setdefault((dbms, repeat), {})[phase.step] = phase
        if said and not runs:
            raise nothing_used(source, said)
        for (dbms, repeat), steps in runs.items():
            yield _run(told.setup, dbms, repeat, sorted(steps.values(), key=_order), said)
            said = []  # the import has them once, however many runs there are


IMPORTER = LinkBenchLogs()


def _order(phase: _Phase) -> int:
    return 0 if phase.kind == _LOAD else phase.requesters


def _unusable(phase: _Phase) -> str | None:
    """Why a phase becomes no step."""
    if not phase.duration_s:
        return "it does not say how long it took"
    if phase.kind == _TESTED and not phase.requests:
        return "it has no requests"
    if not phase.has_log and any(
        sum(thread.totals.get(name, (0, 0))[0] for thread in phase.threads.values()) != total[0]
        for name, total in phase.totals.items()
        if name in _IN_INTERVALS
    ):
        return "its intervals do not add up to its statistics"
    return None


def _phases(file: str, blocks: LineBlocks) -> list[_Phase]:
    """The loads and requests of a log."""
    phases: list[_Phase] = []
    current: _Phase | None = None
    for first, lines in blocks:
        for number, text in enumerate(lines, start=first):
            line = text.strip()
            if not line or _COMMAND.fullmatch(line):
                continue
            found = _LINE.fullmatch(line)
            at = _time(found[1]) if found else None
            if found is None or at is None:
                blocks.lost.add([number])
                continue
            said = found[3]
            if number == blocks.unterminated and not _DONE.fullmatch(said):
                blocks.lost.add([number])  # it may be cut
                continue
            if _BEGINS.fullmatch(said):
                current = None
                continue
            kind = _LOAD if _LOADERS.fullmatch(said) else _TESTED if _STARTED.fullmatch(said) else None
            if kind is not None and (current is None or current.kind != kind):
                current = _Phase(kind, file, blocks.path, number, [file])
                phases.append(current)
            if not _SAYS_NOTHING.fullmatch(said) and not (current is not None and _take(current, at, said)):
                blocks.lost.add([number])
            if current is not None and current.kind == _LOAD and found[2] != "main" and current.first is not None:
                current.clock = max(at, current.clock or at)
    return phases


def _time(text: str) -> datetime | None:
    """A time of a log, which names no time zone."""
    try:
        return datetime.strptime(text, "%Y-%m-%d %H:%M:%S,%f").replace(tzinfo=UTC)
    except ValueError:
        return None


def _take(phase: _Phase, at: datetime, said: str) -> bool:
    """Take in a line of a phase. Whether it was understood, and is not there twice."""
    if found := _INTERVAL.fullmatch(said):
        if (found[2].startswith("LOAD_")) != (phase.kind == _LOAD):
            return False
        numbers = [int(found[one]) for one in (3, 4, 5, 6, 7)]
        mean = float(found[8]) if found[8] is not None else None
        return phase.thread(int(found[1])).take(found[2], numbers, mean, 0.005)
    if found := _TOTAL.fullmatch(said):
        return _add_total(phase.totals, found)
    if phase.kind == _LOAD:
        return _take_load(phase, at, said)
    return _take_request(phase, at, said)


def _take_load(phase: _Phase, at: datetime, said: str) -> bool:
    if found := _LOADERS.fullmatch(said):
        taken, phase.loaders = phase.loaders is None, int(found[1])
        return taken
    if _LOADER.fullmatch(said):
        phase.first = min(at, phase.first or at)
        return True
    if (found := _LOADED.fullmatch(said)) and phase.loaded is None:
        phase.loaded = (int(found[1]), int(found[3]), int(found[5]))
        return True
    return False


def _take_request(phase: _Phase, at: datetime, said: str) -> bool:
    if found := _STARTED.fullmatch(said):
        thread = phase.thread(int(found[1]))
        if thread.started is not None:
            return False
        thread.started, thread.warm_up_s = at, int(found[3])
    elif found := _WARM.fullmatch(said):
        thread = phase.thread(int(found[1]))
        if thread.warm is not None:
            return False
        thread.warm, thread.warm_requests = at, int(found[2])
    elif found := _PROGRESS.fullmatch(said):
        thread = phase.thread(int(found[1]))
        thread.seen = (at, int(found[2]))
    elif found := _STOPPED.fullmatch(said):
        thread = phase.thread(int(found[1]))
        if thread.ended is not None:
            return False
        thread.ended, phase.limit_s = at, int(found[2])
    elif found := _REQUESTED.fullmatch(said):
        thread = phase.thread(int(found[1]))
        if thread.requests is not None:
            return False
        thread.requests, thread.ended = int(found[2]), thread.ended or at
    elif (found := _DONE.fullmatch(said)) and phase.done is None:
        phase.done = (int(found[1]), int(found[2]), int(found[3]))
    else:
        return False
    return True


def _add_total(totals: dict[str, tuple[int, float, float]], found: re.Match[str]) -> bool:
    if found[1] in totals:
        return False
    totals[found[1]] = (int(found[2]), float(found[3]), float(found[4]))
    return True


def _table(file: str, blocks: LineBlocks) -> _Csv:
    """A file of statistics or of intervals."""
    table = _Csv(file, blocks.path)
    for first, lines in blocks:
        for number, text in enumerate(lines, start=first):
            line = text.strip()
            if not line or (number == 1 and line.startswith((_STREAM, _STATS))):
                continue
            taken = False
            if number != blocks.unterminated:
                if found := _STREAM_ROW.fullmatch(line):
                    numbers = [int(found[one]) for one in (4, 5, 6, 7, 8)]
                    mean = float(found[9]) if found[9] is not None else None
                    thread = table.threads.setdefault(int(found[1]), _Thread())
                    taken = thread.take(found[3], numbers, mean, 1e-6)
                    if taken and table.began is None:
                        ends = datetime.fromtimestamp(int(found[2]), UTC)
                        table.began = ends - timedelta(milliseconds=numbers[3])
                elif found := _STATS_ROW.fullmatch(line):
                    taken = _add_total(table.totals, found)
            if not taken:
                blocks.lost.add([number])
    return table


def _joined(
    logs: Mapping[tuple[str, str], list[_Phase]],
    tables: Mapping[tuple[str, str], list[_Csv]],
    key: tuple[str, str],
    said: list[Remark],
) -> list[_Phase]:
    """The phases of files that belong together: those of the log, with what only the tables have; else the tables'."""
    phases, csvs = logs.get(key, []), sorted(tables.get(key, []), key=lambda csv: csv.file)
    for kind in (_LOAD, _TESTED):
        of_kind = [phase for phase in phases if phase.kind == kind]
        parts = [part for csv in csvs if (part := _of_kind(csv, kind)) is not None]
        if len(of_kind) == 1:
            for part in parts:
                if not _agrees(of_kind[0], part):
                    said.append(Remark(part.file, 1, f"it is not of the log next to it, {kind}: it was left out"))
                    continue
                of_kind[0].files.append(part.file)
                of_kind[0].began = of_kind[0].began or part.began
                for number, thread in part.threads.items():
                    of_kind[0].thread(number).count_rows = thread.count_rows
        elif parts and not of_kind:
            joined = _Phase(kind, parts[0].file, parts[0].path, 1, [part.file for part in parts], has_log=False)
            for part in parts:
                joined.totals.update(part.totals)
                joined.threads.update(part.threads)
                joined.began = joined.began or part.began
            if kind == _LOAD or not (joined.totals and joined.threads):
                needed = "a log" if kind == _LOAD else "a log, or both the file of -csvstats and that of -csvstream"
                said.append(joined.remark(f"the {kind} needs {needed}: it was left out"))
            else:
                phases = [*phases, joined]
        elif parts:
            said.extend(Remark(part.file, 1, "the log next to it has several: it was left out") for part in parts)
    return phases


def _of_kind(csv: _Csv, kind: str) -> _Csv | None:
    """The part of a table that is of the load, or of the requests; None if it has none."""
    is_load = kind == _LOAD
    totals = {name: total for name, total in csv.totals.items() if name.startswith("LOAD_") == is_load}
    threads = {
        number: thread
        for number, thread in csv.threads.items()
        if any(name.startswith("LOAD_") == is_load for name in thread.totals)
    }
    return _Csv(csv.file, csv.path, totals, threads, csv.began) if totals or threads else None


def _agrees(phase: _Phase, csv: _Csv) -> bool:
    """Whether a table has the counts of a log."""
    counts = all(phase.totals.get(name, total)[0] == total[0] for name, total in csv.totals.items())
    return counts and all(
        thread.totals.items() <= phase.threads[number].totals.items() if number in phase.threads else False
        for number, thread in csv.threads.items()
    )


def _run(setup: str, dbms: str, repeat: int, phases: Sequence[_Phase], warnings: Sequence[Remark]) -> ImportedRun:
    """The phases of a dbms as the steps of a run."""
    rows: dict[str, list[Row]] = {"workers": [], "steps": []}
    said, failed = list(warnings), {}
    seconds: list[tuple[_Phase, int, _Thread]] = []
    longer: list[_Phase] = []
    began = next((phase.start for phase in phases if phase.start is not None), None)
    start_s = 0.0
    for phase in phases:
        if phase.has_log and began is not None and phase.start is not None:
            start_s = max(start_s, (phase.start - began).total_seconds())
        if phase.failure is not None:
            failed[phase.step] = phase.remark(phase.failure)
        (_add_load if phase.kind == _LOAD else _add_requests)(rows, phase, start_s, said)
        seconds += _seconds(phase, said)
        longer += [phase] if _has_longer(phase, said) else []
        start_s += phase.duration_s
    with_seconds = any(True for *_, thread in seconds for _ in thread.seconds())
    return ImportedRun(
        setup=setup,
        dbms=dbms,
        repeat=repeat,
        line=phases[0].line,
        file=phases[0].file,
        benchmark="linkbench",
        steps=[_described_step(phase) for phase in phases],
        rows={
            **rows,
            **({"ops": _Ops(seconds)} if with_seconds else {}),
            **({"intervals": _Intervals(longer)} if longer else {}),
        },
        resolution_s=1.0 if with_seconds else None,
        origin_wall=next((phase.began for phase in phases if phase.began is not None), None),
        missing=_missing(with_seconds, bool(longer)),
        workload=_described(phases),
        error=next(iter(failed.values()), None),
        failed_step=next(iter(failed), None),
        warnings=said,
        private=True,
    )


def _times(phase: _Phase, start_s: float) -> dict[str, Any]:
    status = "complete" if phase.failure is None else "failed"
    return {"step": phase.step, "status": status, "start_s": start_s, "end_s": start_s + phase.duration_s}


def _add_load(rows: dict[str, list[Row]], phase: _Phase, start_s: float, said: list[Remark]) -> None:
    """The rows of a load: one worker, because its threads load different tables."""
    times = _times(phase, start_s)
    statements = sum(thread.totals.get(name, (0, 0))[0] for thread in phase.threads.values() for name in _BULK)
    counts = [thread.count_rows for thread in phase.threads.values()]
    counted = sum(thread.totals.get(_COUNT_ROWS, (0, 0))[0] for thread in phase.threads.values())
    all_counted = counted == phase.totals.get("LOAD_COUNTS_BULK", (0, 0, 0))[0]
    loaded = None
    if phase.loaded is not None and all_counted and all(one is not None for one in counts):
        loaded = phase.loaded[0] + phase.loaded[1] + sum(one or 0 for one in counts)
    else:
        said.append(phase.remark("it does not say how many rows of counttable it loaded: the load has no rate"))
    rows["workers"].append(
        {
            **_NONE, **times, "client": 1, "worker": 0, "role": "loader", "ops": statements, "rows": loaded,
            "connections": len(phase.threads) or None, "ops_from": "counts",
        }
    )  # fmt: skip
    rows["steps"].append({**times, "kind": "load", "clients": 1, "duration_s": phase.duration_s})


def _add_requests(rows: dict[str, list[Row]], phase: _Phase, start_s: float, said: list[Remark]) -> None:
    """The rows of requests: a worker for each requester, or one for all if only their total is known."""
    times = _times(phase, start_s)
    nothing = {**_NONE, "role": "requester", "ops_from": "counts"}
    if not phase.has_log:
        said.append(phase.remark("without its log, T is the time of its intervals"))
        one = {**nothing, **times, "client": 1, "worker": 0, "ops": phase.requests, "connections": phase.requesters}
        rows["workers"].append(one)
    else:
        for number, thread in sorted(phase.threads.items()):
            end = thread.ended or (thread.seen[0] if thread.seen else None)
            lasted = (end - phase.start).total_seconds() if end is not None and phase.start is not None else 0.0
            ends = {"end_s": start_s + min(max(lasted, 0.0), phase.duration_s)}
            one = {"client": number + 1, "worker": number, "ops": thread.known, "connections": 1}
            rows["workers"].append({**nothing, **times, **ends, **one})
    clients = len(phase.threads) if phase.has_log else 1
    rows["steps"].append({**times, "kind": "requests", "clients": clients, "duration_s": phase.duration_s})


def _seconds(phase: _Phase, said: list[Remark]) -> list[tuple[_Phase, int, _Thread]]:
    """The threads of a phase whose intervals become seconds."""
    if phase.kind == _LOAD:
        return []
    threads = [(phase, number, thread) for number, thread in sorted(phase.threads.items())]
    if any(thread.broken or thread.begun for *_, thread in threads):
        said.append(phase.remark("not all of its intervals are whole: a requester's seconds end at the first"))
    kept = [one for one in threads if any(True for _ in one[2].seconds())]
    if kept:
        said.append(phase.remark("its intervals have no DELETE_LINK: seconds are without them, totals with them"))
    return kept


def _has_longer(phase: _Phase, said: list[Remark]) -> bool:
    """Whether longer intervals of a phase become intervals. Says what becomes of those that are no seconds."""
    if phase.kind == _LOAD:
        return False
    lengths = [ms for thread in phase.threads.values() for ms, _ in thread.intervals]
    others = sum(not _SECOND_MS[0] <= ms <= _SECOND_MS[1] for ms in lengths)
    longer = sum(map(_is_longer, lengths))
    if not others:
        return False
    what = f"{count(others, 'interval')} of other than a second: no seconds were made of them"
    if not longer:
        said.append(phase.remark(what))
        return False
    together = any(True for _ in _together(phase))
    kept = f"{longer if longer < others else 'they'} become intervals, which have no DELETE_LINK"
    if not together and phase.has_log:
        kept += ", of single requesters, because they do not end together"
    elif not together:
        kept = "nor intervals, because threads do not end them together"
    said.append(phase.remark(f"{what}, {kept}" if kept.startswith("nor") else f"{what}; {kept}"))
    return together or phase.has_log


def _together(phase: _Phase) -> Iterator[_Longer]:
    """The intervals of all requesters together, where all have one and begin and end it at about the same time.

    Each rate is divided by its own requester's time. The time of the sum is the mean of their times.
    """
    threads = [phase.threads.get(number) for number in range(phase.requesters)]
    for of_all in zip(*(thread.longer() if thread is not None else [] for thread in threads), strict=False):
        known = [one for one in of_all if one is not None]
        if len(known) < len(threads):
            continue
        begins, ends = [one.begin_s for one in known], [one.end_s for one in known]
        lasts = (sum(ends) - sum(begins)) / len(known)
        if max(max(begins) - min(begins), max(ends) - min(ends)) > _APART * lasts:
            continue
        yield _Longer(
            sum(begins) / len(known),
            sum(ends) / len(known),
            {name: sum(one.done[name] for one in known) for name in known[0].done},
            {
                name: (sum(one.rates[name][0] for one in known), sum(one.rates[name][1] for one in known))
                for name in known[0].done
            },
        )


@dataclass(frozen=True)
class _Intervals:
    """The rows of longer intervals, made when they are asked for: of all requesters, and of each."""

    phases: Sequence[_Phase]

    def __iter__(self) -> Iterator[Row]:
        for phase in self.phases:
            for one in _together(phase):
                yield from _rows_of(phase, 0, one)
            for number, thread in sorted(phase.threads.items()) if phase.has_log else ():
                for own in thread.longer():
                    if own is not None:
                        yield from _rows_of(phase, number + 1, own)


def _rows_of(phase: _Phase, client: int, one: _Longer) -> Iterator[Row]:
    """A row for each operation of an interval."""
    times = {"end_s": one.end_s, "seconds": round(one.end_s - one.begin_s, 6)}
    for name, (rate, errors) in one.rates.items():
        of_client = {"step": phase.step, "client": client, "operation": name, **times, "ops": one.done[name]}
        yield {**of_client, "ops_per_s": rate, "errors_per_s": errors}


@dataclass(frozen=True)
class _Ops:
    """The rows of the seconds, made when they are asked for. Without a log, those of all threads are one worker's."""

    seconds: Sequence[tuple[_Phase, int, _Thread]]

    def __iter__(self) -> Iterator[Row]:
        together: dict[tuple[str, str, int], list[int]] = {}
        for phase, number, thread in self.seconds:
            for second, done in thread.seconds():
                for operation, (ops, errors) in done.items():
                    if operation == _SIZES:
                        continue
                    name = operation.lower()
                    if phase.has_log:
                        of_thread = {"step": phase.step, "client": number + 1, "worker": number, "operation": name}
                        yield {**of_thread, "second": second, "ops": ops, "errors": errors}
                        continue
                    found = together.setdefault((phase.step, name, second), [0, 0, 0])
                    for position, value in enumerate((ops, errors, 1)):
                        found[position] += value
        threads = max((len(phase.threads) for phase, *_ in self.seconds), default=0)
        for (step, name, second), (ops, errors, parts) in together.items():
            if parts == threads:
                of_all = {"step": step, "client": 1, "worker": 0, "operation": name}
                yield {**of_all, "second": second, "ops": ops, "errors": errors}


def _described_step(phase: _Phase) -> ImportedStep:
    """A step, with what LinkBench prints of it."""
    printed: dict[str, Any] = {
        "operations": [
            {"operation": name.lower(), "count": total, "max_ms": slowest, "mean_ms": mean}
            for name, (total, slowest, mean) in phase.totals.items()
        ],
        "errors": {
            name.lower(): sum(thread.totals.get(name, (0, 0))[1] for thread in phase.threads.values())
            for name in sorted({name for thread in phase.threads.values() for name in thread.totals})
        },
    }
    if phase.loaded is not None:
        printed |= {"nodes": phase.loaded[0], "links": phase.loaded[1], "links_per_s": phase.loaded[2]}
    if phase.done is not None:
        printed |= {"requests": phase.done[0], "seconds": phase.done[1], "requests_per_s": phase.done[2]}
        printed["warm_up_requests"] = sum(thread.warm_requests or 0 for thread in phase.threads.values())
    threads = phase.loaders if phase.kind == _LOAD else phase.requesters
    details = {"requesters": 0 if phase.kind == _LOAD else threads, "seconds": phase.limit_s, "printed": printed}
    return ImportedStep(phase.step, phase.line, details, phase.files, threads)


def _described(phases: Sequence[_Phase]) -> dict[str, Any]:
    """What the steps have in common, as far as the logs say it."""
    found: dict[str, Any] = {
        "clients": 1,
        "program": {"name": "LinkBench (Java)"},
        "requesters": sorted({phase.requesters for phase in phases if phase.kind == _TESTED}),
        "assumptions": ["the requesters of a step begin together"],
    }
    loaded = next((phase.loaded for phase in phases if phase.loaded is not None), None)
    if loaded is not None:
        found |= {"nodes_used": loaded[0], "loaded": {"nodetable": loaded[0], "linktable": loaded[1]}}
    return found


def _missing(by_second: bool, by_interval: bool) -> dict[str, str]:
    """Why columns are NULL, as the manifest has it."""
    not_printed, not_said = "LinkBench does not print it", "a log does not say it"
    sampled = "LinkBench prints percentiles of at most 10,000 responses of an interval, which are no histogram"
    found = {
        "workers.rows": "of requests, LinkBench does not print it; of a load, it may not say it of each table",
        "workers.errors": "LinkBench does not print those of delete_link",
        **{f"workers.{name}": not_printed for name in ("retries", "unknown")},
        **{f"workers.{name}": not_said for name in ("cpu_user_s", "cpu_system_s", "unrecorded_s")},
        "steps.history_list_length": not_said,
        "steps.existing_rows": not_said,
        "steps.client_bound": "not judged: a log does not say what the client used",
    }
    if by_second:
        found |= {f"ops.{name}": not_printed for name in ("rows", "retries", "unknown")}
        found |= {f"ops.service_{name}": sampled for name in ("sum_us", "max_us", "bins", "counts")}
    if by_interval:
        found["intervals.retries_per_s"] = not_printed
    return found
