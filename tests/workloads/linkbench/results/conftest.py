"""Lakes with runs of LinkBench."""

from __future__ import annotations

from typing import Any

import pytest

from ibench_lib.paths import Workspace
from ibench_lib.store import reader
from tests.synthetic import Run
from tests.workloads.linkbench.results.runs import write


@pytest.fixture
def lake(workspace: Workspace) -> Any:
    write(workspace, Run("a"), {"t2": 100, "t4": 160, "control": 80})
    write(workspace, Run("b", minute=1), {"t2": 50, "t4": 80, "control": 50})
    return reader.lake(workspace)
