"""Imports what others have measured: finds the importer of a source, checks what it returns, and writes the runs.

This module does what every importer needs. It checks names. An experiment never has both measured and imported runs.
Either all runs of a source are imported or none. Each run keeps where it is from and the file's text, or the hashes of
all files with names that say nothing of hosts and people. Errors name the line.
"""

from __future__ import annotations

import contextlib
import hashlib
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ibench_lib import importers as folder
from ibench_lib import plugins
from ibench_lib.base.later import later
from ibench_lib.base.wording import suggestion
from ibench_lib.errors import LakeError, NameRefused, UsageError
from ibench_lib.importers.importer import Columns, ImportedRun, ImportedStep, Importer, ImportRequest, Remark, Row
from ibench_lib.importers.lines import Lines
from ibench_lib.importers.server_files import ServerFiles, reasons, with_servers
from ibench_lib.importers.source import Source
from ibench_lib.importers.stored_names import StoredNames
from ibench_lib.paths import Workspace, check_name, make_run_id
from ibench_lib.schema import TABLES
from ibench_lib.store import reader
from ibench_lib.store.manifest import (
    Cell,
    ConfigRecord,
    ExperimentRecord,
    KindRecord,
    Manifest,
    OperationRecord,
    ServerRecord,
)
from ibench_lib.store.remove import remove_run
from ibench_lib.store.writer import RunWriter
from ibench_lib.workloads.workload import Workload, find, known, known_steps

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
else:
    np, pa = later("numpy"), later("pyarrow")

MOST_STEPS = 1000
MOST_RUNS = 10_000
"""Of one import, as of one experiment."""
MOST_WARNINGS = 100
"""Each run keeps all warnings of its import, and a manifest has a limit."""
MOST_TEXT = 500

_NAMED = 5
_HAS = {"variables": "it has the variables of a server", "host": "it has facts of a host"}
# A row of these stands for one second of a run: rates are made of differences from one row to the next.
_OF_A_SECOND = {
    *("ops", "server_samples", "server_counters"),
    *("host_samples", "device_samples", "network_samples", "process_samples", "thread_states"),
}
_A_SECOND = (0.9, 1.1)


@dataclass(frozen=True)
class ImportResult:
    """The result of an import: the importer, the ids of the runs, and a warning for everything that was left out.

    `already`: those of the runs that were there before, from the same files, and were not written.
    """

    importer: str
    run_ids: list[str]
    warnings: list[str]
    already: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class PlannedFile:
    """What an import makes of a file, or of one of its logs.

    `file` is its name in the folder or archive. `format` is the importer that reads it, "variables" or "host" if it has
    those of a server or facts of a host, and None if it is not used; `why` is what of its content decides this. `run`,
    `step` and `threads` are None where it is of no step.
    """

    file: str
    format: str | None
    why: str
    run: str | None = None
    step: str | None = None
    threads: int | None = None


@dataclass(frozen=True)
class ImportPlan:
    """What an import would do: a row for each file and step, and the warnings."""

    rows: list[PlannedFile]
    warnings: list[str]


@dataclass(frozen=True)
class _Found:
    """What an importer has found in a source, checked. `remarks` are those of each run (`_remarks_of`).

    `warnings` are all of them for people; `kept` are the others that all runs keep.
    """

    importer: str
    runs: list[ImportedRun]
    workloads: list[Workload]
    remarks: list[list[Remark]]
    warnings: list[str]
    kept: list[str]
    text: str
    identity: list[str]
    names: StoredNames
    servers: ServerFiles


def importers() -> dict[str, Importer]:
    """Every importer that a module of this folder or an installed package defines, by name."""
    known: dict[str, Importer] = {}
    for module in plugins.modules("importers", folder):
        importer: Importer | None = vars(module).get("IMPORTER")
        if importer is not None:
            known[importer.name] = importer
    return dict(sorted(known.items()))


def find_importer(source: Source, name: str | None = None) -> Importer:
    """The importer called `name`, else the one that takes the source.

    Raises
    ------
    UsageError : there is none, or there are several; `detail` has what each expects.
    """
    there = importers()
    expected = "\n".join(f"{importer.name}: {importer.expects}" for importer in there.values())
    if name is not None:
        if name not in there:
            near = suggestion(name, list(there))
            raise UsageError(f"unknown importer {name!r:.80}{near}", detail=expected)
        return there[name]
    taking = [one for one in there.values() if any(one.recognises(file) is not None for file in source.files)]
    if not taking:
        said = "has no file" if source.many else "is not a file"
        raise UsageError(
            f"{source} {said} that ibench can import", hint="the kinds below can be imported", detail=expected
        )
    if len(taking) > 1:
        taking = [one for one in taking if not getattr(one, "summarises", False)] or taking
    if len(taking) > 1:
        names = " and ".join(importer.name for importer in taking)
        raise UsageError(f"{source} can be read as {names}", hint="choose one with --as", detail=expected)
    return taking[0]


def import_file(
    path: Path | Sequence[Path],
    experiment: str,
    source: str,
    workspace: Workspace,
    *,
    title: str = "",
    importer: str | None = None,
    setup: str | None = None,
    dbms: str | None = None,
    test: str | None = None,
    again: bool = False,
) -> ImportResult:
    """Import the runs of files, folders and archives into the lake, either all of them or none.

    Parameters
    ----------
    path : what others have measured, in a form that an importer knows.
    experiment : name of the experiment that the runs get; no run may have it yet, unless it is of the same files.
    source, title : the origin of the files, and one line for people; at most `MOST_TEXT` characters.
    importer : name of the importer; by default the content decides.
    setup, dbms, test : for files that do not name them.
    again : import runs that are there already once more, and then remove the old ones.

    Raises
    ------
    UsageError : the files cannot be used; the message names the line.
    LakeError : the experiment has runs, or the lake cannot be written.
    """
    check_name(experiment, "experiment")
    if not source.strip():
        raise UsageError("imported figures need a source", hint="such as --source 'report of August 2023, address'")
    for name, text in (("source", source), ("title", title)):
        _check_text(name, text)
    with Source(path) as files:
        found = _found(files, importer, ImportRequest(setup, dbms, test))
        record = ExperimentRecord(name=experiment, title=title or source, text=found.text)
        now = datetime.now(UTC)
        manifests = [_manifest(number, found, record, source, now) for number in range(len(found.runs))]
        there = _there(experiment, manifests, workspace)
        made: list[str] = []
        try:
            for run, remarks, manifest in zip(found.runs, found.remarks, manifests, strict=True):
                if manifest.cell.fingerprint in there and not again:
                    continue
                _name_apart(manifest, workspace)
                said = _most([_text_of(remark, found.names) for remark in remarks])
                manifest.warnings += [*said, *found.kept]
                manifest.server = _server_record(run)
                writer = RunWriter(workspace.run_dir(manifest.run_id))
                made.append(manifest.run_id)
                try:
                    _write(run, _naming(run, files), writer)
                finally:  # a run that is not sealed could not be removed
                    writer.seal(manifest)
                    manifest.server = None  # all manifests are in memory, and together their variables may be large
        except BaseException:
            for run_id in made:
                with contextlib.suppress(LakeError):  # the first error is the one to report
                    remove_run(run_id, workspace)
            raise
    if again:
        for run_id in there.values():
            remove_run(run_id, workspace)
        there = {}
    return ImportResult(found.importer, made, found.warnings, sorted(there.values()))


def plan_import(
    path: Path | Sequence[Path],
    *,
    importer: str | None = None,
    setup: str | None = None,
    dbms: str | None = None,
    test: str | None = None,
) -> ImportPlan:
    """What `import_file` would import, without writing anything.

    Raises
    ------
    UsageError : as `import_file`.
    """
    with Source(path) as files:
        found = _found(files, importer, ImportRequest(setup, dbms, test))
        chosen = importers()[found.importer]
        rows: list[PlannedFile] = []
        read = set(files.read())
        for file in files.files:
            if (why_not := found.servers.unused.get(file.name)) is not None or file.name not in read:
                rows.append(PlannedFile(file.name, None, why_not or "no importer reads it"))
                continue
            if (numbers := found.servers.used.get(file.name)) is not None:
                kind = found.servers.kinds[file.name]
                named = [_name_of(found.runs[number]) for number in numbers]
                rows += [PlannedFile(file.name, kind, _HAS[kind], run) for run in named]
                continue
            why = chosen.recognises(file) or f"it is read as {chosen.name}"
            steps = [
                PlannedFile(file.name, chosen.name, why, _name_of(run), step.name, step.threads)
                for run in found.runs
                for step in run.steps
                if file.name in _files_of(run, step, files)
            ]
            rows += steps or [PlannedFile(file.name, chosen.name, why)]
        return ImportPlan(rows, found.warnings)


def _name_of(run: ImportedRun) -> str:
    """A run for people."""
    return f"{run.setup}, {run.dbms}" + (f", repeat {run.repeat}" if run.repeat > 1 else "")


def _found(files: Source, importer: str | None, told: ImportRequest) -> _Found:
    """What is in a source. Names of files that a run keeps say nothing of hosts and people (`StoredNames`)."""
    chosen = find_importer(files, importer)
    runs = list(islice(chosen.runs(files, told), MOST_RUNS + 1))
    if len(runs) > MOST_RUNS:
        raise UsageError(f"{files} has over {MOST_RUNS:,} runs", hint="import it in parts, as several experiments")
    if not runs:
        raise UsageError(f"{files} has no figures")
    workloads = _check(runs, files)
    servers = with_servers(files, runs)
    runs = servers.runs
    names = StoredNames(text for run in runs for text in (run.setup, run.dbms, *(step.name for step in run.steps)))
    keeps_text = len(files.files) == 1 and not files.many and not any(run.private for run in runs)
    read = [file for file in files.files if file.name in files.read()]
    remarks = _remarks_of(runs, files)
    said = list(dict.fromkeys(remark for run in runs for remark in run.warnings))
    return _Found(
        importer=chosen.name,
        runs=runs,
        workloads=workloads,
        remarks=remarks,
        warnings=[*_most([_text_of(one, str) for one in said]), *_of_files(files, servers, str)],
        kept=_of_files(files, servers, names),
        text=files.text() if keeps_text else "".join(f"{file.sha256}  {names(file.name)}\n" for file in files.files),
        identity=[chosen.name, *sorted(file.sha256 for file in read)],
        names=names,
        servers=servers,
    )


def _of_files(files: Source, servers: ServerFiles, name: Callable[[str], str]) -> list[str]:
    """Warnings of the files of an import: lines that are lost, files that are not used, and why, or not read."""
    unused = reasons(servers.unused, map(name, servers.unused))
    return [*_lost(files, name), *unused, *_not_read(files, servers.unused, name)]


def _files_of(run: ImportedRun, step: ImportedStep, files: Source) -> Sequence[str]:
    """The names of the files that a step was read from."""
    return step.files or [run.file or files.files[0].name]


def _remarks_of(runs: list[ImportedRun], files: Source) -> list[list[Remark]]:
    """The remarks of each run: those on its own files, whichever run the importer has handed them over with.

    A remark on a file of no run, such as a log that was left out, goes to the first run with a file in the same folder,
    else in the nearest one above it.
    """
    mine = [{name for step in run.steps for name in _files_of(run, step, files)} for run in runs]
    first_of: dict[str, int] = {}
    first_in: dict[str, int] = {}
    for number, names in enumerate(mine):
        for name in names:
            first_of.setdefault(name, number)
            for above in _folders_of(name):
                first_in.setdefault(above, number)
    found: list[dict[Remark, None]] = [{} for _ in runs]
    for number, run in enumerate(runs):
        for remark in run.warnings:
            owner = number if remark.file in mine[number] else first_of.get(remark.file)
            if owner is None:
                owner = next((first_in[above] for above in _folders_of(remark.file) if above in first_in), number)
            found[owner][remark] = None
    return [list(remarks) for remarks in found]


def _folders_of(name: str) -> Iterator[str]:
    """The folders of a file, the innermost first; the last is that of all, which has no name."""
    while name:
        name = name.rpartition("/")[0]
        yield name


def _text_of(remark: Remark, name: Callable[[str], str]) -> str:
    return f"{name(remark.file)}:{remark.line}: {remark.text}"


def _there(experiment: str, manifests: list[Manifest], workspace: Workspace) -> dict[str, str]:
    """The ids of those of the runs that are in the experiment already, by their fingerprints.

    Raises
    ------
    LakeError : it has other runs.
    """
    # A whole lake makes every question known, which takes 2 s of CPU.
    lake = reader.tables_alone(["runs"], workspace)
    text = "SELECT run_id, fingerprint, origin FROM runs WHERE experiment = ? ORDER BY run_id"
    runs = lake.execute(text, [experiment]).fetchall()
    if any(origin == "measured" for *_, origin in runs):
        raise LakeError(
            f"experiment {experiment} already has runs that were measured here",
            hint="use another name: imported and measured runs cannot share a name",
        )
    run_ids = {fingerprint: run_id for run_id, fingerprint, _ in runs}
    if not run_ids.keys() <= {manifest.cell.fingerprint for manifest in manifests}:
        raise LakeError(
            f"experiment {experiment} already has runs, imported from other files or with other options",
            hint="use another name; only the files that its runs are from can replace them, with --again",
        )
    return run_ids


def _name_apart(manifest: Manifest, workspace: Workspace) -> None:
    """Give a run an id that no other has: the id names the second of its beginning, which may not be its own."""
    cell, when = manifest.cell, datetime.fromisoformat(manifest.origin_wall)
    while workspace.run_dir(manifest.run_id).exists():
        when += timedelta(seconds=1)
        manifest.run_id = make_run_id(manifest.experiment.name, cell.setup, cell.dbms, cell.repeat, when)


def _check_text(name: str, text: str) -> None:
    if len(text) > MOST_TEXT:
        raise UsageError(f"the {name} has {len(text):,} characters", hint=f"at most {MOST_TEXT} are stored")
    for character in text:
        if unicodedata.category(character) in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"):
            raise UsageError(
                f"the {name} has the control character U+{ord(character):04X}", hint="write it in one line of text"
            )


def _naming(run: ImportedRun, files: Source) -> Lines:
    """The file that names a run, for errors."""
    name = run.file or files.files[0].name
    return Lines(files.where(name), "")


def _check(runs: list[ImportedRun], files: Source) -> list[Workload]:
    """Refuse what no importer may return. The workload of each run."""
    seen: set[tuple[str, str, int]] = set()
    workloads = []
    for run in runs:
        lines = _naming(run, files)
        build, config = _parts(run.dbms)
        for name, text in (("setup", run.setup), ("dbms", run.dbms)):
            _check_name(text, name, lines, run.line)
        if not build or not config:
            raise lines.refusal(
                run.line,
                f"dbms {run.dbms!r:.80} is not <build>.<config>",
                "such as my8033.cy10a: see docs/importing.md",
            )
        if (key := (run.setup, run.dbms, run.repeat)) in seen:
            raise lines.refusal(run.line, f"{run.setup}, {run.dbms}, repeat {run.repeat} occurs twice")
        seen.add(key)
        if len(run.steps) > MOST_STEPS:
            raise lines.refusal(run.steps[MOST_STEPS].line, f"setup {run.setup} has over {MOST_STEPS:,} steps")
        workloads.append(_workload(run, lines))
        _check_tables(run, lines)
    return workloads


def _workload(run: ImportedRun, lines: Lines) -> Workload:
    """The benchmark that a run names, or the only one that has all of its steps."""
    if run.benchmark is not None and run.benchmark not in known():
        near = suggestion(run.benchmark, known())
        raise lines.refusal(run.line, f"unknown benchmark {run.benchmark!r:.80}{near}", f"known: {', '.join(known())}")
    possible = [find(name) for name in ([run.benchmark] if run.benchmark is not None else known())]
    having = possible
    for step in run.steps:
        _check_name(step.name, "step", lines, step.line)
        with_step = [workload for workload in possible if workload.kind_of(step.name) is not None]
        if not with_step:
            raise lines.refusal(step.line, f"unknown step {step.name!r:.80}", f"the steps of {known_steps()}")
        having = [workload for workload in having if workload in with_step]
        if not having:
            raise lines.refusal(
                step.line, f"no benchmark has step {step.name} and those before it", "give each benchmark its own setup"
            )
    if len(having) > 1:
        names = " and ".join(workload.name for workload in having)
        raise lines.refusal(
            run.line, f"the steps of setup {run.setup} are of {names}", "name it in a column `benchmark`"
        )
    return having[0]


def _check_name(text: str, what: str, lines: Lines, line: int) -> None:
    try:
        check_name(text, what)
    except NameRefused as error:
        raise lines.refusal(line, error.what, error.hint) from None


def _check_tables(run: ImportedRun, lines: Lines) -> None:
    """The rules for seconds and bins."""
    for table in (*run.rows, *run.columns):
        if TABLES[table].derived:
            raise lines.refusal(run.line, f"{table} is derived from other tables and is never imported")
        if table in _OF_A_SECOND and not _A_SECOND[0] <= (run.resolution_s or 0.0) <= _A_SECOND[1]:
            interval = "without samples" if run.resolution_s is None else f"with a sample every {run.resolution_s:g} s"
            raise lines.refusal(run.line, f"a row of {table} stands for one second, and this is a run {interval}")


def _write(run: ImportedRun, lines: Lines, writer: RunWriter) -> None:
    """Rows of a run, each with the number of its step."""
    numbers = {step.name: number for number, step in enumerate(run.steps)}
    for table, rows in run.rows.items():
        by_step = "step_id" in TABLES[table].key
        for row in rows:
            if table == "ops":
                _check_bins(run, lines, row)
            elif table == "intervals":
                _check_lengths(run, lines, [row["seconds"]])
            writer.append(table, **row, **({"step_id": numbers[row["step"]]} if by_step else {}))
    for table, pieces in run.columns.items():
        checked = _with_lengths(run, lines, pieces) if table == "intervals" else pieces
        writer.add_whole(table, (_arrow(table, piece, numbers[piece.step], writer.run_dir.name) for piece in checked))


def _with_lengths(run: ImportedRun, lines: Lines, pieces: Iterable[Columns]) -> Iterator[Columns]:
    """Pieces of the table `intervals`, each checked when its turn comes."""
    for piece in pieces:
        _check_lengths(run, lines, piece.values["seconds"])
        yield piece


def _check_lengths(run: ImportedRun, lines: Lines, lengths: Any) -> None:
    """Refuse intervals that are no longer than a second, which has its own table. `lengths` are in seconds."""
    given = np.asarray(lengths, float)
    wrong = ~(given > _A_SECOND[1]) | np.isinf(given)
    if wrong.any():
        raise lines.refusal(run.line, f"a row of intervals stands for {given[wrong][0]:g} s: it is for longer ones")


def _arrow(name: str, piece: Columns, step_id: int, run_id: str) -> pa.Table:
    """Rows of a table with all its columns."""
    schema = TABLES[name].arrow_schema
    known = {**piece.values, "run_id": run_id, "step": piece.step, "step_id": step_id}
    columns = []
    for one in schema:
        value = known.get(one.name)
        if value is None:
            columns.append(pa.nulls(piece.rows, one.type))
        elif isinstance(value, str | int | float):
            columns.append(pa.repeat(pa.scalar(value, one.type), piece.rows))
        else:
            columns.append(value if isinstance(value, pa.Array) else pa.array(value, one.type))
    return pa.table(columns, schema=schema)


def _check_bins(run: ImportedRun, lines: Lines, row: Row) -> None:
    for column in ("service_counts", "intended_counts"):
        counts = row.get(column)
        if counts and not run.histograms:
            raise lines.refusal(run.line, f"{column} has bins, and the tool recorded none")
        if counts and sum(counts) != row["ops"]:
            raise lines.refusal(run.line, f"{column} has {sum(counts):,} of {row['ops']:,} answers")


def _lost(files: Source, name: Callable[[str], str]) -> list[str]:
    """A warning with the lines that were not used. It leaves out the folder of the source, which is private."""
    lost = [(file.name, files.read()[file.name].lost) for file in files.files if file.name in files.read()]
    total = sum(one.count for _, one in lost)
    first = [f"{name(file)}:{number}" for file, one in lost for number in one.first[:_NAMED]]
    count = "1 line was" if total == 1 else f"{total:,} lines were"
    return [f"{count} not understood and left out: {_first(first, total)}"] if total else []


def _not_read(files: Source, unused: Mapping[str, str], name: Callable[[str], str]) -> list[str]:
    """A warning with the files that nobody knows: those of `unused` have a reason."""
    read = files.read()
    lost = [name(file.name) for file in files.files if file.name not in read and file.name not in unused]
    count = "1 file was" if len(lost) == 1 else f"{len(lost):,} files were"
    return [f"{count} not read: {_first(lost, len(lost))}"] if lost and files.many else []


def _most(said: list[str]) -> list[str]:
    """The first warnings, and how many more there are."""
    more = len(said) - MOST_WARNINGS
    return said if more <= 0 else [*said[:MOST_WARNINGS], f"further warnings of this import: {more:,}"]


def _first(names: list[str], total: int) -> str:
    return ", ".join(names[:_NAMED]) + (" ..." if total > _NAMED else "")


def _parts(dbms: str) -> tuple[str, str]:
    """Build and configuration. The last dot separates them, because a build may be called mysql-9.7."""
    build, _, config = dbms.rpartition(".")
    return build, config


def _server_record(run: ImportedRun) -> ServerRecord | None:
    """The server of a run as measured runs have theirs."""
    server = run.server
    if server is None:
        return None
    return ServerRecord(
        flavour=server.flavour,
        version=server.version,
        version_comment=server.version_comment,
        variables=dict(server.variables),
    )


def _manifest(number: int, found: _Found, record: ExperimentRecord, source: str, now: datetime) -> Manifest:
    run, workload = found.runs[number], found.workloads[number]
    build, config = _parts(run.dbms)
    origin = run.origin_wall or now
    # The content of files, and what they are taken for. Where they lie and what they are called is no part of it.
    mapping = [source, run.setup, run.dbms, str(run.repeat), *(step.name for step in run.steps)]
    return Manifest(
        tool_version=version("ibench"),
        run_id=make_run_id(record.name, run.setup, run.dbms, run.repeat, origin),
        status="failed" if run.error else "complete",
        error=_text_of(run.error, found.names) if run.error else None,
        failed_step=run.failed_step,
        origin_wall=origin.isoformat(),
        source=source,
        origin="published" if run.rows.keys() | run.columns.keys() <= {"published"} else "imported",
        experiment=record,
        cell=Cell(
            build=build,
            config=config,
            dbms=run.dbms,
            setup=run.setup,
            repeat=run.repeat,
            fingerprint=hashlib.sha256("\0".join([*found.identity, *mapping]).encode()).hexdigest(),
        ),
        benchmark=workload.name,
        operations=[OperationRecord(**asdict(operation)) for operation in workload.operations],
        kinds=[KindRecord(**asdict(kind) | {"paced": list(kind.paced)}) for kind in workload.kinds],
        workload={
            **run.workload,
            "benchmark": workload.name,
            "resolved_steps": [
                {"name": step.name, "kind": workload.kind_of(step.name), **step.details} for step in run.steps
            ],
        },
        scale=1.0,
        config=ConfigRecord(my_cnf=run.settings, fragments={}),
        host=dict(run.host),
        versions={},
        null_reasons=dict(run.missing),
    )
