"""Imports what others have measured: finds the importer of a file, checks what it returns, and writes the runs.

This module does what every importer needs. It checks names. An experiment never has both measured and imported runs.
Either all runs of a file are imported or none. Each run keeps its source and the file's text. Errors name the line.
"""

from __future__ import annotations

import contextlib
import hashlib
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from ibench_lib import importers as folder
from ibench_lib import plugins
from ibench_lib.base import strict_yaml
from ibench_lib.base.text_file import NotReadable, read_text
from ibench_lib.errors import LakeError, NameRefused, UsageError
from ibench_lib.importers.importer import ImportedRun, Importer, Lines, Row, Told
from ibench_lib.paths import Workspace, check_name, make_run_id
from ibench_lib.schema import TABLES
from ibench_lib.store import reader
from ibench_lib.store.manifest import Cell, ConfigRecord, ExperimentRecord, Manifest
from ibench_lib.store.remove import remove_run
from ibench_lib.store.writer import RunWriter
from ibench_lib.workloads.workload import known_steps

KindOf = Callable[[str], str | None]
"""The kind of a step by its name; None for a name that no workload knows."""

MOST_STEPS = 1000
MOST_TEXT = 500

_MOST_BYTES = 10_000_000
_LINES_NAMED = 5
# A row of these stands for one second of a run: rates are made of differences from one row to the next.
_OF_A_SECOND = {
    *("ops", "server_samples", "server_counters"),
    *("host_samples", "device_samples", "network_samples", "process_samples", "thread_states"),
}
_A_SECOND = (0.9, 1.1)


@dataclass(frozen=True)
class Taken:
    """The result of an import: the importer, the ids of the runs, and a warning for everything that was left out."""

    importer: str
    run_ids: list[str]
    warnings: list[str]


def importers() -> dict[str, Importer]:
    """Every importer that a module of this folder or an installed package defines, by name."""
    found: dict[str, Importer] = {}
    for module in plugins.modules("importers", folder):
        importer: Importer | None = vars(module).get("IMPORTER")
        if importer is not None:
            found[importer.name] = importer
    return dict(sorted(found.items()))


def find_importer(path: Path, name: str | None = None) -> Importer:
    """The importer called `name`, else the one that takes the file.

    Raises
    ------
    UsageError : there is none, or there are several; `detail` has what each expects.
    """
    known = importers()
    expected = "\n".join(f"{importer.name}: {importer.expects}" for importer in known.values())
    if name is not None:
        if name not in known:
            near = strict_yaml.suggestion(name, list(known))
            raise UsageError(f"unknown importer {name!r:.80}{near}", detail=expected)
        return known[name]
    try:
        taking = [importer for importer in known.values() if importer.takes(path)]
    except FileNotFoundError:
        raise UsageError(f"{path} cannot be read: no such file") from None
    except NotReadable as error:
        raise UsageError(f"{path} cannot be read: {error}") from error
    if not taking:
        raise UsageError(
            f"{path} is not a file that ibench can import", hint="the kinds below can be imported", detail=expected
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
    kind_of: KindOf,
    title: str = "",
    importer: str | None = None,
    setup: str | None = None,
    dbms: str | None = None,
) -> Taken:
    """Import the runs of a file into the lake, either all of them or none.

    Parameters
    ----------
    path : what others have measured, in a form that an importer knows.
    experiment : name of the experiment that the runs get; no run may have it yet.
    source, title : the origin of the file, and one line for people; at most `MOST_TEXT` characters.
    kind_of : which names of steps are known.
    importer : name of the importer; by default the content decides.
    setup, dbms : for files that do not name them.

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
    chosen = find_importer(path, importer)
    lines = Lines(path, _read(path))
    runs = list(chosen.runs(path, Told(lines, setup, dbms)))
    if not runs:
        raise UsageError(f"{path} has no figures")
    _check(runs, lines, kind_of)
    known = reader.sql(reader.lake(workspace), "SELECT DISTINCT experiment FROM runs")["experiment"]
    if experiment in known:
        raise LakeError(
            f"experiment {experiment} already has runs",
            hint="use another name: imported and measured runs cannot share a name",
        )
    warnings = _lost(lines)
    record = ExperimentRecord(name=experiment, title=title or source, text=lines.text)
    now = datetime.now(UTC)
    manifests = [_manifest(run, record, source, kind_of, now) for run in runs]
    made: list[str] = []
    try:
        for run, manifest in zip(runs, manifests, strict=True):
            manifest.warnings += warnings
            writer = RunWriter(workspace.run_dir(manifest.run_id))
            made.append(manifest.run_id)
            try:
                _write(run, lines, writer)
            finally:  # a run that is not sealed could not be removed
                writer.seal(manifest)
    except BaseException:
        for run_id in made:
            with contextlib.suppress(LakeError):  # the first error is the one to report
                remove_run(run_id, workspace)
        raise
    return Taken(chosen.name, made, warnings)


def _read(path: Path) -> str:
    try:
        return read_text(path, _MOST_BYTES)  # it is stored with each run
    except FileNotFoundError:
        raise UsageError(f"{path} cannot be read: no such file") from None
    except NotReadable as error:
        raise UsageError(f"{path} cannot be read: {error}") from error


def _check_text(name: str, text: str) -> None:
    if len(text) > MOST_TEXT:
        raise UsageError(f"the {name} has {len(text):,} characters", hint=f"at most {MOST_TEXT} are stored")
    for character in text:
        if unicodedata.category(character) in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"):
            raise UsageError(
                f"the {name} has the control character U+{ord(character):04X}", hint="write it in one line of text"
            )


def _check(runs: list[ImportedRun], lines: Lines, kind_of: KindOf) -> None:
    """Refuse what no importer may return."""
    seen: set[tuple[str, str, int]] = set()
    for run in runs:
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
        for step in run.steps:
            _check_name(step.name, "step", lines, step.line)
            if kind_of(step.name) is None:
                raise lines.refusal(
                    step.line,
                    f"unknown step {step.name!r:.80}",
                    f"the steps of {known_steps()}",
                )
        _check_tables(run, lines)


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


def _lost(lines: Lines) -> list[str]:
    """A warning with the lines that were not used. It leaves out the folder of the file, which is private."""
    lost = lines.not_understood()
    if not lost:
        return []
    named = ", ".join(f"{lines.path.name}:{number}" for number in lost[:_LINES_NAMED])
    count = "1 line was" if len(lost) == 1 else f"{len(lost):,} lines were"
    return [f"{count} not understood and left out: {named}{' ...' if len(lost) > _LINES_NAMED else ''}"]


def _parts(dbms: str) -> tuple[str, str]:
    """Build and configuration. The last dot separates them, because a build may be called mysql-9.7."""
    build, _, config = dbms.rpartition(".")
    return build, config


def _manifest(run: ImportedRun, record: ExperimentRecord, source: str, kind_of: KindOf, now: datetime) -> Manifest:
    build, config = _parts(run.dbms)
    origin = run.origin_wall or now
    return Manifest(
        tool_version=version("ibench"),
        run_id=make_run_id(record.name, run.setup, run.dbms, run.repeat, origin),
        status="complete",
        origin_wall=origin.isoformat(),
        source=source,
        experiment=record,
        cell=Cell(
            build=build,
            config=config,
            dbms=run.dbms,
            setup=run.setup,
            repeat=run.repeat,
            fingerprint=hashlib.sha256(f"{source}\0{record.text}".encode()).hexdigest(),
        ),
        workload={"resolved_steps": [{"name": step.name, "kind": kind_of(step.name)} for step in run.steps]},
        scale=1.0,
        config=ConfigRecord(my_cnf=run.settings, fragments={}),
        host=dict(run.host),
        versions={},
        null_reasons=dict(run.missing),
    )
