"""`ibench summary` and `ibench compare`."""

from __future__ import annotations

import csv
import io
import json
import re

import pytest

from ibench_lib.paths import Workspace
from tests.command import ibench, refused
from tests.synthetic import Run, write_runs

pytestmark = [pytest.mark.lake, pytest.mark.slow]


@pytest.fixture
def measured(workspace: Workspace) -> Workspace:
    runs = [
        Run(config, repeat=n, minute=10 * place + n, queries=queries + 100 * n)
        for place, (config, queries) in enumerate([("cy10a", 5000), ("b", 2500), ("c", 5000)])
        for n in (1, 2, 3)
    ]
    write_runs(workspace, *runs)
    return workspace


def test_a_summary_is_a_table_or_a_file_for_other_programs(measured: Workspace) -> None:
    table = ibench(measured, "summary")
    assert table.returncode == 0, table.stderr
    lines = [line.split() for line in table.stdout.splitlines()]
    assert [line[0] for line in lines if line[1:] == ["queries/s"]] == ["qr100,"]
    below = lines[lines.index(["qr100,", "queries/s"]) :][:5]
    (line,) = [line for line in below if line[0] == "b"]
    assert line[1:5] == ["540", "520", "to", "560"] and line[-1] == "slower"
    rows = list(csv.DictReader(io.StringIO(ibench(measured, "summary", "demo", "-f", "csv").stdout)))
    assert len(rows) == 12 and {row["dbms"] for row in rows} == {"system.cy10a", "system.b", "system.c"}
    document = json.loads(ibench(measured, "summary", "demo", "--format", "json").stdout)
    assert [str(row["value"]) for row in document] == [row["value"] for row in rows]
    markdown = ibench(measured, "summary", "-f", "md", "--step", "qr100").stdout.splitlines()
    assert markdown[2] == "| step | dbms | rate | median | lowest to highest | ratio | verdict |" and len(markdown) == 7


def test_what_is_unclear_says_how_many_repeats_would_tell(workspace: Workspace) -> None:
    """And what is clear does not: there is nothing more to find."""
    write_runs(workspace, *(
        Run(config, repeat=n, minute=10 * place + n, queries=5000 + times * (n - 2))
        for place, (config, times) in enumerate([("cy10a", 400), ("b", 600)]) for n in (1, 2, 3)
    ))  # fmt: skip
    (said,) = [line for line in ibench(workspace, "summary").stdout.splitlines() if line.startswith("unclear: repeats")]
    found = re.fullmatch(r"unclear: repeats that would find a change of 10 % \(about 80 % power\): qr100 (\d+)", said)
    rows = {row["step"]: row for row in json.loads(ibench(workspace, "summary", "--json").stdout) if not row["is_base"]}
    assert found and rows["qr100"]["repeats"] == int(found[1]) > 3
    assert rows["l.i1"]["verdict"] == "same" and rows["l.i1"]["repeats"] == 3


def builds(workspace: Workspace, warnings: tuple[str, ...] = ()) -> None:
    """Two builds with two configurations each, in the order in which a file would list them: by configuration."""
    rates = {("base", "old"): 5000, ("base", "new"): 4000, ("neigh", "old"): 5500, ("neigh", "new"): 6000}
    cells = [(config, build, n) for config, build in rates for n in (1, 2, 3)]
    loads = {build: Run("base", build=build, minute=cells.index(("base", build, 1))).run_id for build in ("old", "new")}
    runs = [
        Run(config, build=build, repeat=n, minute=minute, queries=rates[config, build] + 10 * n,
            warnings=warnings if (build, n) == ("new", 2) else (),
            **({} if (config, n) == ("base", 1) else {"steps": ("l.i1", "qr100"), "loaded_from": loads[build]}))
        for minute, (config, build, n) in enumerate(cells)
    ]  # fmt: skip
    write_runs(workspace, *runs)


def test_each_build_has_its_base_marked_and_each_ratio_says_of_what(workspace: Workspace) -> None:
    builds(workspace)
    document = json.loads(ibench(workspace, "summary", "-f", "json", "--step", "qr100").stdout)
    assert [(row["dbms"], row["is_base"], row["base"]) for row in document] == [
        ("old.base", True, ""),
        ("old.neigh", False, "old.base"),
        ("new.base", True, "old.base"),
        ("new.neigh", False, "new.base"),
    ]
    means = {row["dbms"]: row["value"] for row in document}
    for row in document[1:]:
        assert row["ratio"] == pytest.approx(means[row["dbms"]] / means[row["base"]], rel=0.01)
    said = ibench(workspace, "summary", "--step", "qr100").stdout.splitlines()
    table = said[said.index("qr100, queries/s") + 2 :][:4]
    bases = ["", "old.base", "old.base", "new.base"]
    names = ["old.base (base)", "old.neigh", "new.base (base)", "new.neigh"]
    for line, name, base in zip(table, names, bases, strict=True):
        assert line.startswith(f"{name} "), line
        assert not base or line.split("]")[1].split()[0] == base, line
    markdown = ibench(workspace, "summary", "-f", "md", "--step", "qr100").stdout
    assert "| ratio | relative to | verdict |" in markdown
    assert [line.split(" | ")[1] for line in markdown.splitlines()[4:8]] == names


def test_a_summary_says_of_what_runs_it_is_and_what_they_warn_of(workspace: Workspace) -> None:
    builds(workspace, warnings=("process python (7) takes 93 % of a core",))
    where = str(workspace.data)
    said = ibench(workspace, "summary").stdout.splitlines()
    assert said[0] == f"demo: Purge lag (12 runs, lake {where})"
    warning = "process python (7) takes 93 % of a core"
    assert said[1] == f"warning: {warning} (new.base, new.neigh; 2 of 12 runs)"
    markdown = ibench(workspace, "summary", "-f", "md").stdout.splitlines()
    assert markdown[0] == said[0] and markdown[-1] == f"- {said[1]}"
    document = json.loads(ibench(workspace, "summary", "-f", "json").stdout)
    rows = list(csv.DictReader(io.StringIO(ibench(workspace, "summary", "-f", "csv").stdout)))
    assert len(rows) == len(document) > 0
    for row, text in zip(document, rows, strict=True):
        warned = [warning] if row["dbms"].startswith("new.") else []
        assert (row["experiment"], row["title"], row["lake"], row["warnings"]) == ("demo", "Purge lag", where, warned)
        assert (text["lake"], text["warnings"]) == (where, "; ".join(warned))


def test_results_come_before_preparations_and_what_was_not_run_has_no_row(workspace: Workspace) -> None:
    builds(workspace)
    document = json.loads(ibench(workspace, "summary", "-f", "json").stdout)
    assert list(dict.fromkeys(row["step"] for row in document)) == ["l.i1", "qr100", "l.i0", "l.x"]
    assert {row["dbms"] for row in document if row["step"] == "l.i0"} == {"old.base", "new.base"}
    assert "loaded from a snapshot" not in ibench(workspace, "summary").stdout


@pytest.mark.long
def test_a_figure_does_not_depend_on_which_steps_are_shown(measured: Workspace) -> None:
    everything, one = (
        [row for row in json.loads(ibench(measured, "summary", *more, "-f", "json").stdout) if row["step"] == "qr100"]
        for more in ((), ("--step", "qr100"))
    )
    assert everything == one and len(one) == 3


def test_two_results_are_compared_with_the_first_as_base(measured: Workspace) -> None:
    found = json.loads(ibench(measured, "compare", "system.b", "system.c", "-f", "json").stdout)
    (row,) = [row for row in found if (row["step"], row["dbms"], row["rate"]) == ("qr100", "system.c", "queries/s")]
    assert row["base"] == "system.b" and row["verdict"] == "faster" and 1.8 < row["ratio"] < 2.1
    assert {row["dbms"] for row in found} == {"system.b", "system.c"}
    tails = {row["rate"] for row in found if row["rate"].startswith("p99")}
    assert tails == {"p99 of insert (ms)", "p99 of range query (ms)"}
    heading = ibench(measured, "compare", "system.b", "system.c").stdout.splitlines()[0]
    few, many = re.findall(r"(\d+) runs, noise of (\d+), lake ", heading)[0]
    assert 0 < int(few) < int(many), "the noise is that of all results"
    assert "noise of" not in ibench(measured, "summary").stdout


def test_an_excluded_run_is_in_no_figure_and_is_named(measured: Workspace) -> None:
    run_id = Run("b", repeat=3, minute=13).run_id
    assert ibench(measured, "runs", "exclude", run_id, "--why", "a backup ran").returncode == 0
    for command in (("summary", "demo"), ("compare", "system.b", "system.c")):
        result = ibench(measured, *command, "-f", "json")
        of_step = [row for row in json.loads(result.stdout) if row["rate"] == "queries/s"]
        (row,) = [row for row in of_step if row["dbms"] == "system.b"]
        assert (row["runs"], row["highest"]) == (2, 540)
        assert f"left out {run_id}: excluded: a backup ran" in " ".join(result.stderr.split())


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("summary", "dem"), "experiment 'dem' has no run in the lake; did you mean 'demo'?"),
        (("summary", "--step", "l.i9"), "step 'l.i9' is not in any run of demo"),
        (("summary", "--base", "nobody"), "base 'nobody' is not in any run of demo"),
        (("compare", "system.b", "system.b"), "system.b cannot be compared with itself"),
        (("compare", "system.b", "system.d"), "dbms 'system.d' is not in any run of demo"),
    ],
)
def test_what_is_not_there_is_one_line(measured: Workspace, arguments: tuple[str, ...], said: str) -> None:
    refused(ibench(measured, *arguments), said)


def test_without_runs_it_says_so(workspace: Workspace) -> None:
    refused(ibench(workspace, "summary"), "there is no run yet")
