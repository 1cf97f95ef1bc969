"""Archives that others have published, against the figures that their authors have published of them.

Nothing of them is in this repository. A test reads an archive if it lies in the folder that IBENCH_REFERENCE names,
under the name of its repository, and is skipped if it does not.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from ibench_lib.importers.importer import ImportRequest
from ibench_lib.importers.source import Source
from ibench_lib.importers.sysbench import IMPORTER

REFERENCE = Path(os.environ.get("IBENCH_REFERENCE", "/nonexistent"))
METRICS = REFERENCE / "2026-interactive-metrics"

Point = tuple[str, str]
"""The dbms as its log's folder and buffer pool name it, and the step."""


def published(name: str, test: str) -> dict[Point, float]:
    """Transactions per second of each point."""
    rows = json.loads((METRICS / f"published.{name}.json").read_text(encoding="utf-8"))
    return {
        (f"{row['server'].replace(' ', '-')}.Tier{row['mem_gb']}G", f"{test}.t{row['threads']}"): row["tps"]
        for row in rows
    }


def imported(folder: Path, test: str) -> Iterator[tuple[Point, float, float]]:
    """The points that the logs of a folder have: the rate that sysbench prints, and transactions over T."""
    with Source(folder) as source:
        for run in IMPORTER.runs(source, ImportRequest("theirs", None, test)):
            times = {row["step"]: row["duration_s"] for row in run.rows["steps"]}
            for step in run.steps:
                printed = step.details["printed"]
                if "transactions" in printed:
                    rate = printed["transactions"] / times[step.name]
                    yield (run.dbms, step.name), printed["transactions_per_s"], rate


@pytest.mark.long
@pytest.mark.skipif(not METRICS.is_dir(), reason="IBENCH_REFERENCE has no 2026-interactive-metrics")
@pytest.mark.parametrize(
    ("name", "folder", "test"),
    [
        ("rw", "benchmark_logs", "oltp_read_write"),
        ("ro", "benchmark_logs_read_only", "oltp_read_only"),
        ("remote_rw", "benchmark_remote_logs", "oltp_read_write"),
        ("remote_ro", "benchmark_remote_logs_read_only", "oltp_read_only"),
    ],
)
def test_each_published_point_is_what_its_log_has(name: str, folder: str, test: str) -> None:
    """All 959 if the archive is whole: 239 and three times 240. One log ends without its totals and has no point."""
    if not (METRICS / folder).is_dir():
        pytest.skip(f"the archive has no {folder}")
    points, compared = published(name, test), 0
    logs = len(list((METRICS / folder).rglob("*.sysbench.txt")))
    for point, printed, rate in imported(METRICS / folder, test):
        if point in points:
            assert printed == points[point], point
            assert rate == pytest.approx(printed, rel=1e-5, abs=0.006), point
            compared += 1
    assert compared == len(points) if logs >= len(points) else 0 < compared <= logs
