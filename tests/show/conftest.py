"""Fixtures for the tests of this folder."""

from __future__ import annotations

import shutil
from dataclasses import replace

import pytest

import ibench_lib as ib
from ibench_lib.paths import Workspace
from ibench_lib.show.step_detail.detail import StepDetail
from tests.places import ROOT
from tests.show.stalled import STALLED, WRITTEN, captured, everything, l_i1
from tests.show.traces import checked_drawings
from tests.synthetic import Run, write_runs

__all__ = ["checked_drawings"]
"""A fixture for each of them."""


@pytest.fixture(scope="session")
def place(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """A run with all panels and no stall, one with a stall, one that failed with a stall."""
    root = tmp_path_factory.mktemp("detail")
    shutil.copytree(ROOT / "notebooks", root / "notebooks")
    failed = Run("x", minute=2, status="failed", failed_step="l.i1", steps=("l.i0", "l.x", "l.i1"), stall=(7,))
    slow = replace(STALLED, sampled=(("pages_written", WRITTEN),))
    write_runs(Workspace(root), Run(sampled=everything(10), also=captured(60)), slow, failed)
    return Workspace(root)


@pytest.fixture(scope="session")
def detail(place: Workspace) -> StepDetail:
    found: StepDetail = ib.step_detail(l_i1(place).ask)
    return found
