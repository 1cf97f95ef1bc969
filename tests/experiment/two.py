"""An experiment of two configurations."""

from pathlib import Path

from ibench_lib.experiment.cells import LoadedExperiment, load_experiment

TEXT = """\
title: two by two
builds: [a, b]
configs:
  - {name: base, fragments: [cy10a]}
  - {name: lag, fragments: [cy10a, a13]}
setups:
  - cached
  - {name: mine, l_i0_rows: 1000, l_i1_rows: 1000, l_i2_rows: 100, query_seconds: 2}
repeats: 2
workload: {benchmark: insert_benchmark, clients: 2, steps: [l.i0, l.x, l.i1, qr100]}
"""


def load(tmp_path: Path, text: str = TEXT) -> LoadedExperiment:
    path = tmp_path / "two.yaml"
    path.write_text(text)
    return load_experiment(path)
