"""Published figures stand in the lake as they were printed, are called published everywhere; nothing is made up."""

from __future__ import annotations

import csv
import errno
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import ibench_lib as ib
from ibench_lib.ask.selection import choose
from ibench_lib.errors import LakeError, UsageError
from ibench_lib.importers.intake import import_file
from ibench_lib.paths import Workspace
from ibench_lib.schema import TABLES
from ibench_lib.show.kit.display import say
from ibench_lib.store import reader, sealing
from ibench_lib.store.verify import verify
from tests.command import ibench, refused
from tests.places import GOLDEN
from tests.show.parsed import Parsed, golden
from tests.show.test_sections import markup_of
from tests.synthetic import Run, answer, three_configurations, write_runs

pytestmark = pytest.mark.lake

GET_MIN = GOLDEN / "published_get_min_seconds.csv"
NAME = "report-2023"


def bring(workspace: Workspace, text: str, experiment: str = NAME) -> list[str]:
    workspace.root.mkdir(parents=True, exist_ok=True)
    path = workspace.root / "published.csv"
    path.write_text(text)
    return import_file(path, experiment, "a report", workspace, importer="published").run_ids


@pytest.fixture(scope="module", name="report")
def _report(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """The get_min values of the August 2023 report."""
    workspace = Workspace(tmp_path_factory.mktemp("report"))
    taken = import_file(GET_MIN, NAME, "report of August 2023", workspace, title="InnoDB")
    assert (taken.importer, len(taken.run_ids), taken.warnings) == ("published", 30, [])
    return workspace


def test_every_published_value_is_in_the_lake_and_in_its_table(report: Workspace) -> None:
    frame = answer(reader.lake(report), "get_min", NAME)
    published = {(row["setup"], row["dbms"], row["step"]): row["get_min_s"] for row in golden(GET_MIN.name)}
    got = {
        (row["setup"], row["dbms"].removesuffix(" (published)"), row["step"]): row["get_min_s"]
        for row in frame.to_dicts()
    }
    assert got == {key: float(value) for key, value in published.items()}
    assert len(got) == 120
    for setup in ("cached", "io_bound"):
        table = Parsed(ib.get_min_table(frame.filter(pl.col("setup") == setup)))
        steps = table.of("dbms")
        assert steps == ["l.i1", "q100", "q500", "q1000"]
        for dbms in {dbms for of, dbms, _ in published if of == setup}:
            cells = [cell.removesuffix(" slow") for cell in table.of(f"{dbms} (published)")]
            assert cells == [f"{float(published[setup, dbms, step]):.3f}" for step in steps]


@pytest.mark.slow
def test_nothing_is_made_up_for_them(report: Workspace) -> None:
    lake = reader.lake(report)
    counts = {name: reader.sql(lake, f"SELECT count(*) AS n FROM {name}")["n"][0] for name in TABLES}
    assert {name for name, n in counts.items() if n} == {"published"}
    run = reader.sql(lake, "SELECT * FROM runs").row(0, named=True)
    assert run["source"] == "report of August 2023"
    assert (run["server_version"], run["clients"], run["host"], run["my_cnf"]) == (None, None, "{}", "")
    assert all(verify(path) == [] for path in report.runs.iterdir())
    for name in ("one_second", "rate_stability", "response_time_histogram", "config_diff", "hosts", "workload", "gaps"):
        frame = choose(lake, NAME).ask(name)
        figures = [c for c in frame.columns if c in ("seconds_at_work", "rate_p50", "rate_p99", "stalled_seconds")]
        assert frame.is_empty() or frame.select(figures).null_count().row(0) == (len(frame),) * len(figures)


def test_they_are_called_published_wherever_runs_are_named(report: Workspace) -> None:
    post = choose(reader.lake(report), NAME)
    assert all(name.endswith(" (published)") for name in post.runs["dbms"])
    drawn = Parsed(ib.runs_table(post.runs))
    assert sum("published, not measured here" in row for row in map(str, drawn.rows)) == 30
    head = say(post, ib.run_statements).markup
    assert '<li class="loud">Attention: 30 of 30 runs (report-2023: 15 results, 2 setups) are published, not' in head
    assert "report of August 2023" in head and "Begun from" not in head
    named = {trace.name for trace in ib.get_min_chart(post.ask("get_min").filter(pl.col("setup") == "cached")).data}
    assert "my8033_rel_lto.cy10a_gcp_c2s30 (published)" in named
    evidence = ib.evidence(post).html.markup
    assert f"{NAME}, published figures (report of August 2023), as it was in 30 runs" in evidence
    assert evidence.count("published, not measured here: report of August 2023") == 30
    assert f"{NAME}.yaml" not in evidence


def test_they_stand_beside_what_is_measured_and_are_told_apart(workspace: Workspace) -> None:
    write_runs(workspace, Run())
    bring(
        workspace,
        "setup,dbms,step,ips,qps,get_min_s\ncached,system.cy10a,l.i1,10000,,0.001\ncached,system.cy10a,qr100,200,250,\n",
    )
    both = choose(reader.lake(workspace), "*")
    names = ["system.cy10a (demo)", "system.cy10a (report-2023) (published)"]
    assert sorted(both.runs["dbms"]) == names
    table = Parsed(ib.throughput_table(both.ask("step_throughput"), names[0]))
    assert table.of(names[1])[2:] == ["10,000 top\n2.00x above", "250 bottom\n0.25x below"]
    rates = both.ask("step_throughput").filter(pl.col("dbms") == names[1])
    assert rates.select("step", "step_status", "throughput", "ips", "duration_s", "maxop_s").rows() == [
        ("l.i1", "complete", 10000.0, 10000.0, None, None),
        ("qr100", "complete", 250.0, 200.0, None, None),
    ]
    assert "Attention: 1 of 2 runs" in say(both, ib.run_statements).markup
    sentence = "Published figures have no seconds, so none can be missing."
    for post, is_said in ((both, False), (choose(reader.lake(workspace), "report-2023"), True)):
        shown = markup_of(ib.made_from(post))
        assert (sentence in shown) is is_said and ("no missing second" in shown) is not is_said


def test_what_was_not_published_is_a_word(workspace: Workspace) -> None:
    bring(workspace, "setup,dbms,step,get_min_s\nc,a.x,l.i1,1\nc,a.x,q1,2\nc,b.x,q1,3\n")
    table = Parsed(ib.get_min_table(answer(reader.lake(workspace), "get_min", NAME)))
    assert table.of("a.x (published)") == ["1.000", "2.000"]
    assert table.of("b.x (published)") == ["not published", "3.000"]


def test_published_fairness_prints_as_published(workspace: Workspace) -> None:
    rows = golden("published_fairness.csv")
    lines = [f"{row['setup']},{row['dbms']},l.i1,{row['diff_s']},{row['pct']}" for row in rows]
    bring(workspace, "\n".join(["setup,dbms,step,fairness_diff_s,fairness_pct", *lines]))
    frame = answer(reader.lake(workspace), "fairness", NAME)
    for setup in ("cached", "io_bound"):
        table = Parsed(ib.fairness_table(frame.filter(pl.col("setup") == setup)))
        for row in (row for row in rows if row["setup"] == setup):
            assert table.of(f"{row['dbms']} (published)") == ["-", "-", row["diff_s"], row["pct"]]


def test_a_name_that_has_runs_is_refused(workspace: Workspace) -> None:
    write_runs(workspace, *three_configurations())
    with pytest.raises(LakeError, match="experiment demo already has runs"):
        bring(workspace, "setup,dbms,step,ips\nc,a.x,l.i1,1\n", experiment="demo")
    assert len(list(workspace.runs.iterdir())) == 3


def test_all_of_a_file_comes_in_or_none_of_it(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    write, written = sealing.write_whole, []

    def on_a_full_disk(run_dir: Path, *rest: Any) -> Any:
        written.append(run_dir)
        if len(written) == 2:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(run_dir, *rest)

    monkeypatch.setattr(sealing, "write_whole", on_a_full_disk)
    with pytest.raises(LakeError, match="the disk is full"):
        bring(workspace, "setup,dbms,step,ips\nc,a.x,l.i1,1\nc,b.x,l.i1,1\nc,c.x,l.i1,1\n")
    assert len(written) == 2
    assert list(workspace.runs.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", ":1: no column 'setup'"),
        ("setup,dbms,ips\n", ":1: no column 'step'"),
        ("setup,dbms,step\nc,a.x,l.i1\n", ":1: no column of a metric"),
        ("setup,dbms,step,get_min\n", ":1: unknown column 'get_min'; did you mean 'get_min_s'?"),
        ("setup,dbms,step,ips,ips\n", ":1: column 'ips' occurs twice"),
        ("setup,dbms,step,ips\n", "has no figures"),
        ("setup,dbms,step,ips\nc,a.x,l.i1,\n", "has no figures"),
        ("setup,dbms,step,ips\nc,a.x,l.i1,1\nc,a.x,l.i1,2\n", ":3: c, a.x, l.i1 occurs twice"),
        ("setup,dbms,step,ips\nc,a.x,l.i1,many\n", ":2: ips is 'many', not a number of at least 0"),
        ("setup,dbms,step,ips\nc,a.x,l.i1,nan\n", ":2: ips is 'nan'"),
        ("setup,dbms,step,ips\nc,a.x,l.i1,-1\n", ":2: ips is '-1'"),
        ("setup,dbms,step,ips\nc,a.x,l.i1,1_000\n", ":2: ips is '1_000'"),
        ("setup,dbms,step,get_min_s\nc,a.x,l.i1,1e308\n", ":2: get_min_s is '1e308'"),
        ("setup,dbms,step,ips\nc,ab,l.i1,1\n", ":2: dbms 'ab' is not <build>.<config>"),
        ("setup,dbms,step,ips\nc,a.x,l.i1,1\nc,a.x,qfoo,1\n", ":3: unknown step 'qfoo'"),
        ("setup,dbms,step,ips\nc,a.x,loading,1\n", ":2: unknown step 'loading'"),
        ("setup,dbms,step,ips\n../c,a.x,l.i1,1\n", ":2: setup '../c' is not a usable name"),
        ("setup,dbms,step,ips\nc,a.x,l.i1\n", ":2: 3 columns, but the header has 4"),
        ('setup,dbms,step,ips\nc,a.x,l.i1,"1\n', "unexpected end of data"),
    ],
)
def test_a_file_that_cannot_be_used_says_where(workspace: Workspace, text: str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        bring(workspace, text)
    assert said in caught.value.what
    assert not workspace.runs.exists()


def test_the_command(workspace: Workspace, tmp_path: Path) -> None:
    path = tmp_path / "report.csv"
    with open(path, "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([["setup", "dbms", "step", "hll"], ["cached", "a.x", "l.i1", "30000"]])
    arguments = ("runs", "import", str(path), "--experiment", NAME, "--source", "a report")
    assert "1 published run of report-2023" in ibench(workspace, *arguments).stdout
    assert "published, not measured here: a report" in ibench(workspace, "runs").stdout
    refused(ibench(workspace, *arguments[:-1], " ", "--experiment", "other"), "need a source")
    lag = answer(reader.lake(workspace), "purge_lag_at_step_end", NAME)
    assert lag["history_list_length"].to_list() == [30000]
