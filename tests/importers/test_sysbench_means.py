"""Summaries of means of the microbenchmarks become published figures, as the tables of queries per second do."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ibench_lib.errors import UsageError
from ibench_lib.importers import sysbench_means
from ibench_lib.importers.importer import ImportRequest
from ibench_lib.importers.intake import find_importer
from ibench_lib.importers.source import Source
from ibench_lib.paths import Workspace
from tests.importers.published_figures import damage_makes_no_figure, published, take
from tests.importers.rows import rows_of
from tests.importers.sysbench_logs import log

pytestmark = pytest.mark.lake

OLD, NEW = "x.my5651_rel.z12a_c8r32.pk1", "x.my9500_rel.z12a_c8r32.pk1"
COSTS = "costs per operation are left out: in them, repeated headers of vmstat count as samples of zeros"


def block(test: str, old: int, new: int) -> str:
    return (
        f"{test}\n--- absolute\ncpu/o\t\tcs/o\tr/o\trKB/o\twKB/o\to/s\tdbms\n"
        f"0.000115\t2.509\t0\t0\t0.416\t{old}\t{OLD}\n0.000104\t2.557\t0\t0\t0\t{new}\t{NEW}\n"
        f"--- relative to first result\n0.90\t\t1.02\t1\t1\t1\t{new / old:.2f}\t{NEW}\n\n"
    )


MEANS = (
    block("sb.prepare.met.point-query.warm.range100.pk1", 97919, 97560)
    + block("sb.met.point-query.range100.pk1.dop1", 721374, 804883)
    + block("sb.met.read-only.range10.pk1.dop40", 20, 30)
)


def means(folder: Path, text: str = MEANS) -> Path:
    path = folder / "given" / "o.met.all"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_operations_per_second_are_published_and_what_is_left_out_is_said(workspace: Workspace) -> None:
    said = take(means(workspace.root), workspace)
    assert said == [f"o.met.all:1: {COSTS}", "o.met.all:1: the means of loads are left out"]
    assert published(workspace) == [
        ("my5651_rel.z12a_c8r32", "point-query.t1", "qps", 721374),
        ("my5651_rel.z12a_c8r32", "read-only-10.t40", "qps", 20),
        ("my9500_rel.z12a_c8r32", "point-query.t1", "qps", 804883),
        ("my9500_rel.z12a_c8r32", "read-only-10.t40", "qps", 30),
    ]


def test_without_a_load_nothing_is_said_of_one(workspace: Workspace) -> None:
    text = MEANS[MEANS.index("sb.met.") :]
    assert take(means(workspace.root, text), workspace) == [f"o.met.all:1: {COSTS}"]


def test_the_lines_of_a_test_that_is_not_known_are_not_understood(workspace: Workspace) -> None:
    said = take(means(workspace.root, MEANS + block("sb.met.of-nobody.range10.pk1.dop40", 1, 2)), workspace)
    lines = ", ".join(f"o.met.all:{number}" for number in range(25, 30))
    assert said[-1] == f"7 lines were not understood and left out: {lines} ..."


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (MEANS + block("sb.met.point-query.range100.pk1.dop1", 1, 2), ":28: point-query.t1 occurs twice"),
        (MEANS.replace("\t20\t", "\t-20\t"), ":20: qps is '-20', not a number"),
        (MEANS.replace(f"\t20\t{OLD}", "\t20\tma110803_1u"), ":20: 'ma110803_1u' is no"),
        (MEANS[: MEANS.index("sb.met.")], " has no figures"),
        (MEANS.replace("o/s\tdbms", "dbms\to/s"), " has no figures"),
    ],
)
def test_a_file_that_cannot_be_right_is_refused(workspace: Workspace, text: str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        take(means(workspace.root, text), workspace)
    assert said in caught.value.what and "o.met.all" in caught.value.what


def test_next_to_logs_the_logs_are_read(workspace: Workspace) -> None:
    path = means(workspace.root)
    (path.parent / "sb.o.point-query.range100.pk1.dop1").write_text(log((100, 110)))
    with Source(path.parent) as source:
        assert find_importer(source).name == "sysbench"
    with Source(path) as source:
        assert find_importer(source).name == "sysbench-means"
        for told in (ImportRequest("50m", "my8033.cy10a"), ImportRequest("50m", test="scan")):
            with pytest.raises(UsageError, match="names its dbms and its tests"):
                list(sysbench_means.IMPORTER.runs(source, told))


def figures(path: Path) -> Iterator[tuple[str, str, float]]:
    """Every figure with its dbms and test."""
    with Source(path) as source:
        for run in sysbench_means.IMPORTER.runs(source, ImportRequest("50m")):
            yield from ((run.dbms, row["step"], row["value"]) for row in rows_of(run, "published"))


@pytest.mark.slow
def test_no_damage_makes_a_figure(tmp_path: Path) -> None:
    """Of swapped cells a figure may be a cost, which nobody can tell."""
    damage_makes_no_figure(means(tmp_path), MEANS, figures, but="swapped")
