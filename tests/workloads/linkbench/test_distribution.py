"""The original's file of distributions: its points, and the line that says what is wrong with it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ibench_lib.errors import ExperimentError
from ibench_lib.experiment.cells import load_experiment
from ibench_lib.runner.hosts.shipment import pack, unpack
from ibench_lib.servers.flavours.flavour import find
from ibench_lib.workloads.linkbench.degrees import degrees
from ibench_lib.workloads.linkbench.distribution import distribution_of, read_points
from ibench_lib.workloads.linkbench.options import Options
from ibench_lib.workloads.linkbench.population import Graph, graph_of, rows_by_table

FILE = "nlinks\n0 50\n1 75\n2 90\n5 100\nlink_nreads\n0 10\n9 100\n"
TEXT = """\
title: t
builds: [system]
configs: [{name: base, fragments: [cy10a]}]
setups: [{name: one, nodes: 1000, seconds: 1.0, warm_up: 1.0}]
workload: {benchmark: linkbench%s}
"""


def experiment(folder: Path, content: str | None = FILE, more: str = ", distribution: data/points.dat") -> Any:
    if content is not None:
        (folder / "data").mkdir(exist_ok=True)
        (folder / "data" / "points.dat").write_text(content)
    (folder / "t.yaml").write_text(TEXT % more)
    return load_experiment(folder / "t.yaml")


def test_a_node_has_the_smallest_number_of_links_whose_share_reaches_its_rank(tmp_path: Path) -> None:
    (tmp_path / "f").write_text(FILE)
    distribution = distribution_of(read_points(tmp_path / "f"))
    found = degrees(np.arange(20), 20, "original", distribution)
    assert found.tolist() == [5] * 2 + [2] * 3 + [1] * 5 + [0] * 10
    assert degrees(np.arange(2), 2, "scaled", distribution).tolist() == [1, 0]


def test_options_with_a_file_make_the_graph_of_its_points_here_and_in_clients(tmp_path: Path) -> None:
    options: Options = experiment(tmp_path).spec.workload
    graph = options.graph(1000)
    assert isinstance(graph, Graph)
    # 100 nodes of 5 links, 150 of 2, 250 of 1; nodes with 5 and with 2 get one more, by the original's error.
    assert rows_by_table(graph) == {"nodetable": 1000, "linktable": 100 * 6 + 150 * 3 + 250, "counttable": 750}
    plain = {"nodes": 1000, "tail": "original", "points": [list(point) for point in options.points or ()]}
    assert rows_by_table(graph_of(plain)) == rows_by_table(graph)


def test_the_points_belong_to_a_cells_identity_and_their_place_does_not(tmp_path: Path) -> None:
    def fingerprint(folder: str, content: str | None = FILE, more: str = ", distribution: data/points.dat") -> str:
        (tmp_path / folder).mkdir()
        loaded = experiment(tmp_path / folder, content, more)
        cell = loaded.cells()[0]
        return str(loaded.fingerprint(cell, "1", loaded.server_config(cell, find("mariadb").rules((10, 11, 19)))))

    first = fingerprint("a")
    assert fingerprint("b", FILE + "node_nreads\n0 100\n") == first
    assert fingerprint("c", FILE.replace("75", "76")) != first
    assert fingerprint("d", None, "") != first
    dumped = experiment(tmp_path, None, "").spec.workload.model_dump()
    assert "distribution" not in dumped, "cells without such a file keep their identity"


def test_the_file_travels_to_other_hosts(tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir(), there.mkdir()
    sent = experiment(here)
    arrived = unpack(pack(sent), there)
    assert arrived.spec.workload == sent.spec.workload
    assert isinstance(arrived.spec.workload, Options) and arrived.spec.workload.points == sent.spec.workload.points


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("nlinks\n0 50\n1 75\n", r"points\.dat:3: `nlinks` ends at 75 %, not at 100 %: the file is cut"),
        ("nlinks\n0 50\n1", r"points\.dat:3: expected a number of links and a percentage, not '1'"),
        ("nlinks\n", r"points\.dat:1: `nlinks` ends at no point"),
        ("", r"points\.dat:1: no line `nlinks`"),
        ("link_nreads\n0 100\n", r"points\.dat:1: no line `nlinks`"),
        ("nlinks\n0 100\nnlinks\n0 100\n", r"points\.dat:3: `nlinks` begins a second time"),
        ("nlinks\n0 50\nx 75\n2 100\n", r"points\.dat:3: expected a number of links .*'x 75'"),
        ("nlinks\n0 50\n2 75\n1 100\n", r"points\.dat:4: links and percentages must rise"),
        ("nlinks\n0 50\n1 40\n2 100\n", r"points\.dat:3: links and percentages must rise"),
        ("nlinks\n0 50\n1 101\n", r"points\.dat:3: 101 %: expected 0 to 100"),
        ("nlinks\n0 50\n1 nan\n", r"points\.dat:3: nan %: expected 0 to 100"),
        ("nlinks\n-1 50\n1 100\n", r"points\.dat:2: -1 links: expected 0 to"),
        (None, r"workload\.distribution: there is no file .*points\.dat"),
    ],
)
def test_a_file_that_is_cut_or_malformed_is_one_clear_line(tmp_path: Path, content: str | None, words: str) -> None:
    with pytest.raises(ExperimentError, match=words) as caught:
        experiment(tmp_path, content)
    assert "\n" not in caught.value.what and caught.value.hint


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "data" / "points.dat").mkdir(parents=True)
    with pytest.raises(ExperimentError, match=r"points\.dat: not a file, but a folder"):
        experiment(tmp_path, None)
