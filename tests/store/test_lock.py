"""The lock of a run that is being written."""

import pytest

from ibench_lib.errors import LakeError
from ibench_lib.paths import Workspace
from ibench_lib.store.recover import left_behind, recover
from ibench_lib.store.remove import remove_run
from ibench_lib.store.verify import verify
from tests.store.dead import DEAD
from tests.synthetic import Run, begin_run, end_run

pytestmark = pytest.mark.lake


def test_a_run_that_is_being_written_is_left_alone(workspace: Workspace) -> None:
    writer = begin_run(workspace, DEAD, sealed=("l.i0", "l.x"))
    run_dir = workspace.run_dir(DEAD.run_id)
    assert left_behind(workspace.runs) == []
    for refused in (lambda: recover(run_dir), lambda: remove_run(DEAD.run_id, workspace)):
        with pytest.raises(LakeError, match="is being written"):
            refused()
    with pytest.raises(LakeError, match="is not sealed"):
        verify(run_dir)
    end_run(writer, Run(steps=("l.i0", "l.x", "l.i1"), l_i1_s=2))
    remove_run(DEAD.run_id, workspace)
    assert list(workspace.runs.iterdir()) == []
