"""Imports the files of BenchBase: its summary in JSON, every request in `.raw.csv`, windows in `.results.<type>.csv`.

Files belong together if their names differ only in these endings. The summary has T, the number of measured requests
and the terminals, so a run needs it. A run is one of TPC-C with the step `run`; other benchmarks are left out.

`.raw.csv` has the start and the latency of each request, so its seconds are exact, with histograms; a request counts in
the second in which it was answered. Its starts are in seconds, although its header says microseconds. Windows have a
rate, which is a count over their length; those of one second become seconds, in which their requests began. Seconds
are imported only if the files have exactly the requests of the summary, and every line was understood. BenchBase counts
requests that failed or were rolled back with the others.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeAlias

from ibench_lib.base.histogram_bins import HISTOGRAM_BINS_PER_OCTAVE
from ibench_lib.base.later import later
from ibench_lib.errors import UsageError
from ibench_lib.importers.importer import ImportedRun, ImportedStep, ImportRequest, Remark, Row, nothing_used
from ibench_lib.importers.layout import NO_DBMS, dbms_of, setups_of
from ibench_lib.importers.lines import LineBlocks, refusal
from ibench_lib.importers.source import File, Source

if TYPE_CHECKING:
    import numpy as np
else:
    np = later("numpy")

Numbers: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"

_STEP, _ROLE = "run", "terminal"
_WORKER: Mapping[str, Any] = {"client": 1, "worker": 0}
_TYPES = {
    "NewOrder": "new_order",
    "Payment": "payment",
    "OrderStatus": "order_status",
    "Delivery": "delivery",
    "StockLevel": "stock_level",
}
_IN_ORDER = list(_TYPES.values())
_SUMMARY = {"Benchmark Type", "Elapsed Time (nanoseconds)", "Measured Requests", "Final State"}
_RAW = (
    "Transaction Type Index,Transaction Name,Start Time (microseconds),Latency (microseconds),"
    "Worker Id (start number),Phase Id (index in config file)"
)
_WINDOWS = "Time (seconds),Throughput (requests/second),Average Latency (millisecond),"
_ENDING = re.compile(r"(.*?)\.(?:summary\.json|raw\.csv|results(?:\.([A-Za-z]{1,20}))?\.csv)")
_REQUEST = re.compile(r"(\d{1,3}),([A-Za-z]{1,20}),(\d{1,10}\.\d{6}),(\d{1,10}),(\d{1,6}),(\d{1,4})", re.ASCII)
_WINDOW = re.compile(r"(\d{1,7}),(\d{1,9}\.\d{3})(?:,-?(?:\d{1,12}\.\d{3}|Infinity|NaN)){10}", re.ASCII)
_MARKS = {"warehouses": "w", "terminals": "c"}
_BY_ITSELF_S = 5e-6
"""By how much the printed times of two requests of a terminal may overlap: both are rounded."""
_MOST_S = 400_000
_MOST_REQUESTS = 10**12
_USUAL = 0.98  # of requests succeed: 1 % of the new orders are rolled back on purpose
_PIECES = 64
_BIN_CODES = 1 << 12


@dataclass(frozen=True)
class _Summary:
    """What a summary says, checked."""

    file: str
    benchmark: str
    elapsed_s: float
    requests: int
    failed: bool
    terminals: int
    warehouses: int | None
    printed: dict[str, Any]

    @property
    def sizes(self) -> dict[str, int]:
        """What a setup is called after."""
        known = {"warehouses": self.warehouses, "terminals": self.terminals}
        return {name: size for name, size in known.items() if size is not None}


@dataclass
class _Seconds:
    """The requests of each second by type, from windows, or from single requests with their times.

    `times` has the place of its first bin in `bins`, the place behind the last, the sum of the times, and the longest;
    `of_bins` how many requests a bin has.
    """

    counts: dict[tuple[int, str], int] = field(default_factory=dict)
    times: dict[tuple[int, str], tuple[int, int, int, int]] = field(default_factory=dict)
    bins: Numbers | None = None
    of_bins: Numbers | None = None
    start: float | None = None
    phases: set[float] = field(default_factory=set)


@dataclass
class _Group:
    """The files of a run: `windows` by type, or by an empty text for all types together."""

    name: str
    summary: _Summary | None = None
    raw: File | None = None
    windows: dict[str, File] = field(default_factory=dict)
    files: list[str] = field(default_factory=list)

    @property
    def largest(self) -> str:
        """The name of the file that takes longest to read."""
        return self.raw.name if self.raw is not None else self.files[0]


class BenchBaseFiles:
    """The importer of BenchBase's results of TPC-C."""

    name = "benchbase"
    expects = "folders of BenchBase (TPC-C): X.summary.json, and next to it X.raw.csv or X.results.<type>.csv"

    def recognises(self, file: File) -> str | None:
        """The columns of requests or windows, or the names of a summary."""
        first = file.beginning.split("\n", 1)[0].rstrip("\r")
        if first == _RAW or first.startswith(_WINDOWS):
            return "its header is that of BenchBase"
        if file.beginning.lstrip()[:1] == "{" and all(f'"{name}"' in file.beginning for name in _SUMMARY):
            return "it has the names of a summary of BenchBase"
        return None

    def runs(self, source: Source, told: ImportRequest) -> Iterator[ImportedRun]:
        """One run for each summary."""
        if told.test is not None:
            raise UsageError(f"{source}: results of BenchBase have no test", hint="leave --test out")
        said: list[Remark] = []
        groups = _groups(source, self, said)
        used = sorted((group for group in groups if group.summary is not None), key=lambda group: group.name)
        if not used:
            raise nothing_used(source, said)
        sizes = [group.summary.sizes for group in used if group.summary is not None]
        firsts = [source.where(group.files[0]) for group in used]
        setups = setups_of(told.setup, _MARKS, sizes, lambda number, what, hint: refusal(firsts[number], 1, what, hint))
        repeats: dict[tuple[str, str], int] = {}
        runs: list[tuple[str, str, int, _Group]] = []
        for group, setup in zip(used, setups, strict=True):
            dbms = told.dbms or dbms_of(source.folders(group.files[0]))
            if dbms is None:
                raise refusal(source.where(group.files[0]), 1, *NO_DBMS)
            repeats[setup, dbms] = repeats.get((setup, dbms), 0) + 1
            runs.append((setup, dbms, repeats[setup, dbms], group))
        # An archive is read from its beginning to its end.
        places = {file.name: place for place, file in enumerate(source.in_order)}
        for setup, dbms, repeat, group in sorted(runs, key=lambda one: places[one[3].largest]):
            yield _run(setup, dbms, repeat, group, source, said)
            said = []  # the import has them once, however many runs there are


IMPORTER = BenchBaseFiles()


def _groups(source: Source, importer: BenchBaseFiles, said: list[Remark]) -> list[_Group]:
    """The files that belong together. Those that are of no use are named."""
    groups: dict[str, _Group] = {}
    for file in source.in_order:
        ending = _ENDING.fullmatch(file.name)
        if importer.recognises(file) is None:
            continue
        if ending is None:
            said.append(Remark(file.name, 1, "its name has none of the endings of BenchBase: it was left out"))
            continue
        group = groups.setdefault(ending[1], _Group(ending[1]))
        if file.name.endswith(".summary.json"):
            found = _read_summary(source, file)
            if isinstance(found, str):
                said.append(Remark(file.name, 1, f"{found}: it was left out"))
                continue
            group.summary = found
            group.files.insert(0, file.name)
        elif file.name.endswith(".raw.csv"):
            group.raw = file
        else:
            group.windows[ending[2] or ""] = file
    for group in groups.values():
        if group.summary is None:
            others = [*([group.raw] if group.raw else []), *group.windows.values()]
            said += [Remark(one.name, 1, "no summary of TPC-C is next to it: it was left out") for one in others]
    return list(groups.values())


def _read_summary(source: Source, file: File) -> _Summary | str:
    """A summary, or why it is none."""
    lines = source.lines(file)
    try:
        found = json.loads(lines.text)
    except (ValueError, RecursionError):
        return "it is no valid JSON"
    if not isinstance(found, dict) or not found.keys() >= _SUMMARY:
        return "it is no summary"
    lines.used(1, lines.text.count("\n") + 1)
    benchmark = found["Benchmark Type"]
    if benchmark != "tpcc":
        return f"it is of {benchmark!r:.40}, which ibench does not have"
    elapsed, requests = found["Elapsed Time (nanoseconds)"], found["Measured Requests"]
    terminals, scale = _number(found.get("terminals")), _number(found.get("scalefactor"))
    whole = type(elapsed) is int and type(requests) is int
    if not whole or not 0 < elapsed < _MOST_S * 10**9 or not 0 < requests < _MOST_REQUESTS:
        return "its time or its requests are no numbers"
    if terminals is None:
        return "it does not say how many terminals it had"
    rate = found.get("Throughput (requests/second)")
    exact = requests / elapsed * 1e9
    if (
        not isinstance(rate, int | float)
        or not 0 < rate < _MOST_REQUESTS
        or not abs(rate - exact) <= 1e-6 * rate + 1e-6
    ):
        return "its throughput is not that of its requests and its time"
    goodput, times = found.get("Goodput (requests/second)"), found.get("Latency Distribution")
    printed: dict[str, Any] = {"throughput": rate}
    if isinstance(goodput, int | float) and 0 <= goodput < 1e12:
        printed |= {"goodput": goodput, "succeeded": round(goodput * elapsed / 1e9)}
    if isinstance(times, dict):
        known = {str(name).removesuffix(" Latency (microseconds)"): time for name, time in times.items()}
        printed["latency_us"] = {
            name: time for name, time in known.items() if re.fullmatch(r"[\w ]{1,20}", name) and type(time) is int
        }
    isolation = re.fullmatch(r"(?:TRANSACTION_)?([A-Z_]{1,20})", str(found.get("isolation")))
    if isolation is not None:
        printed["isolation"] = isolation[1].lower()
    return _Summary(
        file=file.name,
        benchmark=benchmark,
        elapsed_s=elapsed / 1e9,
        requests=requests,
        failed=found["Final State"] == "ERROR",
        terminals=terminals,
        warehouses=scale,
        printed=printed,
    )


def _number(value: Any) -> int | None:
    """A whole number above 0, which BenchBase writes as a text."""
    found = re.fullmatch(r"([1-9]\d{0,6})(?:\.0)?", str(value), re.ASCII)
    return int(found[1]) if found else None


def _run(setup: str, dbms: str, repeat: int, group: _Group, source: Source, warnings: Sequence[Remark]) -> ImportedRun:
    """The files of a summary as a run with one step."""
    summary, said = group.summary, list(warnings)
    assert summary is not None
    seconds = _seconds(group, summary, source, said)
    good = summary.printed.get("succeeded")
    if good is None or good < _USUAL * summary.requests:
        failed = "an unknown number" if good is None else f"{summary.requests - good:,}"
        text = f"{failed} of {summary.requests:,} requests failed or were rolled back: they are counted, too"
        said.append(Remark(summary.file, 1, text))
    error = Remark(summary.file, 1, "BenchBase has ended with an error") if summary.failed else None
    status = "complete" if error is None else "failed"
    times = {"step": _STEP, "start_s": 0.0, "end_s": summary.elapsed_s}
    worker = {
        **times, **_WORKER, "role": _ROLE, "status": status, "ops": summary.requests, "rows": None, "errors": None,
        "retries": None, "unknown": None, "connections": summary.terminals, "ops_from": "counts",
    }  # fmt: skip
    step = {**times, "kind": _STEP, "status": status, "clients": 1, "duration_s": summary.elapsed_s}
    rows: dict[str, Any] = {"workers": [worker], "steps": [step]}
    if seconds is not None:
        rows["ops"] = _Rows(seconds, summary.elapsed_s)
    details = {"seconds": summary.elapsed_s, "printed": summary.printed}
    has_times = seconds is not None and seconds.bins is not None
    return ImportedRun(
        setup=setup,
        dbms=dbms,
        repeat=repeat,
        line=1,
        file=summary.file,
        benchmark="tpcc",
        steps=[ImportedStep(_STEP, 1, details, group.files, summary.terminals)],
        rows=rows,
        resolution_s=None if seconds is None else 1.0,
        histograms=has_times,
        origin_wall=None if seconds is None or seconds.start is None else datetime.fromtimestamp(seconds.start, UTC),
        missing=_missing(seconds is not None, has_times),
        workload={
            "clients": 1,
            "program": {"name": "BenchBase"},
            "warehouses_used": summary.warehouses,
            "setup": {"sets": 1, "terminals": summary.terminals},
        },
        error=error,
        failed_step=None if error is None else _STEP,
        warnings=said,
        private=True,
    )


def _seconds(group: _Group, summary: _Summary, source: Source, said: list[Remark]) -> _Seconds | None:
    """The seconds of single requests, else of windows, if they have exactly the requests of the summary."""
    of_types = {name: file for name, file in sorted(group.windows.items()) if name in _TYPES}
    if group.raw is not None:
        group.files.append(group.raw.name)
        file, found = group.raw.name, _of_requests(source.blocks(group.raw), summary)
    elif of_types:
        group.files += [one.name for one in of_types.values()]
        file = next(iter(of_types.values())).name
        found = _of_windows({name: source.blocks(one) for name, one in of_types.items()}, summary)
    else:
        said.append(Remark(summary.file, 1, "next to it is no file of requests by their type: it has totals only"))
        return None
    if isinstance(found, str):
        said.append(Remark(file, 1, f"{found}: it has no seconds, only the totals of its summary"))
        return None
    if len(found.phases) > 1:
        said.append(Remark(file, 1, f"it has {len(found.phases)} phases, which may differ in their load: T is of all"))
    return found


def _of_requests(blocks: LineBlocks, summary: _Summary) -> _Seconds | str:
    """The seconds of `.raw.csv`, or why it has none. Requests are in the order of their starts."""
    found = _Seconds()
    indexes: dict[str, str] = {}
    ends: dict[str, float] = {}
    before = phase = 0.0
    pieces: list[tuple[Numbers, Numbers]] = []
    requests = 0
    for first, lines in blocks:
        codes: list[int] = []
        latencies: list[int] = []
        for number, text in enumerate(lines, start=first):
            if not text or (number == 1 and text == _RAW):
                continue
            match = _REQUEST.fullmatch(text) if number != blocks.unterminated else None
            if match is None or match[2] not in _TYPES or indexes.setdefault(match[2], match[1]) != match[1]:
                blocks.lost.add([number])
                continue
            start, latency, terminal, of_phase = float(match[3]), int(match[4]), match[5], float(match[6])
            begun = start if found.start is None else found.start
            end = start - begun + latency / 1e6
            is_next = start >= before and end <= summary.elapsed_s + 1 and 0 <= of_phase - phase <= 1
            if int(terminal) > summary.terminals or not is_next or start - begun < ends.get(terminal, 0) - _BY_ITSELF_S:
                blocks.lost.add([number])
                continue
            found.start, before, phase, ends[terminal] = begun, start, of_phase, end
            found.phases.add(of_phase)
            codes.append(int(end) * len(_IN_ORDER) + _IN_ORDER.index(_TYPES[match[2]]))
            latencies.append(latency)
        requests += len(codes)
        pieces.append(_counted(codes, latencies))
        if len(pieces) >= _PIECES:
            pieces = [_added(pieces)]
    if blocks.lost.count or requests != summary.requests:
        return f"it has {requests:,} of {summary.requests:,} requests that were understood"
    _fill(found, _added(pieces))
    return found


def _counted(codes: list[int], latencies: list[int]) -> tuple[Numbers, Numbers]:
    """The code of each second, type and bin; and its requests, the sum of their times, and the longest of them."""
    us = np.array(latencies, np.int64)
    octave = np.log2(np.maximum(us, 1)).astype(np.int64)
    step = (np.maximum(us, 1) * HISTOGRAM_BINS_PER_OCTAVE >> octave) - HISTOGRAM_BINS_PER_OCTAVE
    keys = np.array(codes, np.int64) * _BIN_CODES + octave * HISTOGRAM_BINS_PER_OCTAVE + step
    return _added([(keys, np.column_stack([np.ones_like(us), us, us]))])


def _added(pieces: Sequence[tuple[Numbers, Numbers]]) -> tuple[Numbers, Numbers]:
    """The same of several blocks together."""
    keys, places = np.unique(np.concatenate([one[0] for one in pieces]), return_inverse=True)
    figures = np.concatenate([one[1] for one in pieces])
    table = np.zeros((len(keys), 3), np.int64)
    np.add.at(table[:, 0], places, figures[:, 0])
    np.add.at(table[:, 1], places, figures[:, 1])
    np.maximum.at(table[:, 2], places, figures[:, 2])
    return keys, table


def _fill(found: _Seconds, counted: tuple[Numbers, Numbers]) -> None:
    """Requests, bins and times of each second and type. Bins stay arrays: an hour has a million of them."""
    keys, table = counted
    codes = keys // _BIN_CODES
    starts = np.flatnonzero(np.diff(codes, prepend=-1))
    done, sum_us = np.add.reduceat(table[:, 0], starts), np.add.reduceat(table[:, 1], starts)
    most_us = np.maximum.reduceat(table[:, 2], starts)
    found.bins, found.of_bins = (keys % _BIN_CODES).astype(np.int32), table[:, 0].astype(np.int32)
    ends = [*starts[1:].tolist(), len(keys)]
    columns = (codes[starts].tolist(), starts.tolist(), ends, done.tolist(), sum_us.tolist(), most_us.tolist())
    for code, start, end, requests, added_us, longest_us in zip(*columns, strict=True):
        second, number = divmod(code, len(_IN_ORDER))
        found.counts[second, _IN_ORDER[number]] = requests
        found.times[second, _IN_ORDER[number]] = start, end, added_us, longest_us


def _of_windows(files: Mapping[str, LineBlocks], summary: _Summary) -> _Seconds | str:
    """The seconds of `.results.<type>.csv`, or why they have none."""
    found = _Seconds()
    rows: set[tuple[int, ...]] = set()
    lost = 0
    for name, blocks in files.items():
        starts: list[int] = []
        for first, lines in blocks:
            for number, text in enumerate(lines, start=first):
                if not text or (number == 1 and text.startswith(_WINDOWS)):
                    continue
                match = _WINDOW.fullmatch(text) if number != blocks.unterminated else None
                if match is None or (starts and int(match[1]) <= starts[-1]) or int(match[1]) > _MOST_S:
                    blocks.lost.add([number])
                    continue
                starts.append(int(match[1]))
                found.counts[starts[-1], _TYPES[name]] = round(1000 * float(match[2]))
        lost += blocks.lost.count
        rows.add(tuple(starts))
    windows = next(iter(rows))
    if lost or len(rows) > 1:
        return "the windows of its types are not the same, or were not understood"
    if windows != tuple(range(len(windows))) or len(windows) < 2:
        every = f"{windows[1] - windows[0]} s" if len(windows) > 1 else "an unknown time"
        return f"its windows are of {every}"
    if any(thousandths % 1000 for thousandths in found.counts.values()):
        return "its windows have parts of requests"
    found.counts = {place: thousandths // 1000 for place, thousandths in found.counts.items()}
    total = sum(found.counts.values())
    if total != summary.requests or len(windows) > int(summary.elapsed_s) + 1:
        return f"its windows have {total:,} of {summary.requests:,} requests"
    return found


@dataclass(frozen=True)
class _Rows:
    """The rows of the seconds, type by type. A type that a second does not have had no request."""

    seconds: _Seconds
    elapsed_s: float

    def __iter__(self) -> Iterator[Row]:
        last = max((second for second, _ in self.seconds.counts), default=-1)
        for name in _IN_ORDER:
            for second in range(max(last, int(self.elapsed_s) - 1) + 1):
                done = self.seconds.counts.get((second, name), 0)
                yield {
                    "step": _STEP, **_WORKER, "operation": name, "second": second, "ops": done,
                    **self._times(second, name),
                }  # fmt: skip

    def _times(self, second: int, name: str) -> dict[str, Any]:
        seconds = self.seconds
        if seconds.bins is None or seconds.of_bins is None:
            return {}
        start, end, sum_us, most_us = seconds.times.get((second, name), (0, 0, 0, 0))
        return {
            "service_bins": seconds.bins[start:end].tolist(),
            "service_counts": seconds.of_bins[start:end].tolist(),
            "service_sum_us": float(sum_us),
            "service_max_us": float(most_us) if end > start else None,
        }


def _missing(by_second: bool, has_times: bool) -> dict[str, str]:
    """Why columns are NULL, as the manifest has it."""
    not_printed, not_said = "BenchBase does not print it", "its files do not say it"
    counted = "BenchBase counts requests that failed or were rolled back with the others"
    found = {
        **{f"workers.{name}": counted for name in ("rows", "errors")},
        **{f"workers.{name}": not_printed for name in ("retries", "unknown")},
        **{f"workers.{name}": not_said for name in ("cpu_user_s", "cpu_system_s", "unrecorded_s")},
        "steps.history_list_length": not_said,
        "steps.existing_rows": not_said,
        "steps.client_bound": "not judged: its files do not say what the client used",
    }
    if by_second:
        found |= {f"ops.{name}": counted for name in ("rows", "errors")}
        found |= {f"ops.{name}": not_printed for name in ("retries", "unknown")}
    if by_second and not has_times:
        windows = "BenchBase prints percentiles of windows, which are no histogram; .raw.csv has every request"
        found |= {f"ops.service_{name}": windows for name in ("bins", "counts", "sum_us", "max_us")}
    return found
