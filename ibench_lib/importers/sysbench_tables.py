"""Imports the tables of queries per second that the scripts of the microbenchmarks write, as published figures.

Such a table, `qps.abs.all.tsv` for instance, begins with a line for each of its columns, which names a dbms. Each line
below has a test with its range, and before it the figure of each column. How many threads the tests had is the name of
a folder: dop1. The scripts write ratios of these figures, too (`qps.rel.*.tsv`): they are no figures of their own, and
are not read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ibench_lib.errors import UsageError
from ibench_lib.importers.importer import ImportedRun, ImportedStep, ImportRequest, Remark, Row
from ibench_lib.importers.layout import dbms_of
from ibench_lib.importers.lines import Lines
from ibench_lib.importers.source import File, Source
from ibench_lib.importers.sysbench import microbenchmark_of

_COLUMN = re.compile(r"col-(\d{1,4}) : (x\.\S{1,200})", re.ASCII)
_TEST = re.compile(r"([a-z.-]{1,60})_range=(\d{1,6})", re.ASCII)
_THREADS = re.compile(r"dop([1-9]\d{0,4})", re.ASCII)


@dataclass
class PublishedRates:
    """A dbms, the line that names it, and by step its queries per second, the line of each and the threads."""

    dbms: str
    line: int
    figures: dict[str, tuple[float, int, int]] = field(default_factory=dict)

    def take(self, lines: Lines, number: int, step: str, threads: int, figure: str) -> None:
        """Take in the figure of a line. Raises UsageError: it is no number, or there is one of this step already."""
        if step in self.figures:
            raise lines.refusal(number, f"{step} occurs twice")
        self.figures[step] = lines.decimal(figure, number, "qps"), number, threads


class SysbenchTables:
    """The importer of these tables. Their logs, where they are there, too, are read before them."""

    name = "sysbench-tables"
    expects = "tables of queries per second of the microbenchmarks (qps.abs.*.tsv): col-1 : x.<build>.<config>.pk1 ..."
    summarises = True

    def recognises(self, file: File) -> str | None:
        """The name of its first column."""
        return "it begins with the dbms of its columns" if _COLUMN.match(file.beginning) else None

    def runs(self, source: Source, told: ImportRequest) -> Iterator[ImportedRun]:
        """One run for each column of each table."""
        if told.dbms or told.test:
            raise UsageError("a table names its dbms and its tests itself", hint="leave --dbms and --test out")
        for file in source.files:
            if self.recognises(file):
                yield from published_runs(source, told, file, _parse(source, file))


IMPORTER = SysbenchTables()


def published_runs(
    source: Source, told: ImportRequest, file: File, columns: Sequence[PublishedRates], said: Sequence[Remark] = ()
) -> Iterator[ImportedRun]:
    """One run for each dbms of a file. Raises UsageError: nobody says of what setup it is, or it has no figures."""
    if told.setup is None:
        raise UsageError(f"{source}: a table does not say of what setup it is", hint="name it with --setup")
    if not any(column.figures for column in columns):
        raise UsageError(f"{source.where(file.name)} has no figures")
    for column in columns:
        steps = [
            ImportedStep(step, line, {"threads": threads}, threads=threads)
            for step, (_, line, threads) in column.figures.items()
        ]
        rows: list[Row] = [
            {"step": step, "metric": "qps", "value": value} for step, (value, *_) in column.figures.items()
        ]
        yield ImportedRun(
            setup=told.setup,
            dbms=column.dbms,
            line=column.line,
            file=file.name,
            benchmark="sysbench",
            steps=steps,
            rows={"published": rows},
            warnings=said,
            private=True,
        )


def _threads(where: Path) -> int:
    """How many threads the tests of a table had, by the innermost folder that says it. Raises UsageError."""
    for folder in reversed(where.absolute().parts[:-1]):
        if match := _THREADS.fullmatch(folder):
            return int(match[1])
    raise UsageError(
        f"{where}: a table does not say how many threads its tests had",
        hint="put it in a folder that is called after them, such as dop1",
    )


def _parse(source: Source, file: File) -> list[PublishedRates]:
    """The columns of a table. A test that ibench does not know is a line that was not understood."""
    lines, threads = source.lines(file), _threads(source.where(file.name))
    columns: list[PublishedRates] = []
    cut = lines.text.count("\n") + 1  # a line that nothing ends: its range may be a shorter one
    for number, text in lines:
        if number == cut:
            continue
        *figures, last = [cell.strip() for cell in text.split("\t")]
        if named := None if figures else _COLUMN.fullmatch(last):
            columns.append(PublishedRates(_dbms(lines, number, named, len(columns)), number))
        elif test := _TEST.fullmatch(last):
            name = microbenchmark_of(f"sb.o.{test[1]}.range{test[2]}.pk1")
            if name is None:
                continue
            if len(figures) != len(columns):
                raise lines.refusal(number, f"{len(figures)} figures, but there are {len(columns)} columns")
            for column, figure in zip(columns, figures, strict=True):
                column.take(lines, number, f"{name}.t{threads}", threads, figure)
        elif [*figures, last] != [f"col-{place}" for place, _ in enumerate(columns, start=1)]:
            continue
        lines.used(number)
    return columns


def _dbms(lines: Lines, number: int, named: re.Match[str], before: int) -> str:
    """The dbms of the next column. Raises UsageError."""
    if int(named[1]) != before + 1:
        raise lines.refusal(number, f"this is column {named[1]}, and there are {before} before it")
    dbms = dbms_of([named[2]])
    if dbms is None:
        raise lines.refusal(number, f"{named[2]!r:.80} is no <build>.<config>", "such as x.my8033_rel.cy10a.pk1")
    return dbms
