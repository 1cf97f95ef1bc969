"""Files of published figures: what an import of one leaves in the lake, and what damage to one may do."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from ibench_lib.errors import UsageError
from ibench_lib.importers.intake import import_file
from ibench_lib.paths import Workspace
from ibench_lib.store import reader
from tests.importers.sysbench_logs import log
from tests.importers.test_fuzz import damaged

PLACES = 1000


def take(path: Path, workspace: Workspace, setup: str | None = "50m") -> list[str]:
    """Import a file. The warnings."""
    return import_file(path, "theirs", "a report", workspace, setup=setup).warnings


def published(workspace: Workspace) -> list[tuple[Any, ...]]:
    """Dbms, step, metric and value of each published figure in the lake, all of sysbench in one setup."""
    lake = reader.lake(workspace)
    origins = reader.sql(lake, "SELECT DISTINCT origin, benchmark, setup FROM runs")
    assert origins.rows() == [("published", "sysbench", "50m")]
    figures = "SELECT dbms, step, metric, value FROM published JOIN runs USING (run_id) ORDER BY dbms, value DESC"
    return reader.sql(lake, figures).rows()


def damage_makes_no_figure(path: Path, text: str, figures: Callable[[Path], Iterable[Any]], but: str = "") -> None:
    """Whatever is done to a file, it is refused, or has no figure that it did not have. `but`: what is not done."""
    whole, refused = set(figures(path)), 0
    for what, content in damaged(text, log((100, 110)), random.Random(1), places=PLACES):
        if but and but in what:
            continue
        path.write_bytes(content)
        try:
            assert set(figures(path)) <= whole, what
        except UsageError as error:
            assert str(path.parent) in error.what and "\n" not in error.what, what
            refused += 1
    assert 0 < refused < PLACES
