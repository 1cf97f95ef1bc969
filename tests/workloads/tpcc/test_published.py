"""Published NOTPM: as they were printed, next to what was measured here, or alone."""

from __future__ import annotations

import csv

import pytest

import ibench_lib as ib
from ibench_lib.ask.selection import choose
from ibench_lib.importers.intake import import_file
from ibench_lib.paths import Workspace
from ibench_lib.show.kit.display import say
from ibench_lib.store import reader
from ibench_lib.workloads.tpcc.workload import WORKLOAD as TPCC
from tests.places import ROOT
from tests.show.parsed import Parsed
from tests.synthetic import Run
from tests.workloads.tpcc.results.runs import write

pytestmark = pytest.mark.lake

FIGURES = ROOT / "data" / "published" / "tpcc_fast_storage.csv"
SOURCE = "InnoDB, InnoDB-plugin vs XtraDB on fast storage, Vadim Tkachenko, April 17, 2014"
XTRADB = "xtradb-1.0.6-9.logs_on_raid10 (published)"


@pytest.fixture(name="imported")
def _imported(workspace: Workspace) -> Workspace:
    workspace.root.mkdir(parents=True, exist_ok=True)
    taken = import_file(FIGURES, "tpcc_fast_storage_published", SOURCE, workspace)
    assert (taken.importer, len(taken.run_ids), taken.warnings) == ("published", 5, [])
    return workspace


def test_published_figures_alone_are_shown_as_published(imported: Workspace) -> None:
    post = choose(reader.lake(imported), "tpcc_fast_storage*", steps=["run"], base=XTRADB)
    frame = post.ask("tpcc_summary")
    with open(FIGURES, encoding="utf-8") as file:
        printed = {f"{row['dbms']} (published)": float(row["notpm"]) for row in csv.DictReader(file)}
    assert dict(frame.select("dbms", "notpm").rows()) == printed and len(printed) == 5
    assert frame.select("tps", "notpm_committed", "repeats_per_1000", "duration_s").null_count().row(0) == (5,) * 4
    table = Parsed(ib.notpm_table(frame, base=XTRADB))
    cells = {row[0]: row[1:] for row in table.rows}
    # "it is only about 12% worse than with logs on separate partition", "about 88% worse than all files on FusionIO"
    assert cells["xtradb-1.0.6-9.all_on_fusionio (published)"][0] == "23,038 top\n0.88x below"
    assert cells["xtradb-1.0.6-9.all_on_raid10 (published)"][0] == "2,874 bottom\n0.11x below"
    assert cells["innodb-5.1.42.logs_on_raid10 (published)"][0].startswith("9,439\n0.")
    head = say(post, ib.run_statements).markup
    assert (
        "Attention: 5 of 5 runs (tpcc_fast_storage_published: 5 results, 1 setup) are published, not measured here"
        in head
    )
    assert SOURCE in head
    said = ib.notpm_statements(frame, XTRADB)
    assert any("ran 26,161 new orders per minute (NOTPM)" in text for text in said)
    assert ib.tpcc_statements(post.ask("tpcc_workload"), post.ask("checks")) == []


def test_they_are_described_as_those_of_tpcc(imported: Workspace) -> None:
    lake = reader.lake(imported)
    runs = reader.sql(lake, "SELECT DISTINCT benchmark, workload->>'$.benchmark' AS workload FROM runs")
    assert runs.rows() == [("tpcc", "tpcc")]
    steps = reader.sql(lake, "SELECT DISTINCT step, kind, main, rate_label, compared FROM run_steps")
    assert steps.rows() == [("run", "run", "transaction", "transactions/s", True)]
    kinds = reader.sql(lake, "SELECT DISTINCT kind FROM kinds ORDER BY kind")["kind"].to_list()
    assert kinds == sorted(kind.name for kind in TPCC.kinds)


def test_published_figures_stand_next_to_measured_ones(imported: Workspace) -> None:
    write(imported, Run("cy10a", setup="tpcc1000", experiment="tpcc_fast_storage"), [500] * 20)
    post = choose(reader.lake(imported), "tpcc_fast_storage*", steps=["run"])
    frame = post.ask("tpcc_summary")
    assert len(frame) == 6 and frame["setup"].unique().to_list() == ["tpcc1000"]
    measured = frame.filter(~frame["dbms"].str.contains("published"))
    assert measured.select("notpm", "tps").rows() == [(30_000.0, 1150.0)]
    assert "Attention: 5 of 6 runs" in say(post, ib.run_statements).markup
    assert "5 of 6" not in " ".join(ib.tpcc_statements(post.ask("tpcc_workload"), post.ask("checks"))), (
        "nothing was checked of the others"
    )
