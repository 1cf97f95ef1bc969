"""Tables of queries per second become published figures, each under its dbms, test and threads."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ibench_lib.errors import UsageError
from ibench_lib.importers import sysbench_tables
from ibench_lib.importers.importer import ImportRequest
from ibench_lib.importers.intake import find_importer
from ibench_lib.importers.source import Source
from ibench_lib.paths import Workspace
from ibench_lib.store import reader
from tests.importers.published_figures import damage_makes_no_figure, published, take
from tests.importers.rows import rows_of
from tests.importers.sysbench_logs import log

pytestmark = pytest.mark.lake

TABLE = """\
col-1 : x.my5651_rel.z12a_c8r32.pk1
col-2 : x.my9500_rel.z12a_c8r32.pk1

col-1\tcol-2
100\t90\tpoint-query_range=100
20\t30\tread-only_range=10

7\t8\tscan.warm_range=100
"""


def table(folder: Path, text: str = TABLE, name: str = "dop1/qps.abs.all.tsv") -> Path:
    path = folder / "given" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_each_figure_is_published_under_its_dbms_and_test(workspace: Workspace) -> None:
    assert take(table(workspace.root), workspace) == []
    assert published(workspace) == [
        ("my5651_rel.z12a_c8r32", "point-query.t1", "qps", 100),
        ("my5651_rel.z12a_c8r32", "read-only-10.t1", "qps", 20),
        ("my5651_rel.z12a_c8r32", "scan-warm.t1", "qps", 7),
        ("my9500_rel.z12a_c8r32", "point-query.t1", "qps", 90),
        ("my9500_rel.z12a_c8r32", "read-only-10.t1", "qps", 30),
        ("my9500_rel.z12a_c8r32", "scan-warm.t1", "qps", 8),
    ]


def test_a_build_of_myrocks_has_a_name_of_its_own(workspace: Workspace) -> None:
    take(table(workspace.root, TABLE.replace("my5651", "fbmy8032")), workspace)
    builds = reader.sql(reader.lake(workspace), "SELECT build FROM runs ORDER BY 1")["build"].to_list()
    assert builds == ["fbmy8032_rel", "my9500_rel"]


def test_a_test_that_is_not_known_is_a_line_that_was_not_understood(workspace: Workspace) -> None:
    path = table(workspace.root, f"{TABLE}1\t2\tof-nobody_range=100\n")
    assert take(path, workspace) == ["1 line was not understood and left out: qps.abs.all.tsv:9"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f"{TABLE}1\thot-points_range=100\n", ":9: 1 figures, but there are 2 columns"),
        (f"{TABLE}1\t-2\thot-points_range=100\n", ":9: qps is '-2', not a number"),
        (f"{TABLE}1\t2\tpoint-query_range=100\n", ":9: point-query.t1 occurs twice"),
        (TABLE.replace("col-2 :", "col-3 :"), ":2: this is column 3, and there are 1 before it"),
        (TABLE.replace("x.my9500_rel.z12a_c8r32.pk1", "x.db1.example.com"), ":2: 'x.db1.example.com' is no"),
        (TABLE[: TABLE.index("col-1\t")], " has no figures"),
        (TABLE.replace("my9500", "my5651"), "my5651_rel.z12a_c8r32, repeat 1 occurs twice"),
    ],
)
def test_a_table_that_cannot_be_right_is_refused(workspace: Workspace, text: str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        take(table(workspace.root, text), workspace)
    assert said in caught.value.what and "qps.abs.all.tsv" in caught.value.what


def test_what_a_table_does_not_say_is_asked_for(workspace: Workspace) -> None:
    with pytest.raises(UsageError, match="does not say of what setup it is"):
        take(table(workspace.root), workspace, setup=None)
    with pytest.raises(UsageError, match="does not say how many threads") as caught:
        take(table(workspace.root, name="arc/qps.abs.all.tsv"), workspace)
    assert "such as dop1" in str(caught.value.hint)
    for told in (ImportRequest("50m", "my8033.cy10a"), ImportRequest("50m", test="scan")):
        with Source(table(workspace.root)) as source, pytest.raises(UsageError, match="names its dbms and its tests"):
            list(sysbench_tables.IMPORTER.runs(source, told))


def test_next_to_logs_the_logs_are_read(workspace: Workspace) -> None:
    path = table(workspace.root)
    (path.parent / "sb.o.point-query.range100.pk1.dop1").write_text(log((100, 110)))
    with Source(path.parent) as source:
        assert find_importer(source).name == "sysbench"
    with Source(path) as source:
        assert find_importer(source).name == "sysbench-tables"


def figures(path: Path) -> Iterator[tuple[str, str, float]]:
    """Every figure of a table with its test; swapped columns have the same ones."""
    with Source(path) as source:
        for run in sysbench_tables.IMPORTER.runs(source, ImportRequest("50m")):
            yield from ((row["step"], row["metric"], row["value"]) for row in rows_of(run, "published"))


@pytest.mark.slow
def test_no_damage_makes_a_figure(tmp_path: Path) -> None:
    damage_makes_no_figure(table(tmp_path), TABLE, figures)
