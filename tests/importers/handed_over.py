"""Runs that importers hand over."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ibench_lib.importers import intake
from ibench_lib.importers.importer import ImportedRun, ImportedStep, ImportRequest
from ibench_lib.importers.intake import ImportResult, import_file
from ibench_lib.importers.source import File, Source
from ibench_lib.paths import Workspace


def write(workspace: Workspace, text: str, name: str = "others.txt") -> Path:
    path = workspace.root / name
    path.write_text(text)
    return path


def take(workspace: Workspace, text: str, **options: Any) -> ImportResult:
    given = {"experiment": "others", "source": "a report", **options}
    return import_file(write(workspace, text), workspace=workspace, **given)


@dataclass
class Stub:
    """An importer that hands over what it is made with."""

    name: str = "stub"
    run: ImportedRun | None = None
    expects: str = "anything"

    def recognises(self, file: File) -> str | None:
        return "anything"

    def runs(self, source: Source, told: ImportRequest) -> Iterator[ImportedRun]:
        if self.run is not None:
            source.lines(source.files[0]).used(1, 1000)
            yield self.run


def second(**columns: Any) -> dict[str, Any]:
    row = {"step": "q100", "client": 1, "worker": 0, "operation": "range_query", "second": 0, "ops": 10, "rows": 100}
    nothing = {"errors": 0, "retries": 0, "unknown": 0, "service_sum_us": 0.0, "service_bins": [], "service_counts": []}
    return {**row, **nothing, **columns}


def run_with(table: str, *rows: dict[str, Any], **said: Any) -> ImportedRun:
    return ImportedRun("c", "a.x", 7, [ImportedStep("q100", 7)], {table: list(rows)}, **said)


def hand_over(workspace: Workspace, monkeypatch: pytest.MonkeyPatch, run: ImportedRun) -> Path:
    monkeypatch.setattr(intake, "importers", lambda: {"stub": Stub(run=run)})
    take(workspace, "a log\n")
    (run_dir,) = workspace.runs.iterdir()
    return run_dir
