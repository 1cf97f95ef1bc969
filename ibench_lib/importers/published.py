"""Import figures that others have published as runs of this lake, clearly marked as not measured here.

Nothing is made up for them: such a run has its figures (table `published`) and where they are from, no seconds, no
durations, no configuration and no host. Wherever runs are named, its dbms is called published.
"""

from __future__ import annotations

import contextlib
import csv
import hashlib
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from io import StringIO
from pathlib import Path

from ibench_lib.base import strict_yaml
from ibench_lib.errors import LakeError, NameRefused, UsageError
from ibench_lib.lake import reader
from ibench_lib.lake.manifest import Cell, ConfigRecord, ExperimentRecord, Manifest
from ibench_lib.lake.remove import remove_run
from ibench_lib.lake.writer import RunWriter
from ibench_lib.paths import Workspace, check_name, make_run_id

METRICS = ("ips", "dps", "qps", "get_min_s", "hll", "fairness_diff_s", "fairness_pct")
"""What a lake can hold of a run without its seconds; names and units as in ibench_lib/metrics.py."""

_KEYS = ("setup", "dbms", "step")
_MOST_BYTES = 10_000_000


@dataclass
class _Run:
    """One published result: its figures by step and metric."""

    setup: str
    dbms: str
    values: dict[tuple[str, str], float] = field(default_factory=dict)


def import_published(path: Path, experiment: str, source: str, title: str, workspace: Workspace) -> list[str]:
    """Import published figures into the lake, one run for each setup and dbms; all of them or nothing.

    Parameters
    ----------
    path : CSV with a header: setup, dbms, step, and a column for each metric of `METRICS` that it has; an empty cell
        was not published. A dbms is `<build>.<config>`; steps are listed in the order of the file.
    experiment : name that they go by; no run may have it yet.
    source : where they were published.

    Returns
    -------
    The ids of the runs.

    Raises
    ------
    UsageError : the file cannot be used; the message names the line.
    LakeError : the experiment has runs, or the lake cannot be written.
    """
    check_name(experiment, "experiment")
    if not source.strip():
        raise UsageError("published figures need a source", hint="such as --source 'report of August 2023, address'")
    text = _read(path)
    runs, steps = _parse(text, path)
    known = reader.sql(reader.lake(workspace), "SELECT DISTINCT experiment FROM runs")["experiment"]
    if experiment in known:
        raise LakeError(
            f"experiment {experiment} already has runs",
            hint="use another name: published and measured runs cannot share a name",
        )
    now = datetime.now(UTC)
    made: list[str] = []
    try:
        for run in runs:
            manifest = _manifest(run, steps[run.setup], experiment, source, title or source, text, now)
            writer = RunWriter(workspace.run_dir(manifest.run_id))
            made.append(manifest.run_id)
            for (step, metric), value in run.values.items():
                writer.append("published", step_id=steps[run.setup].index(step), step=step, metric=metric, value=value)
            writer.seal(manifest)
    except BaseException:
        for run_id in made:
            with contextlib.suppress(LakeError):  # what was said first counts
                remove_run(run_id, workspace)
        raise
    return made


def _read(path: Path) -> str:
    try:
        with open(path, "rb") as file:
            content = file.read(_MOST_BYTES + 1)
        if len(content) > _MOST_BYTES:
            raise UsageError(
                f"{path} is larger than {_MOST_BYTES // 1_000_000} MB; a table of published figures is small"
            )
        return content.decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from error


def _parse(text: str, path: Path) -> tuple[list[_Run], dict[str, list[str]]]:
    """The runs, and the steps of each setup, both in the order of the file."""
    rows = csv.reader(StringIO(text), strict=True)
    try:
        header = next(rows, [])
        _check_header(header, path)
        runs: dict[tuple[str, str], _Run] = {}
        steps: dict[str, list[str]] = {}
        seen: set[tuple[str, ...]] = set()
        for line, row in _lines(rows):
            if len(row) != len(header):
                raise UsageError(f"{path}:{line}: {len(row)} columns, but the header has {len(header)}")
            cells = dict(zip(header, row, strict=True))
            setup, dbms, step = key = tuple(_name(cells, name, path, line) for name in _KEYS)
            if key in seen:
                raise UsageError(f"{path}:{line}: {', '.join(key)} occurs twice")
            seen.add(key)
            _kind(step, path, line)
            run = runs.setdefault((setup, dbms), _Run(setup, dbms))
            if step not in steps.setdefault(setup, []):
                steps[setup].append(step)
            for metric in header:
                if metric in METRICS and cells[metric].strip():
                    run.values[step, metric] = _number(cells[metric], metric, path, line)
    except csv.Error as error:
        raise UsageError(f"{path}:{rows.line_num}: {error}") from error
    if not any(run.values for run in runs.values()):
        raise UsageError(f"{path} has no figures")
    return list(runs.values()), steps


def _lines(rows: Iterator[list[str]]) -> Iterator[tuple[int, list[str]]]:
    for row in rows:
        if row:
            yield rows.line_num, row  # type: ignore[attr-defined]


def _check_header(header: list[str], path: Path) -> None:
    missing = [name for name in _KEYS if name not in header]
    if missing:
        raise UsageError(f"{path}:1: no column {missing[0]!r}", hint=f"the first columns are {', '.join(_KEYS)}")
    for name in header:
        if name not in (*_KEYS, *METRICS):
            near = strict_yaml.suggestion(name, list(METRICS))
            raise UsageError(f"{path}:1: unknown column {name!r:.80}{near}", hint="metrics are as ibench names them")
        if header.count(name) > 1:
            raise UsageError(f"{path}:1: column {name!r} occurs twice")
    if len(header) == len(_KEYS):
        raise UsageError(f"{path}:1: no column of a metric", hint=f"metrics are {', '.join(METRICS)}")


def _name(cells: dict[str, str], name: str, path: Path, line: int) -> str:
    try:
        return check_name(cells[name].strip(), name)
    except NameRefused as error:
        raise UsageError(f"{path}:{line}: {error.what}", hint=error.hint) from None


def _number(text: str, metric: str, path: Path, line: int) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or value < 0:
        raise UsageError(f"{path}:{line}: {metric} is {text!r:.80}, not a number of at least 0")
    return value


def _kind(step: str, path: Path, line: int) -> str:
    """The kind of a step by its name."""
    for start, kind in (("l.i0", "load"), ("l.x", "index"), ("l.", "write"), ("q", "query")):
        if step.startswith(start):
            return kind
    raise UsageError(
        f"{path}:{line}: unknown step {step!r}", hint="steps are l.i0, l.x, l.i1 ..., and q... for queries"
    )


def _manifest(
    run: _Run, steps: list[str], experiment: str, source: str, title: str, text: str, now: datetime
) -> Manifest:
    build, _, config = run.dbms.partition(".")
    planned = [{"name": step, "kind": _kind(step, Path(), 0)} for step in steps]
    return Manifest(
        tool_version=version("ibench"),
        run_id=make_run_id(experiment, run.setup, run.dbms, 1, now),
        status="complete",
        origin_wall=now.isoformat(),
        source=source,
        experiment=ExperimentRecord(name=experiment, title=title, text=text),
        cell=Cell(
            build=build,
            config=config,
            dbms=run.dbms,
            setup=run.setup,
            repeat=1,
            fingerprint=hashlib.sha256(f"{source}\0{text}".encode()).hexdigest(),
        ),
        workload={"resolved_steps": planned},
        scale=1.0,
        config=ConfigRecord(my_cnf="", fragments={}),
        host={},
        versions={},
    )
