"""The cells of an experiment and their identity."""

from pathlib import Path

import pytest

from ibench_lib.errors import UsageError
from ibench_lib.experiment.cells import load_experiment
from ibench_lib.servers.flavours.flavour import find
from tests.experiment.two import TEXT, load


def test_cells_are_the_product_with_repeats_spread_over_time(tmp_path: Path) -> None:
    cells = load(tmp_path, TEXT + "order: interleaved\n").cells()
    assert [str(cell) for cell in cells[:5]] == [
        "a.base, cached, repeat 1",
        "a.lag, cached, repeat 1",
        "b.base, cached, repeat 1",
        "b.lag, cached, repeat 1",
        "a.base, mine, repeat 1",
    ]
    assert len(cells) == len({str(cell) for cell in cells}) == 16
    assert [cell.repeat for cell in cells] == [1] * 8 + [2] * 8


def test_by_default_each_repeat_has_an_order_of_its_own_which_stays(tmp_path: Path) -> None:
    cells = load(tmp_path).cells()
    assert [cell.repeat for cell in cells] == [1] * 8 + [2] * 8
    rounds = [[(cell.dbms, cell.setup.name) for cell in cells[start : start + 8]] for start in (0, 8)]
    assert rounds[0] != rounds[1] and sorted(rounds[0]) == sorted(rounds[1])
    assert cells == load(tmp_path).cells()


def test_the_fingerprint_covers_what_decides_a_run_and_nothing_else(tmp_path: Path) -> None:
    def fingerprint(text: str, version: str = "10.11.19") -> str:
        loaded = load(tmp_path, text)
        cell = loaded.cells()[0]
        return loaded.fingerprint(cell, version, loaded.server_config(cell, find("mariadb").rules((10, 11, 19))))

    first = fingerprint(TEXT)
    assert fingerprint("# a comment\n" + TEXT.replace("two by two", "another title")) == first
    assert fingerprint(TEXT.replace("clients: 2", "clients: 3")) != first
    assert fingerprint(TEXT + "scale: 0.5\n") != first
    assert fingerprint(TEXT + "snapshot_after: l.x\n") != first
    assert fingerprint(TEXT + "capture: {waits: true}\n") != first
    assert fingerprint(TEXT.replace("name: base, fragments: [cy10a]", "name: base, fragments: [cy10a, p1]")) != first
    assert fingerprint(TEXT, "10.11.20") != first
    loaded = load(tmp_path)
    by_cell = {
        loaded.fingerprint(cell, "1.0.0", loaded.server_config(cell, find("mariadb").rules((10, 11, 19))))
        for cell in loaded.cells()
    }
    assert len(by_cell) == 16


def test_an_experiment_file_needs_a_usable_name(tmp_path: Path) -> None:
    (tmp_path / "-x.yaml").write_text(TEXT)
    (tmp_path / "x.txt").write_text(TEXT)
    for name in ("-x.yaml", "x.txt"):
        with pytest.raises(UsageError):
            load_experiment(tmp_path / name)


def test_repeats_may_differ_in_the_order_of_steps_but_not_in_what_a_shared_snapshot_contains(tmp_path: Path) -> None:
    text = """\
title: t
builds: [system]
configs: [{name: base, fragments: [cy10a]}]
setups: [tiny]
repeats: 2
workload: {benchmark: linkbench, requesters: [1, 2, 4, 8, 16]}
"""
    (tmp_path / "t.yaml").write_text(text)
    experiment = load_experiment(tmp_path / "t.yaml")
    first, second = experiment.cells()
    planned = [[step.name for step in experiment.steps(cell)] for cell in (first, second)]
    assert planned[0] == experiment.workload.step_names(experiment.spec.workload)
    assert planned[0] != planned[1] and sorted(planned[0]) == sorted(planned[1])
    for after, same in (("load", False), ("warm_up", False), ("t4", True)):
        (tmp_path / "t.yaml").write_text(text + f"snapshot_after: {after}\n")
        experiment = load_experiment(tmp_path / "t.yaml")
        assert (experiment.steps(first) == experiment.steps(second)) is same
