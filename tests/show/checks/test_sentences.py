"""A failed check of a run that says that it completed."""

from __future__ import annotations

import pytest

import ibench_lib as ib
from ibench_lib.ask.selection import choose
from ibench_lib.paths import Workspace
from ibench_lib.show.headline import attentions
from ibench_lib.store import reader
from ibench_lib.store.writer import RunWriter
from tests.show.saying import spoken
from tests.synthetic import Run, manifest_of, write_checks

pytestmark = pytest.mark.lake


@pytest.mark.parametrize(
    ("broken", "by", "status", "loud"),
    [
        ("C12", None, "complete", True),
        ("C12", "profile tpcc_mysql", "complete", False),
        ("C12", None, "failed", False),
        ("", None, "complete", False),
    ],
)
def test_a_failed_check_of_a_complete_run_is_loud_unless_a_profile_explains_it(
    workspace: Workspace, broken: str, by: str | None, status: str, loud: bool
) -> None:
    run = Run("a", status=status, failed_step=None if status == "complete" else "l.i0")
    writer = RunWriter(workspace.run_dir(run.run_id))
    write_checks(writer, 0, "l.i0", ["C1", "C12"], broken, by)
    writer.seal(manifest_of(run))
    said = spoken(workspace, ib.failed_check_statements)
    assert bool(said) == loud
    screen = attentions(choose(reader.lake(workspace), "demo")).markup
    assert ("1 check of C12 failed (what violates C12), but the run says that it completed" in screen) == loud
