"""An experiment of many cells on a fake backend."""

from typing import Any

from ibench_lib.experiment.cells import LoadedExperiment, load_experiment
from ibench_lib.paths import Workspace
from ibench_lib.runner.observer import Observer
from ibench_lib.runner.sweep import run_experiment
from tests.fakes.sweep import fake_run

TEXT = """\
title: many cells
builds: [a, {name: b56, build: b, stands_for: MySQL 5.6.51}]
configs:
  - {name: base, fragments: [cy10a]}
  - {name: p1, fragments: [cy10a, p1]}
  - {name: only_a, fragments: [cy10a, lag], builds: [a]}
setups:
  - {name: mine, l_i0_rows: 1000, l_i1_rows: 1000, l_i2_rows: 100, query_seconds: 2}
repeats: 2
workload: {benchmark: insert_benchmark, clients: 2, steps: [l.i0, l.x, l.i1, qr100]}
"""
KINDS = ["a.base", "a.p1", "a.only_a", "b56.base", "b56.p1"]


def load(workspace: Workspace, text: str = TEXT) -> LoadedExperiment:
    path = workspace.root / "many.yaml"
    path.write_text(text)
    return load_experiment(path)


def sweep(workspace: Workspace, text: str = TEXT, **options: Any) -> list[str]:
    """Names of the cells that were run."""
    result = run_experiment(load(workspace, text), workspace, Observer(), run=fake_run, **options)
    return [f"{manifest.cell.dbms}-r{manifest.cell.repeat}" for manifest in result.made]


BROKEN = TEXT.replace("name: p1,", "name: broken,").replace("repeats: 2", "repeats: 1")
