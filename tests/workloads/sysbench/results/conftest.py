"""Lakes with runs of sysbench."""

from __future__ import annotations

from typing import Any

import pytest

from ibench_lib.paths import Workspace
from ibench_lib.store import reader
from tests.synthetic import Run
from tests.workloads.sysbench.results.runs import RATES, write


@pytest.fixture
def lake(workspace: Workspace) -> Any:
    write(workspace, Run("a"), RATES)
    write(workspace, Run("b", minute=1), {step: rate * (3 if "random" in step else 2) for step, rate in RATES.items()})
    return reader.lake(workspace)
