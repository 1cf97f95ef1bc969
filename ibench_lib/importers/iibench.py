"""Imports the folders of iibench.py, the original Insert Benchmark: what clients print every second and at their end.

A folder `<build>.<config>/<step>/` has a file `o.ib.dop<clients>.<client>` of each client. Its folder becomes a step,
the folder above it a run. Of each client the inserter, the deleter and the querier become workers, as where ibench
sends the load. Columns are read by the header: it has grown from 2016 to 2026.

Counts of a second are differences of the cumulative columns, never a rate times a time. The totals are those of the end
of a log: responses times rows per commit, and the queries that its threads have counted, because the last line precedes
the end. T is the end of the last client; of l.x, it is the longest time to create the indexes. Lines of other than one
second become no seconds. Histograms have bins wider than ours: they are kept as they are printed, next to the step.

Of the files next to the logs, those of iostat and vmstat become the costs of the step: what their samples of 5 s add
up to. The first line of vmstat is of the time since boot, and its headers are repeated; neither is a sample.

Clients are taken to begin together, because no file says when each began. Of the command line only numbers and the name
of the engine are kept. Other files of a folder are not read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from ibench_lib.base.later import later
from ibench_lib.base.wording import count
from ibench_lib.errors import UsageError
from ibench_lib.importers.host_logs import Iostat, Sample, read_iostat, read_vmstat, use_of_device, use_of_host
from ibench_lib.importers.importer import Columns, ImportedRun, ImportedStep, ImportRequest, Remark, Row
from ibench_lib.importers.layout import dbms_of
from ibench_lib.importers.lines import LineBlocks, refusal
from ibench_lib.importers.source import File, Source
from ibench_lib.workloads.workload import find

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
else:
    np, pa = later("numpy"), later("pyarrow")

Numbers: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"

_NAME = re.compile(r"o\.ib\.dop([1-9]\d{0,3})\.([1-9]\d{0,3})", re.ASCII)
_BESIDE = re.compile(r"o\.(io|vm|res)\.dop([1-9]\d{0,3})", re.ASCII)
_DATA_DEVICE = re.compile(r"average values from iostat for ([\w.!/-]{1,60})", re.ASCII)
_SAMPLE_S = 5.0
"""Of iostat and vmstat, as the scripts start them."""
_HEADER_BEGINS = "i_sec\tt_sec\ti_ips\tt_ips\t"
_COLUMNS = {
    *("i_sec", "t_sec", "i_ips", "t_ips", "i_dps", "t_dps", "i_qps", "t_qps", "max_i", "max_d", "max_q"),
    *("t_ins", "t_del", "t_query", "retry_i", "retry_d", "retry_q"),
}
_NEEDED = {"i_sec", "t_sec", "t_ins", "t_query"}
_DECIMAL, _WHOLE = r"\d{1,9}\.\d{1,6}", r"\d{1,15}"
_COMMAND = re.compile(r"iibench\.py(?: |$)", re.ASCII)
_OPTIONS = {
    **dict.fromkeys(("max_rows", "rows_per_commit", "query_threads", "my_id", "num_secondary_indexes"), _WHOLE),
    **dict.fromkeys(("seed", "inserts_per_second", "data_length_min", "data_length_max"), _WHOLE),
    "engine": "innodb|rocksdb",
    "unique_checks": "[01]",
    "bulk_load": "[01]",
}
_FLAGS = ("delete_per_insert", "query_pk_only", "secondary_at_end", "setup")
_GET_MIN = re.compile(rf"get_min_trxid = ({_WHOLE}) in (\d{{1,6}}\.\d{{3}}) seconds", re.ASCII)
_EDGES_S = (0.000256, 0.001, 0.004, 0.016, 0.064, 0.256, 1.0, 4.0, 16.0)
_EDGES = re.compile(r"(Insert|Delete| Query) rt: +256us +1ms +4ms +16ms +64ms +256ms +1s +4s +16s +gt +max", re.ASCII)
_COUNTS = re.compile(rf"(Insert|Delete| Query) rt: +{' +'.join([f'({_WHOLE})'] * 10)} +(\d{{1,6}}\.\d{{6}})", re.ASCII)
_QUERIES = re.compile(
    rf"Query thread: ({_WHOLE}) queries, fetched/query\(expected, actual\) = \([ \d.,]{{1,60}}\)", re.ASCII
)
_CREATED = re.compile(r"Created secondary indexes in (\d{1,9}\.\d) seconds", re.ASCII)
_TOTALS = re.compile(
    rf"Totals: (\d{{1,9}}\.\d) secs, \d{{1,12}}\.\d rows/sec, ({_WHOLE}) rows, ({_WHOLE}) ({_WHOLE}) ({_WHOLE}) "
    r"insert-delete-query retry",
    re.ASCII,
)
_GET_MINS = re.compile(rf"getmin {_WHOLE} queries, {_DECIMAL} total secs, {_DECIMAL} secs/query", re.ASCII)
_TROUBLE = re.compile(r"SQL error|Query error|delete: \d{1,15} : ", re.ASCII)
_DONE = "Done"
_RATES = {"t_ins": "i_ips", "t_del": "i_dps", "t_query": "i_qps"}
_QUERIES_A_COUNT = 16  # threads add to t_query after so many
_OFF_S = 0.11
_KEPT = {
    *("t_ins", "t_del", "t_query", "grown t_ins", "grown t_del", "grown t_query", "max_i", "max_d", "max_q"),
}
_NOTHING = re.compile("(?!)")
_SECOND_S = (0.9, 1.1)
_COVERED, _MOST_OF_IT = 0.5, 0.95  # of a step: less than half says too little, and less than most is said
_FORKS_S = 10  # the first client begins this much earlier if it makes the table
_ROLES = {"inserter": ("t_ins", "max_i", "Insert"), "deleter": ("t_del", "max_d", "Delete"),
          "querier": ("t_query", "max_q", "Query")}  # fmt: skip
_STEPS = (
    (re.compile(r"(l\.i0|l\.x|l\.i1|l\.i2)", re.ASCII), "{}"),
    (re.compile(r"(q[rp]?[1-9]\d{0,6})(?:\.L\d{1,2})?", re.ASCII), "{}"),
    (re.compile(r"([rpq])\.L\d{1,2}\.ips([1-9]\d{0,6})", re.ASCII), "q{}{}"),
    (re.compile(r"(q[1-9]\d{0,6}\.\d{1,2})", re.ASCII), "{}"),
)
_WRITES = ("l.i0", "l.x", "l.i1", "l.i2")
_WALL = (datetime(2005, 1, 1, tzinfo=UTC).timestamp(), datetime(2100, 1, 1, tzinfo=UTC).timestamp())


@dataclass
class _Client:
    """The log of one client. `rows` has the lines by column; `end_line` is the last line that has something.

    `duration_s` is the end of its last line, on its own clock; `longer` lines are of other than a second.
    """

    file: str
    path: Path
    clients: int
    number: int
    options: dict[str, int | str] = field(default_factory=dict)
    columns: list[str] = field(default_factory=list)
    rows: dict[str, Numbers] = field(default_factory=dict)
    get_min: tuple[int, float] | None = None
    histograms: dict[str, list[int]] = field(default_factory=dict)
    slowest_s: dict[str, float] = field(default_factory=dict)
    queries: int | None = None
    created_s: float | None = None
    retries: list[int] | None = None
    trouble: int | None = None
    done: bool = False
    end_line: int = 1
    longer: int = 0
    duration_s: float = 0.0

    def remark(self, text: str, line: int | None = None) -> Remark:
        """Something to say of it."""
        return Remark(self.file, line or self.end_line, text)

    @property
    def per_commit(self) -> int:
        """Rows of an insert or delete statement."""
        return int(self.options["rows_per_commit"])

    def last(self, column: str) -> int:
        """The last value of a cumulative column."""
        values = self.rows.get(column)
        return int(values[-1]) if values is not None and len(values) else 0

    def total(self, role: str) -> int:
        """Operations of a role in all: what its responses add up to, else what its lines say."""
        column, _, name = _ROLES[role]
        if role == "querier":
            return self.last(column) if self.queries is None else self.queries
        if name in self.histograms:
            return sum(self.histograms[name])
        return -(-self.last(column) // self.per_commit)

    @property
    def roles(self) -> list[str]:
        """Its workers."""
        deletes = "Delete" in self.histograms or self.last("t_del") > 0
        queries = bool(self.options.get("query_threads")) or self.queries is not None or self.last("t_query") > 0
        return ["inserter", *(["deleter"] if deletes else []), *(["querier"] if queries else [])]


@dataclass
class _Sidecars:
    """What stands next to the logs of a step: samples of iostat and vmstat, and which device holds the data."""

    files: list[str] = field(default_factory=list)
    iostat: Iostat | None = None
    vmstat: list[Sample] = field(default_factory=list)
    device: str | None = None


@dataclass
class _Folder:
    """A step: its name, where it stands, its clients, and what stands next to their logs."""

    name: str
    order: tuple[int, int]
    above: str
    clients: list[_Client] = field(default_factory=list)
    sidecars: _Sidecars = field(default_factory=_Sidecars)

    @property
    def first(self) -> _Client:
        """The client with the smallest number."""
        return self.clients[0]

    @property
    def began(self) -> int | None:
        """Wall time of its beginning in seconds: the seed of a client is that and its number. None if it is not."""
        seed, number = self.first.options.get("seed"), self.first.options.get("my_id")
        wall = int(seed) - int(number) if seed is not None and number is not None else 0
        return wall if _WALL[0] <= wall <= _WALL[1] else None

    @property
    def duration_s(self) -> float:
        """T."""
        if self.name == "l.x":
            return max((client.created_s or 0.0 for client in self.clients), default=0.0)
        return max(client.duration_s for client in self.clients)


class IibenchFolders:
    """The importer of folders of iibench.py."""

    name = "iibench"
    expects = "folders of iibench.py, <build>.<config>/<step>/o.ib.dop<clients>.<client>, as its scripts leave them"

    def recognises(self, file: File) -> str | None:
        """The header of its lines."""
        if not re.search(rf"^{_HEADER_BEGINS}", file.beginning, re.MULTILINE):
            return None
        return "it has the header i_sec, t_sec, i_ips, t_ips"

    def runs(self, source: Source, told: ImportRequest) -> Iterator[ImportedRun]:
        """One run for each folder that has folders of steps."""
        if told.setup is None:
            raise UsageError(f"{source}: a folder does not say of what setup it is", hint="name it with --setup")
        folders: dict[tuple[str, str], _Folder] = {}
        warnings: list[Remark] = []
        others: dict[tuple[str, ...], _Sidecars] = {}
        for file in source.in_order:
            if source.many and self.recognises(file) is None:
                if _BESIDE.fullmatch(file.name.rpartition("/")[2]):
                    _read_sidecar(file, source, others.setdefault(tuple(source.folders(file.name)), _Sidecars()))
                continue
            client = _named(file, source)
            _parse(client, source.blocks(file), warnings)
            within = source.folders(file.name)
            name, order = _step_of(within, client)
            step = _Folder(name, order, "/".join(within[:-1]))
            folder = folders.setdefault((step.above, within[-1]), step)
            folder.clients.append(client)
            folder.sidecars = others.setdefault(tuple(within), folder.sidecars)
        runs: dict[str, list[_Folder]] = {}
        for (above, _), folder in sorted(folders.items(), key=lambda one: (one[0][0], one[1].order, one[0][1])):
            folder.clients.sort(key=lambda client: client.number)
            _require_one_dop(folder)
            runs.setdefault(above, []).append(folder)
        seen: dict[str, int] = {}
        for above, steps in runs.items():
            dbms = told.dbms or dbms_of(above.split("/"))
            if dbms is None:
                raise refusal(
                    steps[0].first.path,
                    1,
                    "its folder does not say of what dbms it is",
                    "name it with --dbms <build>.<config>, or call the folder of each dbms so",
                )
            seen[dbms] = seen.get(dbms, 0) + 1
            yield _run(told.setup, dbms, seen[dbms], steps, warnings)


IMPORTER = IibenchFolders()


def _read_sidecar(file: File, source: Source, sidecars: _Sidecars) -> None:
    """Read a file next to the logs."""
    kind = file.name.rpartition("/")[2].split(".")[1]
    blocks = source.blocks(file)
    sidecars.files.append(file.name)
    if kind == "io":
        sidecars.iostat = read_iostat(blocks)
    elif kind == "vm":
        sidecars.vmstat = read_vmstat(blocks)
    else:
        for _, lines in blocks:  # of the scripts' own sums only this is needed
            for text in lines:
                if found := _DATA_DEVICE.fullmatch(text.strip()):
                    sidecars.device = found[1]


def _named(file: File, source: Source) -> _Client:
    path = source.where(file.name)
    match = _NAME.fullmatch(file.name.rpartition("/")[2])
    if match is None:
        raise refusal(
            path, 1, "a log of iibench.py is called o.ib.dop<clients>.<client>", "import its folder as it was"
        )
    return _Client(file.name, path, int(match[1]), int(match[2]))


def _step_of(folders: Sequence[str], client: _Client) -> tuple[str, tuple[int, int]]:
    """The name of the step that the innermost folder is called after, and its place among the others."""
    folder = folders[-1] if folders else ""
    for pattern, form in _STEPS:
        if match := pattern.fullmatch(folder):
            name = form.format(*match.groups()).replace("qq", "q")
            number = re.search(r"\.L(\d+)", folder)
            place = (_WRITES.index(name), 0) if name in _WRITES else (len(_WRITES), int(number[1]) if number else 0)
            return name, place
    raise refusal(
        client.path,
        1,
        f"its folder {folder!r:.80} is no step",
        "such as l.i0, l.x, l.i1, qr100.L1: import it as it was",
    )


def _require_one_dop(folder: _Folder) -> None:
    """Logs of two numbers of clients, or of one client twice, are of two steps."""
    for before, client in zip(folder.clients, folder.clients[1:], strict=False):
        if before.clients != client.clients or before.number == client.number:
            raise refusal(
                client.path,
                1,
                f"it is of step {folder.name}, as {before.path}",
                "import one number of clients at a time",
            )


def _parse(client: _Client, blocks: LineBlocks, warnings: list[Remark]) -> None:
    """Read a log. Lines that are not understood, and rows that do not follow from those before them, are lost."""
    is_row: Callable[[str], Any] = _NOTHING.fullmatch
    numbers: list[int] = []
    texts: list[str] = []
    pieces: list[Numbers] = []
    for first, lines in blocks:
        for number, text in enumerate(lines, start=first):
            if is_row(text) and not client.done and number != blocks.unterminated:
                numbers.append(number)
                texts.extend(text.split("\t"))
            elif text and not text.isspace():
                if not _take(client, number, text, blocks):
                    blocks.lost.add([number])
                elif text.startswith(_HEADER_BEGINS):
                    is_row = _row(client.columns)
        if numbers:
            values = np.fromiter(map(float, texts), float, len(texts)).reshape(len(numbers), -1)
            pieces.append(np.column_stack([np.array(numbers, float), values]))
            numbers, texts = [], []
    if not client.columns:
        raise refusal(client.path, 1, "it has no header of columns")
    if "rows_per_commit" not in client.options:
        raise refusal(client.path, 1, "its first line does not say how many rows a commit has")
    rows = np.concatenate([np.zeros((0, 1 + len(client.columns))), *pieces])
    client.rows = dict(zip(["line", *client.columns], rows.T, strict=True))
    _keep_sound_rows(client, blocks)
    if client.longer:
        warnings.append(
            client.remark(f"{count(client.longer, 'line')} of other than a second: no seconds were made of them")
        )


def _row(columns: Sequence[str]) -> Any:
    """What matches a line of these columns: times have decimals, and all others are whole numbers."""
    return re.compile("\t".join(_DECIMAL if name.endswith("_sec") else _WHOLE for name in columns), re.ASCII).fullmatch


def _keep_sound_rows(client: _Client, blocks: LineBlocks) -> None:
    """Leave out rows whose time or counts do not go on from the line before them, or do not fit their own rates.

    What a second has is the difference to the line before it. So a line that is damaged costs the next second, too.
    """
    rows = client.rows
    rows |= {f"before {name}": np.concatenate([[0.0], rows[name][:-1]]) for name in _RATES if name in rows}
    latest = np.maximum.accumulate(np.concatenate([[0.0], rows["t_sec"]]))[:-1]
    sound = _sound(rows, client.per_commit) & (rows["t_sec"] > latest)
    blocks.lost.add(rows["line"][~sound].astype(int).tolist())
    # A folder may have millions of lines: what is not asked for any more is not kept.
    last = np.flatnonzero(sound)[-1:]
    client.duration_s = float(rows["t_sec"][last].sum())
    second, seconds = np.rint(rows["t_sec"][sound]), rows["i_sec"][sound]
    is_second = (seconds >= _SECOND_S[0]) & (seconds <= _SECOND_S[1])
    client.longer = int((~is_second).sum())
    grown = {f"grown {name}": rows[name] - rows[f"before {name}"] for name in _RATES if name in rows}
    kept = {name: values[sound] for name, values in (rows | grown).items() if name in _KEPT}
    client.rows = {name: _small(values) for name, values in {**kept, "second": second - 1}.items()}
    client.rows["is_second"] = is_second & (np.diff(second, prepend=0.0) > 0)


def _small(values: Numbers) -> Numbers:
    """Whole numbers in as few bytes as they take."""
    return values.astype(np.int32 if values.max(initial=0) < 1 << 31 else np.int64)


def _sound(rows: Mapping[str, Numbers], per_commit: int) -> Numbers:
    """Whether each row goes on from the line before it."""
    passed = np.diff(rows["t_sec"], prepend=0.0)
    fitting: Numbers = (passed > 0) & (np.abs(passed - rows["i_sec"]) <= _OFF_S)
    for total, rate in _RATES.items():
        if total not in rows:
            continue
        grown = rows[total] - rows[f"before {total}"]
        fitting &= grown >= 0
        if rate in rows:  # a time of one decimal is up to a twentieth of a second off
            slack = 0.1 * grown + 0.1 * rows[rate] + 1 + 2 * max(per_commit, _QUERIES_A_COUNT)
            fitting &= np.abs(grown - rows[rate] * rows["i_sec"]) <= slack
    return fitting


def _take(client: _Client, number: int, text: str, blocks: LineBlocks) -> bool:
    """Take in a line that is no row. Whether it was understood."""
    if client.done:
        return False
    if text.startswith(_HEADER_BEGINS):
        names = text.split("\t")
        if client.columns or not _NEEDED <= {*names} <= _COLUMNS or len(set(names)) != len(names):
            return False
        client.columns = names
        return True
    if _COMMAND.search(text) and not client.options:
        client.options = _options(text)
        return True
    if text == _DONE:
        client.done, client.end_line = True, number
        return True
    if number == blocks.unterminated:
        return False  # it may be cut
    if _TROUBLE.match(text):
        client.trouble = client.trouble or number
        return False
    client.end_line = number
    if match := _GET_MIN.fullmatch(text):
        client.get_min = client.get_min or (int(match[1]), float(match[2]))
    elif match := _COUNTS.fullmatch(text):
        name = match[1].strip()
        if name in client.histograms:
            return False
        client.histograms[name] = [int(one) for one in match.groups()[1:-1]]
        client.slowest_s[name] = float(match.groups()[-1])
    elif match := _QUERIES.fullmatch(text):
        threads = int(client.options.get("query_threads") or 1)
        if client.queries is not None and threads == 1:
            return False
        client.queries = (client.queries or 0) + int(match[1])
    elif (match := _CREATED.fullmatch(text)) and client.created_s is None:
        client.created_s = float(match[1])
    elif (match := _TOTALS.fullmatch(text)) and client.retries is None:
        client.retries = [int(one) for one in match.groups()[2:]]
    else:
        return bool(_EDGES.fullmatch(text) or _GET_MINS.fullmatch(text))
    return True


def _options(text: str) -> dict[str, int | str]:
    """Options of the load: numbers and the engine, no user, password, host or path."""
    values: dict[str, int | str] = {}
    for word in text.split():
        name, equals, value = word.removeprefix("--").partition("=")
        if equals and name in _OPTIONS and re.fullmatch(_OPTIONS[name], value, re.ASCII):
            values[name] = int(value) if value.isdecimal() else value
        elif not equals and name in _FLAGS:
            values[name] = 1
    return values


def _run(setup: str, dbms: str, repeat: int, steps: Sequence[_Folder], warnings: Sequence[Remark]) -> ImportedRun:
    """One run, its steps by their wall time if all say it, else one after the other."""
    rows: dict[str, list[Row]] = {"workers": [], "steps": [], "probes": []}
    said, failed, start_s = list(warnings), {}, 0.0
    counters: list[Row] = []
    workers: list[tuple[str, _Client, str, int]] = []
    names = _unique_names(steps)
    loaded = 0
    origin = steps[0].began
    for step in steps:
        name = names[id(step)]
        if origin is not None and step.began is not None and step.began - origin >= start_s:
            start_s = float(step.began - origin)
        why = _failure(step)
        if why is not None:
            failed[name] = why
        said += _tails(step)
        existing = loaded + sum(client.total("inserter") * client.per_commit for client in step.clients)
        counters += _costs(name, step, start_s, said)
        _add_step(rows, workers, name, step, start_s, why, existing if step.name == "l.x" and loaded else None)
        if step.name in ("l.i0", "l.x"):
            loaded = existing
        start_s += step.duration_s
    rows["step_counters"] = counters
    cpus = {step.sidecars.iostat.cpus for step in steps if step.sidecars.iostat and step.sidecars.iostat.cpus}
    kept = {table: columns for table, columns in rows.items() if columns}
    return ImportedRun(
        setup=setup,
        dbms=dbms,
        repeat=repeat,
        line=1,
        file=steps[0].first.file,
        benchmark="insert_benchmark",
        steps=[_described_step(names[id(step)], step) for step in steps],
        rows=kept,
        columns={"ops": _OpsOfWorkers(workers)} if workers else {},
        resolution_s=1.0 if workers else None,
        origin_wall=datetime.fromtimestamp(origin, UTC) if origin is not None else None,
        host={"logical_cpus": str(cpus.pop())} if len(cpus) == 1 else {},
        missing=_missing(),
        workload=_described(steps),
        error=next(iter(failed.values()), None),
        failed_step=next(iter(failed), None),
        warnings=said,
        private=True,
    )


def _unique_names(steps: Sequence[_Folder]) -> dict[int, str]:
    """The name of each step; where two would have one, with its place."""
    all_names = [step.name for step in steps]
    return {
        id(step): step.name if all_names.count(step.name) == 1 or "." in step.name else f"{step.name}.{step.order[1]}"
        for step in steps
    }


def _failure(step: _Folder) -> Remark | None:
    """Why a step is no whole step."""
    missing = sorted({*range(1, step.first.clients + 1)} - {client.number for client in step.clients})
    if missing:
        said = f"the log of client {missing[0]} of {step.first.clients} is missing: step {step.name} is not whole"
        return step.first.remark(said, 1)
    for client in step.clients:
        if client.trouble is not None:
            return client.remark("it reports an error", client.trouble)
        if not client.done:
            return client.remark(f'it ends in second {client.duration_s:.0f} without "Done"')
        if step.name == "l.x" and client.created_s is None:
            return client.remark("it does not say how long the indexes took")
    return None


def _costs(name: str, step: _Folder, start_s: float, said: list[Remark]) -> list[Row]:
    """What the host and the data's device did in a step, by the samples next to its logs."""
    sidecars, rows = step.sidecars, list[Row]()
    iostat = sidecars.iostat or Iostat(None, {})
    device = sidecars.device or (next(iter(iostat.devices)) if len(iostat.devices) == 1 else None)
    samples = {"iostat": iostat.devices.get(device or "", []), "vmstat": sidecars.vmstat}
    if iostat.devices and not samples["iostat"]:
        said.append(step.first.remark(f"nothing says which device held the data of {name}: it has no costs of it", 1))
    for tool, found in samples.items():
        seconds = len(found) * _SAMPLE_S
        # The scripts start them before the clients, and end them after.
        if found and not _COVERED * step.duration_s <= seconds <= step.duration_s + 4 * _SAMPLE_S + _FORKS_S:
            text = f"{count(len(found), 'sample')} of {tool} are not of the {step.duration_s:.0f} s of {name}: left out"
            said.append(step.first.remark(text, 1))
            continue
        if found and seconds < _MOST_OF_IT * step.duration_s:
            text = f"its {tool} has samples of {seconds:.0f} of the {step.duration_s:.0f} s of {name}"
            said.append(step.first.remark(text, 1))
        if found and tool == "iostat":
            rows += use_of_device(found, device or "", _SAMPLE_S, name, start_s)
        elif found:
            rows += use_of_host(found, iostat.cpus, _SAMPLE_S, name, start_s)
    return rows


def _tails(step: _Folder) -> list[Remark]:
    """What the lines of a client have less, or more, than its end."""
    remarks = []
    if step.name == "l.x":
        return []
    for client in step.clients:
        for role in client.roles:
            column, _, _ = _ROLES[role]
            each = 1 if role == "querier" else client.per_commit
            lines, total = client.last(column), client.total(role) * each
            if lines != total and client.done:
                what = {"inserter": "inserted rows", "deleter": "deleted rows", "querier": "queries"}[role]
                remarks.append(client.remark(f"its lines have {lines:,} {what}, and its end {total:,}"))
    return remarks


def _operation(role: str, step: str) -> str:
    if role == "querier":
        return "point_query" if step.startswith("qp") else "range_query"
    return {"inserter": "insert", "deleter": "delete"}[role]


def _add_step(
    rows: dict[str, list[Row]],
    workers: list[tuple[str, _Client, str, int]],
    name: str,
    step: _Folder,
    start_s: float,
    failure: Remark | None,
    existing: int | None,
) -> None:
    """The rows of a step."""
    kind = find("insert_benchmark").kind_of(name)
    status = "complete" if failure is None else "failed"
    rate = int(step.first.options.get("inserts_per_second") or 0)
    rows["steps"].append(
        {
            "step": name, "kind": kind, "status": status, "clients": step.first.clients, "start_s": start_s,
            "end_s": start_s + step.duration_s, "duration_s": step.duration_s, "existing_rows": existing,
            "insert_rows_per_commit": step.first.per_commit, "target_rows_per_s": float(rate) if rate else None,
        }
    )  # fmt: skip
    worker = 0
    for client in step.clients:
        if client.get_min is not None:
            result, seconds = client.get_min
            probe = {"client": client.number, "probe": "get_min", "start_s": start_s}
            rows["probes"].append({"step": name, **probe, "seconds": seconds, "result": result})
        for role in ["indexer"] if step.name == "l.x" else client.roles:
            lasted = (client.created_s or 0.0) if role == "indexer" else client.duration_s
            row: dict[str, Any] = {
                "step": name, "client": client.number, "worker": worker, "role": role, "start_s": start_s,
                "status": "complete" if client.done else "failed", "end_s": start_s + lasted, "connections": 1,
                "ops_from": "counts",
            }  # fmt: skip
            if role == "indexer":
                row |= {"ops": 1 if client.created_s is not None else 0}
            else:
                total, position = client.total(role), list(_ROLES).index(role)
                row |= {
                    "ops": total,
                    "rows": None if role == "querier" else total * client.per_commit,
                    "retries": client.retries[position] if client.retries else None,
                }
                if _ROLES[role][0] in client.rows and client.rows["is_second"].any():
                    workers.append((name, client, role, worker))
            rows["workers"].append(row)
            worker += 1


class _OpsOfWorkers(Sequence[Columns]):
    """The rows of the seconds of each worker, made when they are asked for: together they may be larger than memory."""

    def __init__(self, workers: Sequence[tuple[str, _Client, str, int]]) -> None:
        self._workers = workers

    def __len__(self) -> int:
        return len(self._workers)

    def __getitem__(self, number: Any) -> Any:
        return _seconds(*self._workers[number])


def _seconds(step: str, client: _Client, role: str, worker: int) -> Columns:
    """The seconds of a worker: lines of one second, each in the second in which it ends."""
    total, slowest, _ = _ROLES[role]
    done = client.rows[total].astype(np.int64)
    before = done - client.rows[f"grown {total}"]
    keep = client.rows["is_second"]
    each = 1 if role == "querier" else client.per_commit
    ops = -(-done // each) + before // -each  # statements, of which the last may be cut short
    max_us = client.rows.get(slowest, np.zeros(len(done))).astype(float)
    values: dict[str, Any] = {
        "client": client.number,
        "worker": worker,
        "operation": _operation(role, step),
        "second": client.rows["second"][keep],
        "ops": ops[keep],
        "rows": None if role == "querier" else (done - before)[keep],
        "service_max_us": pa.array(max_us[keep], pa.float64(), mask=(max_us[keep] == 0)),
    }
    return Columns(step, int(keep.sum()), values)


def _described_step(name: str, step: _Folder) -> ImportedStep:
    """A step, with what iibench.py prints at its end."""
    first = step.first.options
    details: dict[str, Any] = {
        "rows_per_commit": step.first.per_commit,
        "rate": first.get("inserts_per_second") or None,
        "rows": first.get("max_rows"),
        "deletes": bool(first.get("delete_per_insert")),
        "printed": [
            {
                "client": client.number,
                "histogram_edges_s": list(_EDGES_S),
                "histograms": client.histograms,
                "slowest_s": client.slowest_s,
            }
            for client in step.clients
        ],
    }
    files = [*(client.file for client in step.clients), *step.sidecars.files]
    return ImportedStep(name, 1, details, files, step.first.clients)


def _described(steps: Sequence[_Folder]) -> dict[str, Any]:
    """What all steps have in common."""
    options = [client.options for step in steps for client in step.clients]
    found: dict[str, Any] = {
        "clients": max(step.first.clients for step in steps),
        "program": {"name": "iibench.py"},
        "assumptions": ["the clients of a step begin together"],
    }
    if any(step.sidecars.iostat or step.sidecars.vmstat for step in steps):
        found["assumptions"].append("iostat and vmstat have a sample each 5 s")
    engines = {one.get("engine") for one in options}
    if len(engines) == 1 and None not in engines:
        found["engine"] = engines.pop()
    lengths = {(one.get("data_length_min"), one.get("data_length_max")) for one in options}
    if len(lengths) == 1 and None not in next(iter(lengths)):
        found["data_length"] = list(lengths.pop())
    threads = max(int(one.get("query_threads") or 0) for one in options)
    return {**found, **({"queriers": threads} if threads else {})}


def _missing() -> dict[str, str]:
    """Why columns are NULL, as the manifest has it."""
    not_printed, not_said = "iibench.py does not print it", "its files do not say it"
    histogram = "iibench.py prints a histogram of a whole step, with bins that are wider than ours"
    return {
        **{f"workers.{name}": not_printed for name in ("errors", "unknown")},
        **{f"workers.{name}": not_said for name in ("cpu_user_s", "cpu_system_s", "unrecorded_s")},
        "workers.rows": "of queries and indexes, iibench.py does not print it",
        "workers.retries": "of indexes, and of a log without its end, iibench.py does not print it",
        **{f"ops.{name}": not_printed for name in ("errors", "retries", "unknown", "service_sum_us")},
        "ops.rows": "of queries, iibench.py does not print it",
        "ops.service_max_us": "nothing was answered, or its header has no such column",
        **{f"ops.{name}": histogram for name in ("service_bins", "service_counts")},
        "steps.history_list_length": not_said,
        "steps.existing_rows": "not known unless the files of the load are there",
        "steps.client_bound": "not judged: its files do not say what the clients used",
    }
