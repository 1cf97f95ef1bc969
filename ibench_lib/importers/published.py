"""Imports figures that others have published, from tables in CSV, clearly marked as not measured here.

The header names the columns: setup, dbms, step, and one for each metric of `metrics.publishable()` that was published.
A column `benchmark` is needed only where several benchmarks have all steps of a setup. A folder or an archive may have
several tables: each is read alone, so that a result is in only one of them. An empty cell was not published. A dbms is
`<build>.<config>`. The steps of a setup are in the order of the file. Such a run has its figures (table `published`)
and their source, but no seconds, durations, configuration or host.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass, field
from io import StringIO

from ibench_lib.base.wording import suggestion
from ibench_lib.errors import UsageError
from ibench_lib.importers.importer import ImportedRun, ImportedStep, ImportRequest, Row
from ibench_lib.importers.lines import Lines
from ibench_lib.importers.source import File, Source
from ibench_lib.metrics import publishable

_KEYS = ("setup", "dbms", "step")
_BENCHMARK = "benchmark"


@dataclass
class _Result:
    """The published figures of one setup and dbms, by step and metric, and the first line that names it."""

    setup: str
    dbms: str
    line: int
    benchmark: str | None
    values: dict[tuple[str, str], float] = field(default_factory=dict)


class Published:
    """The importer of published figures."""

    name = "published"
    summarises = True
    expects = f"CSV with a header: {', '.join(_KEYS)}, and a column for each metric, of {', '.join(publishable())}"

    def recognises(self, file: File) -> str | None:
        """Most of the columns that these tables share, in its first line."""
        header = file.beginning.split("\n", 1)[0].strip().split(",")
        keys = [name for name in _KEYS if name in {column.strip('"') for column in header}]
        return f"its header has {', '.join(keys)}" if len(keys) >= 2 else None

    def runs(self, source: Source, told: ImportRequest) -> Iterator[ImportedRun]:
        """One run for each setup and dbms of each table."""
        if told.setup or told.dbms:
            raise UsageError(
                "published figures name their setup and dbms themselves", hint="leave --setup and --dbms out"
            )
        for file in source.files:
            if source.many and self.recognises(file) is None:
                continue
            results, steps = _parse(source.lines(file))
            if not any(result.values for result in results):
                raise UsageError(f"{source.where(file.name)} has no figures")
            for result in results:
                yield ImportedRun(
                    setup=result.setup,
                    dbms=result.dbms,
                    line=result.line,
                    file=file.name,
                    benchmark=result.benchmark,
                    steps=list(steps[result.setup, result.benchmark].values()),
                    rows={"published": _rows(result)},
                )


IMPORTER = Published()


def _rows(result: _Result) -> list[Row]:
    return [{"step": step, "metric": metric, "value": value} for (step, metric), value in result.values.items()]


def _parse(lines: Lines) -> tuple[list[_Result], dict[tuple[str, str | None], dict[str, ImportedStep]]]:
    """The results, and the steps of each setup and benchmark, both in the order of the file."""
    rows = csv.reader(StringIO(lines.text), strict=True)
    results: dict[tuple[str, str], _Result] = {}
    steps: dict[tuple[str, str | None], dict[str, ImportedStep]] = {}
    seen: set[tuple[str, ...]] = set()
    before = 0
    try:
        header = next(rows, [])
        _check_header(header, lines)
        for row in rows:
            lines.used(before + 1, before := rows.line_num)
            line = before
            if not row:
                continue
            if len(row) != len(header):
                raise lines.refusal(line, f"{len(row)} columns, but the header has {len(header)}")
            cells = {name: text.strip() for name, text in zip(header, row, strict=True)}
            setup, dbms, step = key = tuple(cells[name] for name in _KEYS)
            if key in seen:
                raise lines.refusal(line, f"{', '.join(key)} occurs twice")
            seen.add(key)
            benchmark = cells.get(_BENCHMARK) or None
            result = results.setdefault((setup, dbms), _Result(setup, dbms, line, benchmark))
            if result.benchmark != benchmark:
                raise lines.refusal(line, f"{setup}, {dbms} is of another benchmark than in line {result.line}")
            steps.setdefault((setup, benchmark), {}).setdefault(step, ImportedStep(step, line))
            for metric in publishable():
                if cells.get(metric):
                    result.values[step, metric] = lines.decimal(cells[metric], line, metric)
    except csv.Error as error:
        raise lines.refusal(rows.line_num, str(error)) from error
    return list(results.values()), steps


def _check_header(header: list[str], lines: Lines) -> None:
    missing = [name for name in _KEYS if name not in header]
    if missing:
        raise lines.refusal(1, f"no column {missing[0]!r}", f"the first columns are {', '.join(_KEYS)}")
    for name in header:
        if name not in (*_KEYS, _BENCHMARK, *publishable()):
            near = suggestion(name, list(publishable()))
            raise lines.refusal(1, f"unknown column {name!r:.80}{near}", "metrics are as ibench names them")
        if header.count(name) > 1:
            raise lines.refusal(1, f"column {name!r} occurs twice")
    if not {*header} & {*publishable()}:
        raise lines.refusal(1, "no column of a metric", f"metrics are {', '.join(publishable())}")
