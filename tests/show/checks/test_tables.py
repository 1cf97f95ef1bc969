"""The table of checks, on runs whose checks are known."""

from __future__ import annotations

import pytest

import ibench_lib as ib
from ibench_lib.paths import Workspace
from ibench_lib.store import reader
from ibench_lib.store.writer import RunWriter
from tests.show.parsed import Parsed
from tests.synthetic import Run, answer, manifest_of, write_checks

pytestmark = pytest.mark.lake


def test_the_table_of_checks_counts_those_that_held(workspace: Workspace) -> None:
    for run, broken in ((Run("a"), "C12"), (Run("b", minute=1), "")):
        writer = RunWriter(workspace.run_dir(run.run_id))
        write_checks(writer, 0, "l.i0", ["C1", "C12"], broken, "profile tpcc_mysql")
        writer.seal(manifest_of(run))
    frame = answer(reader.lake(workspace), "checks")
    assert frame.select("rule", "runs", "complete", "checks", "held", "broken", "unexplained").rows() == [
        ("C1", 2, 2, 2, 2, 0, 0),
        ("C12", 2, 2, 2, 1, 1, 0),
    ]
    rows = Parsed(ib.checks_table(frame)).rows
    assert [row for row in rows if len(row) == 7][1:] == [
        ["l.i0", "C1", "2", "2", "2", "-", "1.0"],
        ["l.i0", "C12", "2", "2", "1", "what violates C12 (a defect of profile tpcc_mysql)", "1.0"],
    ]


def test_a_step_has_one_row_for_each_rule_whatever_its_place_in_a_run(workspace: Workspace) -> None:
    for run, steps in ((Run(), ("t1", "t4")), (Run(repeat=2, minute=1), ("t4", "t1")), (Run("b"), ("t1", "t4"))):
        writer = RunWriter(workspace.run_dir(run.run_id))
        for step_id, step in enumerate(steps):
            write_checks(writer, step_id, step, ["rows", "sums"])
        writer.seal(manifest_of(run))
    frame = answer(reader.lake(workspace), "checks")
    assert frame.select("step_id", "step", "rule", "runs").rows() == [
        (0, "t1", "rows", 3),
        (0, "t1", "sums", 3),
        (0, "t4", "rows", 3),
        (0, "t4", "sums", 3),
    ]
