"""Imports the summaries of means that the scripts of the microbenchmarks write, `o.met.*`, as published figures.

Such a file has a block for each test: its name and threads, a table of operations per second and of costs per operation
with a line for each dbms, and the ratios of these figures. The operations are the queries of `qps.abs.*.tsv`. Costs are
not read: they are means of rounded samples, and of vmstat the scripts count each repeated header as a sample of zeros.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from ibench_lib.errors import UsageError
from ibench_lib.importers.importer import ImportedRun, ImportRequest, Remark
from ibench_lib.importers.layout import dbms_of
from ibench_lib.importers.lines import Lines
from ibench_lib.importers.source import File, Source
from ibench_lib.importers.sysbench import microbenchmark_of
from ibench_lib.importers.sysbench_tables import PublishedRates, published_runs

_TEST = re.compile(r"sb\.met\.([a-z.-]{1,60})\.range(\d{1,6})\.pk\d\.dop([1-9]\d{0,4})", re.ASCII)
_LOAD = re.compile(r"sb\.prepare\.met\.[\w.-]{1,100}", re.ASCII)
_HEADS = ["cpu/o", "cs/o", "r/o", "rKB/o", "wKB/o", "o/s", "dbms"]
_ABSOLUTE, _RELATIVE = "--- absolute", "--- relative to first result"
_NOT_READ = "costs per operation are left out: in them, repeated headers of vmstat count as samples of zeros"


class SysbenchMeans:
    """The importer of these files. Logs, where they are there, too, are read before them."""

    name = "sysbench-means"
    expects = "summaries of means of the microbenchmarks (o.met.*): sb.met.point-query.range100.pk1.dop1 ..."
    summarises = True

    def recognises(self, file: File) -> str | None:
        """The name of its first test, and what stands below it."""
        first, _, second = file.beginning.partition("\n")
        is_block = second.startswith(_ABSOLUTE) and (_TEST.fullmatch(first.strip()) or _LOAD.fullmatch(first.strip()))
        return "it begins with the means of a test" if is_block else None

    def runs(self, source: Source, told: ImportRequest) -> Iterator[ImportedRun]:
        """One run for each dbms of each file."""
        if told.dbms or told.test:
            raise UsageError("such a file names its dbms and its tests itself", hint="leave --dbms and --test out")
        for file in source.files:
            if self.recognises(file):
                blocks = _Blocks(source.lines(file))
                blocks.read()
                said = [Remark(file.name, 1, _NOT_READ)]
                if blocks.loads:
                    said.append(Remark(file.name, blocks.loads[0], "the means of loads are left out"))
                yield from published_runs(source, told, file, list(blocks.found.values()), said)


IMPORTER = SysbenchMeans()


@dataclass
class _Blocks:
    """The figures of a file by dbms. `loads` are the lines of loads, which are no tests."""

    lines: Lines
    found: dict[str, PublishedRates] = field(default_factory=dict)
    loads: list[int] = field(default_factory=list)

    def read(self) -> None:
        """Take in all lines. Those of a test that ibench does not know are not understood. Raises UsageError."""
        cut = self.lines.text.count("\n") + 1  # a line that nothing ends may be a shorter one
        test: tuple[str, int] | None = None
        is_load, part, headed = False, "", False
        for number, text in self.lines:
            said = text.strip()
            if number == cut or not said:
                continue
            if match := _TEST.fullmatch(said):
                name = microbenchmark_of(f"sb.o.{match[1]}.range{match[2]}.pk1")
                test, is_load, part, headed = (name, int(match[3])) if name else None, False, "", False
            elif _LOAD.fullmatch(said):
                test, is_load, part, headed = None, True, "", False
            elif said in (_ABSOLUTE, _RELATIVE):
                part = said
            elif (cells := re.split(r"\t+", said)) == _HEADS:
                headed = part == _ABSOLUTE
            elif len(cells) != len(_HEADS) or not headed:
                continue
            elif test and part == _ABSOLUTE:
                self._take(number, test, cells)
            if is_load:
                self.loads.append(number)
            if test or is_load:
                self.lines.used(number)

    def _take(self, number: int, test: tuple[str, int], cells: list[str]) -> None:
        dbms = dbms_of([cells[-1]])
        if dbms is None:
            raise self.lines.refusal(number, f"{cells[-1]!r:.80} is no <build>.<config>", "such as x.my8033.cy10a.pk1")
        rates = self.found.setdefault(dbms, PublishedRates(dbms, number))
        rates.take(self.lines, number, f"{test[0]}.t{test[1]}", test[1], cells[_HEADS.index("o/s")])
