"""Counts and words that several commands print."""

import pytest

from ibench_lib.cli.output import done_elsewhere
from ibench_lib.paths import Workspace
from tests.synthetic import Run, write_runs

pytestmark = pytest.mark.lake


def test_finished_cells_of_other_experiments_are_counted_in_words(workspace: Workspace) -> None:
    runs = [Run(experiment="other", minute=minute, repeat=minute + 1) for minute in range(2)]
    write_runs(workspace, *runs)
    ids = [run.run_id for run in runs]
    assert done_elsewhere(ids, "other", workspace) is None
    assert done_elsewhere(ids[:1], "mine", workspace) == (
        "1 of the finished cells comes from a run of other with the same build, configuration and workload. A post "
        "with `experiment: mine` does not show that run; `ibench run --again` runs finished cells again, for mine."
    )
    several = done_elsewhere(ids, "mine", workspace)
    assert several is not None and several.startswith("2 of the finished cells come from runs of other with the same ")
    assert "does not show those runs; " in several
