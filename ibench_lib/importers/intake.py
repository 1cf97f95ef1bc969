"""Imports what others have measured: finds the importer of a source, checks what it returns, and writes the runs.

This module does what every importer needs. It checks names. An experiment never has both measured and imported runs.
Either all runs of a source are imported or none. Each run keeps where it is from and the file's text, or the hashes of
all files. Errors name the line.
"""

from __future__ import annotations

import contextlib
import hashlib
import unicodedata
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from itertools import islice
from pathlib import Path

from ibench_lib import importers as folder
from ibench_lib import plugins
from ibench_lib.base import strict_yaml
from ibench_lib.errors import LakeError, NameRefused, UsageError
from ibench_lib.importers.importer import ImportedRun, Importer, ImportRequest, Row
from ibench_lib.importers.lines import Lines
from ibench_lib.importers.source import Source
from ibench_lib.paths import Workspace, check_name, make_run_id
from ibench_lib.schema import TABLES
from ibench_lib.store import reader
from ibench_lib.store.manifest import Cell, ConfigRecord, ExperimentRecord, KindRecord, Manifest, OperationRecord
from ibench_lib.store.remove import remove_run
from ibench_lib.store.writer import RunWriter
from ibench_lib.workloads.workload import Workload, find, known, known_steps

MOST_STEPS = 1000
MOST_RUNS = 10_000
"""Of one import, as of one experiment."""
MOST_WARNINGS = 100
"""Each run keeps all warnings of its import, and a manifest has a limit."""
MOST_TEXT = 500

_NAMED = 5
# A row of these stands for one second of a run: rates are made of differences from one row to the next.
_OF_A_SECOND = {
    *("ops", "server_samples", "server_counters"),
    *("host_samples", "device_samples", "network_samples", "process_samples", "thread_states"),
}
_A_SECOND = (0.9, 1.1)


@dataclass(frozen=True)
class ImportResult:
    """The result of an import: the importer, the ids of the runs, and a warning for everything that was left out.

    `already`: the runs were there before, from the same files, and nothing was written.
    """

    importer: str
    run_ids: list[str]
    warnings: list[str]
    already: bool = False


def importers() -> dict[str, Importer]:
    """Every importer that a module of this folder or an installed package defines, by name."""
    found: dict[str, Importer] = {}
    for module in plugins.modules("importers", folder):
        importer: Importer | None = vars(module).get("IMPORTER")
        if importer is not None:
            found[importer.name] = importer
    return dict(sorted(found.items()))


def find_importer(source: Source, name: str | None = None) -> Importer:
    """The importer called `name`, else the one that takes the source.

    Raises
    ------
    UsageError : there is none, or there are several; `detail` has what each expects.
    """
    path, there = source.path, importers()
    expected = "\n".join(f"{importer.name}: {importer.expects}" for importer in there.values())
    if name is not None:
        if name not in there:
            near = strict_yaml.suggestion(name, list(there))
            raise UsageError(f"unknown importer {name!r:.80}{near}", detail=expected)
        return there[name]
    taking = [importer for importer in there.values() if importer.takes(source)]
    if not taking:
        said = "has no file" if source.many else "is not a file"
        raise UsageError(
            f"{path} {said} that ibench can import", hint="the kinds below can be imported", detail=expected
        )
    if len(taking) > 1:
        names = " and ".join(importer.name for importer in taking)
        raise UsageError(f"{path} can be read as {names}", hint="choose one with --as", detail=expected)
    return taking[0]


def import_file(
    path: Path,
    experiment: str,
    source: str,
    workspace: Workspace,
    *,
    title: str = "",
    importer: str | None = None,
    setup: str | None = None,
    dbms: str | None = None,
    test: str | None = None,
) -> ImportResult:
    """Import the runs of a file, a folder or an archive into the lake, either all of them or none.

    Parameters
    ----------
    path : what others have measured, in a form that an importer knows.
    experiment : name of the experiment that the runs get; no run may have it yet, unless it is of the same files.
    source, title : the origin of the file, and one line for people; at most `MOST_TEXT` characters.
    importer : name of the importer; by default the content decides.
    setup, dbms, test : for files that do not name them.

    Raises
    ------
    UsageError : the file cannot be used; the message names the line.
    LakeError : the experiment has runs, or the lake cannot be written.
    """
    check_name(experiment, "experiment")
    if not source.strip():
        raise UsageError("imported figures need a source", hint="such as --source 'report of August 2023, address'")
    for name, text in (("source", source), ("title", title)):
        _check_text(name, text)
    with Source(path) as files:
        chosen = find_importer(files, importer)
        runs = list(islice(chosen.runs(files, ImportRequest(setup, dbms, test)), MOST_RUNS + 1))
        if len(runs) > MOST_RUNS:
            raise UsageError(f"{path} has over {MOST_RUNS:,} runs", hint="import it in parts, as several experiments")
        if not runs:
            raise UsageError(f"{path} has no figures")
        workloads = _check(runs, files)
        text = files.hashes() if any(run.private for run in runs) else files.text()
        said = (warning for run in runs for warning in run.warnings)
        warnings = [*_most(list(dict.fromkeys(said))), *_lost(files), *_not_read(files)]
    record = ExperimentRecord(name=experiment, title=title or source, text=text)
    now = datetime.now(UTC)
    manifests = [_manifest(run, workload, record, source, now) for run, workload in zip(runs, workloads, strict=True)]
    if there := _there(experiment, manifests, workspace):
        return ImportResult(chosen.name, there, warnings, already=True)
    made: list[str] = []
    try:
        for run, manifest in zip(runs, manifests, strict=True):
            manifest.warnings += warnings
            writer = RunWriter(workspace.run_dir(manifest.run_id))
            made.append(manifest.run_id)
            try:
                _write(run, _naming(run, files), writer)
            finally:  # a run that is not sealed could not be removed
                writer.seal(manifest)
    except BaseException:
        for run_id in made:
            with contextlib.suppress(LakeError):  # the first error is the one to report
                remove_run(run_id, workspace)
        raise
    return ImportResult(chosen.name, made, warnings)


def _there(experiment: str, manifests: list[Manifest], workspace: Workspace) -> list[str]:
    """The runs of the experiment if they are the same as these; empty if it has none.

    Raises
    ------
    LakeError : it has other runs.
    """
    runs = reader.sql(
        reader.lake(workspace),
        "SELECT run_id, setup, dbms, repeat, fingerprint, status, experiment FROM runs ORDER BY run_id",
    )
    found = runs.filter(experiment=experiment).drop("experiment").rows()
    ours = {(m.cell.setup, m.cell.dbms, m.cell.repeat, m.cell.fingerprint, m.status) for m in manifests}
    if found and {tuple(row[1:]) for row in found} != ours:
        raise LakeError(
            f"experiment {experiment} already has runs",
            hint="use another name: imported and measured runs cannot share a name",
        )
    return [row[0] for row in found]


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
    return files.read().get(name) or Lines(files.where(name), "")


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
                run.line, f"dbms {run.dbms!r:.80} is not <build>.<config>", "such as my8033.cy10a: see docs/lake.md"
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
        near = strict_yaml.suggestion(run.benchmark, known())
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
    for table in run.rows:
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
            writer.append(table, **row, **({"step_id": numbers[row["step"]]} if by_step else {}))


def _check_bins(run: ImportedRun, lines: Lines, row: Row) -> None:
    for column in ("service_counts", "intended_counts"):
        counts = row.get(column)
        if counts and not run.histograms:
            raise lines.refusal(run.line, f"{column} has bins, and the tool recorded none")
        if counts and sum(counts) != row["ops"]:
            raise lines.refusal(run.line, f"{column} has {sum(counts):,} of {row['ops']:,} answers")


def _lost(files: Source) -> list[str]:
    """A warning with the lines that were not used. It leaves out the folder of the source, which is private."""
    read = {name if files.many else files.path.name: lines for name, lines in files.read().items()}
    lost = [f"{name}:{number}" for name, lines in read.items() for number in lines.not_understood()]
    count = "1 line was" if len(lost) == 1 else f"{len(lost):,} lines were"
    return [f"{count} not understood and left out: {_first(lost)}"] if lost else []


def _not_read(files: Source) -> list[str]:
    """A warning with the files that the importer did not read."""
    lost = [file.name for file in files.files if file.name not in files.read()]
    count = "1 file was" if len(lost) == 1 else f"{len(lost):,} files were"
    return [f"{count} not read: {_first(lost)}"] if lost and files.many else []


def _most(said: list[str]) -> list[str]:
    """The first warnings, and how many more there are."""
    more = len(said) - MOST_WARNINGS
    return said if more <= 0 else [*said[:MOST_WARNINGS], f"further warnings of this import: {more:,}"]


def _first(names: list[str]) -> str:
    return ", ".join(names[:_NAMED]) + (" ..." if len(names) > _NAMED else "")


def _parts(dbms: str) -> tuple[str, str]:
    """Build and configuration. The last dot separates them, because a build may be called mysql-9.7."""
    build, _, config = dbms.rpartition(".")
    return build, config


def _manifest(run: ImportedRun, workload: Workload, record: ExperimentRecord, source: str, now: datetime) -> Manifest:
    build, config = _parts(run.dbms)
    origin = run.origin_wall or now
    identity = [source, record.text, *([step.name for step in run.steps] if run.private else [])]
    return Manifest(
        tool_version=version("ibench"),
        run_id=make_run_id(record.name, run.setup, run.dbms, run.repeat, origin),
        status="failed" if run.error else "complete",
        error=run.error,
        failed_step=run.failed_step,
        origin_wall=origin.isoformat(),
        source=source,
        origin="published" if run.rows.keys() <= {"published"} else "imported",
        experiment=record,
        cell=Cell(
            build=build,
            config=config,
            dbms=run.dbms,
            setup=run.setup,
            repeat=run.repeat,
            fingerprint=hashlib.sha256("\0".join(identity).encode()).hexdigest(),
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
