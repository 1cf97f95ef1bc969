"""What an experiment file may say of LinkBench, and the line that says what is wrong with it."""

from pathlib import Path

import pytest

from ibench_lib.errors import ExperimentError
from ibench_lib.experiment.cells import load_experiment

TEXT = """\
title: t
builds: [system]
configs: [{name: base, fragments: [cy10a]}]
setups: [%s]
workload: {benchmark: linkbench%s}
"""
SIZE = "{name: one, nodes: %s, seconds: 1.0, warm_up: 1.0}"


def load(tmp_path: Path, setup: str = SIZE % 1000, more: str = "") -> None:
    path = tmp_path / "t.yaml"
    path.write_text(TEXT % (setup, more))
    experiment = load_experiment(path)
    for cell in experiment.cells():
        experiment.steps(cell)


@pytest.mark.parametrize("setup", ["tiny", "small"])
def test_presets(tmp_path: Path, setup: str) -> None:
    load(tmp_path, setup)


@pytest.mark.parametrize(
    ("setup", "more", "words"),
    [
        (SIZE % 0, "", r"t\.yaml:4: setups\[1\]\.nodes: .*greater than or equal to 1"),
        (SIZE % 9, ", requesters: [2, 2]", r"requesters: 2 occurs more than once"),
        (SIZE % 9, ", requesters: []", r"t\.yaml:5: workload\.requesters: .*at least 1 item"),
        (SIZE % 9, ", requesters: [0]", r"t\.yaml:5: workload\.requesters\[1\]: .*greater than or equal to 1"),
        (SIZE % 9, ", partitions: -1", r"t\.yaml:5: workload\.partitions: .*greater than or equal to 0"),
        (SIZE % 9, ", statements: '2020'", r"t\.yaml:5: workload\.statements: .*'2015' or '2013'"),
        (SIZE % 9, ", engine: rocksdb, partitions: 4", r"partitions: tables of engine rocksdb are not partitioned"),
        (SIZE % 9, ", engine: tokudb", r"t\.yaml:5: workload\.engine: .*'innodb' or 'rocksdb'"),
        (SIZE % 9, ", distribution: ''", r"t\.yaml:5: workload\.distribution: .*at least 1 character"),
        (SIZE % 9, ", degree_tail: short", r"t\.yaml:5: workload\.degree_tail: .*'original' or 'scaled'"),
    ],
)
def test_a_mistake_is_one_clear_line(tmp_path: Path, setup: str, more: str, words: str) -> None:
    with pytest.raises(ExperimentError, match=words) as caught:
        load(tmp_path, setup, more)
    assert "\n" not in caught.value.what
