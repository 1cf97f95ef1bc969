"""What is said of an experiment before it runs, though it could run."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from ibench_lib.capture.options import CaptureOptions, Profile
from ibench_lib.configs.resolve import resolve
from ibench_lib.errors import HostUnfit
from ibench_lib.experiment.cells import load_experiment
from ibench_lib.paths import Workspace
from ibench_lib.runner.advice import profile_advice, redo_advice
from ibench_lib.runner.plan import plan_cell
from ibench_lib.runner.planned import PlannedCell
from ibench_lib.runner.space import require_space
from ibench_lib.servers.build import Build
from ibench_lib.servers.flavours.flavour import rules_of

OLD = Build("old", "mysql", "5.6.24", Path("/nowhere"), ("/nowhere/mysqld",), "path")
TEXT = """\
title: advice
builds: [old]
configs: [{name: cy10a, fragments: [cy10a]}]
setups: [small]
workload: {benchmark: tpcc, clients: 2}
"""


def planned(workspace: Workspace, *lines: str, scale: float = 1.0) -> PlannedCell:
    """A cell on MySQL 5.6 with these lines on top of the base."""
    path = workspace.root / "advice.yaml"
    path.write_text(TEXT)
    loaded = load_experiment(path)
    (workspace.root / "mine.cnf").write_text("\n".join(["[mysqld]", *lines]) + "\n")
    config = resolve(["cy10a", "mine"], rules_of(OLD), scale, workspace.root)
    return replace(plan_cell(loaded, loaded.cells()[0], OLD), config=config)


def test_a_profile_says_which_steps_may_end_before_it_records() -> None:
    steps = [("load", 300.0), ("run", 12.0), ("run", 20.0), ("just", 65.0), ("short", 64.0)]
    (said,) = profile_advice(CaptureOptions(profile=Profile()), steps)
    assert "records 5 s every 60 s" in said and "nothing in run (20 s), short (64 s); " in said
    assert profile_advice(CaptureOptions(profile=Profile(seconds=3, every_s=8)), steps) == []
    assert profile_advice(CaptureOptions(), steps) == []


def test_a_size_of_redo_files_that_another_fragment_multiplies_is_said(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    free = 100 << 30
    monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(2 * free, free, free))
    (said,) = redo_advice([planned(workspace, "innodb_log_file_size=512M")] * 2, workspace)
    assert said.startswith("old.cy10a: ") and "17.2 GB of redo log" in said
    assert "innodb_log_files_in_group=32, cy10a.mysql-5.6.cnf:" in said and "=512M, mine.cnf:2" in said
    own = planned(workspace, "innodb_log_file_size=512M", "innodb_log_files_in_group=2")
    assert redo_advice([own, planned(workspace, scale=0.01)], workspace) == []


def test_a_redo_log_that_fills_the_disk_is_named(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    free = 100 << 30
    monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(2 * free, free, free))
    entry = planned(workspace)
    (said,) = redo_advice([entry], workspace)
    assert "137.4 GB of redo log (innodb_log_file_size=4G, cy10a.mysql-5.6.cnf:" in said
    with pytest.raises(HostUnfit, match=r"of it, 137.4 GB of redo log .innodb_log_file_size=4G") as refused:
        require_space(entry.build, entry.config, 1 << 20, workspace)
    assert refused.value.hint is not None and "a smaller redo log" in refused.value.hint
    with pytest.raises(HostUnfit, match=r"bytes needed, [0-9,]+ free\n"):
        require_space(entry.build, resolve(["p1"], rules_of(OLD), 1.0), free, workspace)
