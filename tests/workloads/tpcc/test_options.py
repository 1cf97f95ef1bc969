"""What an experiment file may say of TPC-C, and the line that says what is wrong with it."""

from pathlib import Path

import pytest

from ibench_lib.errors import ExperimentError
from ibench_lib.experiment.cells import load_experiment
from ibench_lib.servers.flavours.flavour import find
from tests.places import ROOT
from tests.workloads.tpcc.warehouse import options

TEXT = """\
title: t
builds: [system]
configs: [{name: base, fragments: [cy10a]}]
setups: [%s]
workload: {benchmark: tpcc%s}
"""
SIZE = "{name: one, warehouses: %s, terminals: %s, seconds: %s, ramp_up: 1.0}"


def load(tmp_path: Path, setup: str = SIZE % (1, 4, 2.0), more: str = "") -> None:
    path = tmp_path / "t.yaml"
    path.write_text(TEXT % (setup, more))
    experiment = load_experiment(path)
    for cell in experiment.cells():
        experiment.steps(cell)


@pytest.mark.parametrize("setup", ["tiny", "small", "tpcc1000", "10x100", "10x100_3h"])
def test_presets(tmp_path: Path, setup: str) -> None:
    load(tmp_path, setup)


@pytest.mark.parametrize(
    ("setup", "more", "words"),
    [
        (SIZE % (1, 0, 2.0), "", r"t\.yaml:4: setups\[1\]\.terminals: .*greater than or equal to 1"),
        (SIZE % (0, 1, 2.0), "", r"t\.yaml:4: setups\[1\]\.warehouses: .*greater than or equal to 1"),
        (SIZE % (40_000, 1, 2.0), "", r"t\.yaml:4: setups\[1\]\.warehouses: .*less than or equal to 32767"),
        (SIZE % (1, 512, 2.0), ", protocol: prepared", r"would prepare 21,504 statements, 42 for each set, .*16,382"),
        (SIZE % (1, 4, 2.0), ", protocol: binary", r"t\.yaml:5: workload\.protocol: .*'text' or 'prepared'"),
        (SIZE % (1, 4, 2.0), ", profile: tpcc_c", r"t\.yaml:5: workload\.profile: .*'standard'"),
        (SIZE % (1, 4, 2.0), ", weights: [0, 0, 0, 0, 0]", r"weights are all 0: there would be no transaction"),
        (SIZE % (1, 4, 2.0), ", weights: [1, 1]", r"t\.yaml:5: workload\.weights: .*at least 5 items"),
        (SIZE % (1, 4, 2.0), ", foreign_keys: checked, indexes: needed", r"indexes: needed cannot be combined with"),
        (
            SIZE % (1, 4, 2.0),
            ", engine: rocksdb, foreign_keys: checked",
            r"foreign_keys: checked needs engine innodb: MyR",
        ),
        (
            SIZE % (1, 4, 2.0),
            ", engine: rocksdb, isolation: serializable",
            r"isolation: serializable needs engine inno",
        ),
        (
            SIZE % (1, 4, 2.0),
            ", rate: 5, think_time: 1",
            r"rate cannot be combined with think_time: terminals that think set",
        ),
        (SIZE % (1, 4, 2.0), ", think_time: 0", r"t\.yaml:5: workload\.think_time: .*greater than 0"),
        (SIZE % (1, 4, 36_000.0), "", r"setup one: about 7\.8 million payments to each warehouse, at 500 .*overflow"),
        (SIZE % (1, 4, 8_000.0), "", r"about 1\.7 million new orders of each warehouse, at 500 .* counts s_order_cnt"),
        (SIZE % (1, 4, 1_000.0), ", rate: 20000", r"about 8\.7 million payments to each warehouse, at 20,000 .*w_ytd"),
    ],
)
def test_a_mistake_is_one_clear_line(tmp_path: Path, setup: str, more: str, words: str) -> None:
    with pytest.raises(ExperimentError, match=words) as caught:
        load(tmp_path, setup, more)
    assert "\n" not in caught.value.what


def test_myrocks_reads_what_is_committed_unless_the_file_says_otherwise() -> None:
    assert options(engine="rocksdb").isolation == "read_committed"
    assert options(engine="rocksdb", isolation="repeatable_read").isolation == "repeatable_read"
    assert options().isolation == "repeatable_read"


def test_a_key_that_was_added_later_is_no_part_of_identity_at_its_default() -> None:
    assert not {"protocol", "think_time"} & options().model_dump().keys()
    assert options(think_time=0.5).model_dump()["think_time"] == 0.5
    assert options(protocol="text").model_dump()["protocol"] == "text"


@pytest.mark.parametrize(
    "name", ["tpcc_small", "tpcc_waves", "tpcc_10x100", "tpcc_fast_storage", "tpcc_fast_storage_small"]
)
def test_experiments_of_the_repository(name: str) -> None:
    """Each cell has steps and, on each build that the experiment names, a configuration."""
    experiment = load_experiment(ROOT / "experiments" / f"{name}.yaml")
    releases = {"mysql-5.6.24": ("mysql", (5, 6, 24)), "mysql-9.7": ("mysql", (9, 7, 4))}
    releases |= {"mariadb-10.1.23": ("mariadb", (10, 1, 23)), "system": ("mariadb", (10, 11, 19))}
    for cell in experiment.cells():
        flavour, release = releases[cell.build]
        assert len(experiment.steps(cell)) == 4
        config = experiment.server_config(cell, find(flavour).rules(release))
        assert config.options
        if name.endswith("_small"):
            assert find(flavour).log_bytes(config, release) < 2 << 30, "a small machine has the room"
