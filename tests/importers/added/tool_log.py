"""An importer in one file: the log of a tool that prints its rate at intervals, and its average at the end."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ibench_lib.errors import UsageError
from ibench_lib.importers.importer import ImportedRun, ImportedStep, ImportRequest
from ibench_lib.importers.source import File, Source

_TEST = re.compile(r"test (\S+)")
_INTERVAL = re.compile(r"\[ *\d+s \] qps: \S+")
_AVERAGE = re.compile(r"average: (\S+) queries/s")


class ToolLog:
    name = "tool-log"
    expects = "a log that begins with 'tool 1.0'"

    def recognises(self, file: File) -> str | None:
        return "it begins with 'tool 1.0'" if file.beginning.startswith("tool 1.0") else None

    def runs(self, source: Source, told: ImportRequest) -> Iterator[ImportedRun]:
        if told.setup is None or told.dbms is None:
            raise UsageError(f"{source} does not say what it is of", hint="name it with --setup and --dbms")
        lines = source.lines(source.files[0])
        step, rows = None, []
        for number, line in lines:
            if found := _TEST.fullmatch(line):
                step = ImportedStep(found[1], number)
            elif (found := _AVERAGE.fullmatch(line)) and step is not None:
                value = lines.decimal(found[1], number, "qps")
                rows.append({"step": step.name, "metric": "qps", "value": value})
            elif not _INTERVAL.fullmatch(line) and not line.startswith("tool 1.0"):
                continue
            lines.used(number)
        if step is not None:
            yield ImportedRun(told.setup, told.dbms, step.line, [step], {"published": rows})


IMPORTER = ToolLog()
