"""The lake: what loads, what is left out and named, and the questions' answers worked out by hand."""

import csv
import itertools
import math
import shutil
import struct
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ibench_lib.errors import IbenchError, LakeError, QueryError
from ibench_lib.paths import LAKE_VARIABLE, Workspace
from ibench_lib.schema import TABLES
from ibench_lib.store import catalogue, reader
from ibench_lib.store import manifest as manifests
from ibench_lib.store.derive import response_times
from ibench_lib.store.manifest import Manifest
from tests.places import GOLDEN
from tests.shared import asked, lake_of
from tests.store.lakes import ask_everything, rewrite_steps, rows, step_row, vouch
from tests.synthetic import (
    BIN_500_US,
    Run,
    answer,
    begin_run,
    die,
    end_run,
    flushed,
    manifest_of,
    three_configurations,
    write_runs,
)

pytestmark = pytest.mark.lake


@pytest.mark.slow
def test_an_empty_lake_has_every_table_and_answers_every_question(workspace: Workspace) -> None:
    lake = reader.lake(workspace)
    for name, table in TABLES.items():
        frame = reader.sql(lake, f"SELECT * FROM {name}")
        assert frame.columns == [column.name for column in table.columns]
        assert frame.is_empty()
    assert rows(lake, "SELECT * FROM runs") == rows(lake, "SELECT * FROM problems") == []
    answers = ask_everything(lake)
    assert {"step_throughput", "fairness", "get_min", "sla", "one_second", "gaps"} <= answers.keys()
    assert all(answer.is_empty() for answer in answers.values())


def test_a_lake_that_was_opened_ahead_is_handed_out_once(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IBENCH_HOME", str(workspace.root))
    reader.open_ahead()
    first, second = reader.lake(), reader.lake()
    assert first is not second
    assert rows(first, "SELECT count(*) AS n FROM runs") == rows(second, "SELECT count(*) AS n FROM runs")
    write_runs(workspace, Run())
    reader.open_ahead()
    (workspace.root / "elsewhere").mkdir()
    monkeypatch.setenv("IBENCH_HOME", str(workspace.root / "elsewhere"))
    assert rows(reader.lake(), "FROM runs") == []  # who asks for another place does not get this one
    monkeypatch.setenv(LAKE_VARIABLE, "nonsense://nowhere")
    reader.open_ahead()
    with pytest.raises(IbenchError) as ahead:
        reader.lake()
    with pytest.raises(IbenchError) as itself:
        reader.lake()
    assert ahead.value.what == itself.value.what


def test_views_have_the_declared_types_with_and_without_runs(workspace: Workspace) -> None:
    empty, full = reader.lake(workspace), lake_of(Run())
    filled = set()
    for name in TABLES:
        assert rows(empty, f"DESCRIBE {name}") == rows(full, f"DESCRIBE {name}")
        if reader.sql(full, f"SELECT count(*) AS n FROM {name}")["n"][0]:
            filled.add(name)
    assert filled >= {"steps", "workers", "ops", "probes", "server_samples"}


def replace_ops(directory: Path, ops: pa.Table) -> None:
    """Let a sealed run have these seconds, and what is derived from them."""
    pq.write_table(ops, directory / "ops.parquet")
    pq.write_table(response_times(ops), directory / "response_times.parquet")
    vouch(directory, "ops")
    vouch(directory, "response_times")


def test_a_live_run_is_read_once_and_marked_running(workspace: Workspace) -> None:
    """Two steps are sealed; of the third, two seconds of two clients are in the journal."""
    run = Run(status="running", steps=("l.i0", "l.x", "l.i1"), l_i1_s=2)
    writer = begin_run(workspace, run, sealed=("l.i0", "l.x"))
    lake = reader.lake(workspace)
    writer.append("probes", step_id=3, step="qr100", client=1, probe="get_min", start_s=1.0, seconds=1.0, result=1)
    end_run(writer, run)  # this lake must not change or break
    frame = answer(lake, "step_throughput")
    assert frame.select("step", "step_status").rows() == [
        ("l.i0", "complete"),
        ("l.x", "complete"),
        ("l.i1", "running"),
        ("qr100", "not begun"),
    ]
    assert set(frame["run_status"]) == {"running"}
    assert frame["throughput"].to_list() == [2000.0, 10000.0, 25_000.0, None]
    assert frame["duration_s"].to_list() == [10.0, 2.0, 2.0, None]
    assert rows(lake, "SELECT count(*) AS n FROM probes") == [{"n": 6}]
    assert rows(lake, "SELECT DISTINCT status FROM workers WHERE step = 'l.i1'") == [{"status": "running"}]


@pytest.mark.slow
def test_a_live_run_is_read_whole_however_often_it_is_sealed_meanwhile(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before and after each reading of its manifest, one more second is sealed and another one comes in."""
    run = Run(status="running", steps=("l.i0", "l.x", "l.i1"), l_i1_s=2)
    writer = begin_run(workspace, run, sealed=("l.i0", "l.x"))
    seconds = itertools.count(100)

    def one_more() -> None:
        writer.append("server_samples", t_s=float(next(seconds)))
        writer.seal_step(manifest_of(run))
        writer.append("server_samples", t_s=float(next(seconds)))
        flushed(writer)

    def read_manifest(run_dir: Path) -> Manifest:
        one_more()
        manifest = read_now(run_dir)
        one_more()
        return manifest

    read_now = manifests.read_manifest
    with monkeypatch.context() as patch:
        patch.setattr(manifests, "read_manifest", read_manifest)
        lake = reader.lake(workspace)
    (found,) = rows(lake, "SELECT count(*) AS n, max(t_s) AS last FROM server_samples WHERE t_s >= 100")
    assert found["n"] == found["last"] - 99 > 0, "the seconds up to a moment, without a hole"
    assert rows(lake, "FROM problems") == []
    end_run(writer, run)


@pytest.mark.slow
def test_a_flush_that_a_dead_run_has_lost_is_named(workspace: Workspace) -> None:
    run = Run(status="running", steps=("l.i0", "l.x", "l.i1"), l_i1_s=2)
    writer = begin_run(workspace, run, sealed=("l.i0", "l.x"))
    for second in (100.0, 101.0, 102.0):
        writer.append("server_samples", t_s=second)
        flushed(writer)
    assert rows(reader.lake(workspace), "FROM problems") == []
    die(writer)
    (stream,) = workspace.run_dir(run.run_id).glob("journal/server_samples.*.arrows")
    content = stream.read_bytes()
    at = content.index(struct.pack("<d", 101.0))
    stream.write_bytes(content[:at] + struct.pack("<d", 555.0) + content[at + 8 :])
    left_out = rows(reader.lake(workspace), "FROM problems")
    assert any("damaged: its 1 rows are left out" in row["problem"] for row in left_out), left_out


@pytest.mark.fault("F24")
def test_names_with_quotes_are_only_data(workspace: Workspace) -> None:
    nasty = "x'; DROP TABLE runs; --"
    write_runs(workspace, Run(experiment=nasty, dbms=nasty, setup="cached"))
    lake = reader.lake(workspace)
    run_id = Run().run_id
    assert reader.question(lake, "step_throughput", runs=[run_id], steps=[nasty]).is_empty()
    frame = reader.question(lake, "step_throughput", runs=[run_id, nasty], steps=[])
    assert set(frame["dbms"]) == {nasty}
    assert len(rows(lake, "SELECT * FROM runs")) == 1


def test_a_question_takes_exactly_its_parameters() -> None:
    with pytest.raises(
        QueryError, match=r"question sla: unknown parameter 'step', missing parameter 'steps'"
    ) as caught:
        reader.question(lake_of(Run()), "sla", runs=[], step=[])
    assert caught.value.hint == "it takes: runs, steps"
    with pytest.raises(QueryError, match=r"no question '\.\./views/run_steps'"):
        reader.question(lake_of(Run()), "../views/run_steps")


def test_bad_sql_is_one_line() -> None:
    with pytest.raises(QueryError) as caught:
        reader.sql(lake_of(Run()), "SELECT stepp FROM steps")
    assert "\n" not in caught.value.what
    assert "stepp" in caught.value.what


def test_the_latest_run_of_a_cell_counts_however_it_ended(workspace: Workspace) -> None:
    write_runs(
        workspace,
        Run(),
        Run(minute=5, status="failed", failed_step="l.i1", error="server lost", steps=("l.i0", "l.x", "l.i1")),
    )
    frame = answer(reader.lake(workspace), "step_throughput")
    assert frame.select("step", "step_status", "run_status").rows() == [
        ("l.i0", "complete", "failed"),
        ("l.x", "complete", "failed"),
        ("l.i1", "failed", "failed"),
        ("qr100", "not run", "failed"),
    ]
    assert frame["throughput"].to_list()[3] is None


def test_steps_whose_table_is_damaged_are_not_said_to_be_not_run(workspace: Workspace) -> None:
    run = Run()
    write_runs(workspace, run, Run("b", minute=1))
    (workspace.run_dir(run.run_id) / "steps.parquet").write_bytes(b"PAR1")
    frame = answer(reader.lake(workspace), "step_throughput")
    by_dbms = {name: set(rows["step_status"]) for (name,), rows in frame.group_by("dbms")}
    assert by_dbms == {"system.cy10a": {"not readable"}, "system.b": {"complete"}}


def test_steps_of_a_run_that_began_with_a_snapshot_are_neither_missing_nor_failed(workspace: Workspace) -> None:
    first = Run()
    run = Run("other", minute=1, steps=("l.i1", "qr100"), loaded_from=first.run_id)
    write_runs(workspace, first, run)
    lake = reader.lake(workspace)
    query = f"SELECT step, step_status, loaded_from FROM run_steps WHERE run_id = '{run.run_id}' ORDER BY step_id"
    assert reader.sql(lake, query).rows() == [
        ("l.i0", "loaded from a snapshot", first.run_id),
        ("l.x", "loaded from a snapshot", first.run_id),
        ("l.i1", "complete", None),
        ("qr100", "complete", None),
    ]
    both = [first.run_id, run.run_id]
    assert reader.question(lake, "gaps", runs=both, steps=[]).is_empty()
    ((after, loaded_from),) = reader.sql(lake, "SELECT snapshot_after, loaded_from FROM runs ORDER BY run_id").rows()[
        1:
    ]
    assert (after, loaded_from) == ("l.x", first.run_id)


def test_throughput_divides_by_the_time_to_the_last_clients_end() -> None:
    frame = asked("step_throughput", *three_configurations())
    columns = ("duration_s", "ips", "dps", "qps", "throughput", "maxop_s", "history_list_length", "sla_failed")
    expected = {
        # client 2 is done after 8 s; both clients' 20,000 rows take until second 10
        ("system.cy10a", "l.i0"): (10.0, 2000.0, None, None, 2000.0, 0.002, 10, None),
        ("system.cy10a", "l.x"): (2.0, 10000.0, None, None, 10000.0, 0.002, 20, None),
        ("system.cy10a", "l.i1"): (10.0, 5000.0, 5000.0, None, 5000.0, 0.002, 300, None),
        ("system.cy10a", "qr100"): (5.0, 200.0, 200.0, 1000.0, 1000.0, 0.002, 5, False),
        ("system.cy10ap1", "qr100"): (5.0, 200.0, 200.0, 500.0, 500.0, 0.002, 5, False),
        ("system.cy10ap1lag", "l.i1"): (20.0, 2500.0, 2500.0, None, 2500.0, 0.002, 300, None),
    }
    for (dbms, step), figures in expected.items():
        row = step_row(frame, dbms, step)
        assert tuple(row[column] for column in columns) == figures, (dbms, step)
    # 0.5 s of CPU in each of four workers over 50,000 inserted rows; six workers over 5,000 queries
    assert step_row(frame, "system.cy10a", "l.i1")["ccpupq_us"] == pytest.approx(40.0)
    assert step_row(frame, "system.cy10a", "qr100")["ccpupq_us"] == pytest.approx(600.0)


def test_an_sla_fails_under_95_per_cent_of_the_target(workspace: Workspace) -> None:
    written = {"whole": 1000, "enough": 950, "under": 948, "none": 0}
    runs = [Run(config, minute=minute, background_rows=rows) for minute, (config, rows) in enumerate(written.items())]
    write_runs(workspace, *runs)
    lake = reader.lake(workspace)
    found, throughput = answer(lake, "sla"), answer(lake, "step_throughput")
    assert set(found["target_per_s"]) == {200.0} and set(found["background"]) == {True}
    for run in runs:
        row, failed = step_row(found, run.name, "qr100"), run.background_rows < 950
        assert row["labels"] == ["inserts/s", "deletes/s"]
        assert (row["rates"], row["missed"]) == ([run.background_rows / 5] * 2, [failed] * 2)
        assert row["sla_failed"] is failed
        assert step_row(throughput, run.name, "qr100")["sla_failed"] is failed


@pytest.mark.slow
def test_the_sla_rule_gives_the_published_failures(workspace: Workspace) -> None:
    """Published: background insert rates of two configurations, and which of them missed their target."""
    with open(GOLDEN / "published_20m_inserts.csv", encoding="utf-8") as file:
        published = list(csv.DictReader(file))
    assert len(published) == 12
    for number, row in enumerate(published):
        run = Run(f"c{number}", minute=number, background_rows=int(row["value"]) * 5)
        write_runs(workspace, run)
        target = float(row["target"]) / 2

        def with_target(table: pa.Table, target: float = target) -> pa.Table:
            at = table.schema.get_field_index("target_rows_per_s")
            values = [None if value is None else target for value in table.column(at).to_pylist()]
            return table.set_column(at, table.schema.field(at), pa.array(values, pa.float64()))

        rewrite_steps(workspace, run, with_target)
    found = answer(reader.lake(workspace), "sla")
    verdicts = {row["dbms"]: row["sla_failed"] for row in found.to_dicts()}
    assert verdicts == {f"system.c{n}": row["failed"] == "yes" for n, row in enumerate(published)}


def test_fairness_compares_the_clients_of_write_steps() -> None:
    frame = asked("fairness", Run())
    assert frame["step"].to_list() == ["l.i0", "l.i1"]
    row = step_row(frame, "system.cy10a", "l.i0")
    assert (row["min_duration_s"], row["max_duration_s"], row["diff_s"], row["pct"]) == (8.0, 10.0, 2.0, 25.0)
    assert step_row(frame, "system.cy10a", "l.i1")["diff_s"] == 0


def test_get_min_is_the_worst_client() -> None:
    row = step_row(asked("get_min", Run()), "system.cy10a", "qr100")
    assert (row["get_min_s"], row["client_seconds"]) == (0.5, [0.5, 0.25])


def test_histogram_shares_are_disjoint_and_sum_to_100() -> None:
    frame = asked("response_time_histogram", Run())
    row = step_row(frame, "system.cy10a", "qr100", operation="range_query")
    assert (row["responses"], row["le_1ms"], row["max_s"]) == (5000, 100.0, 0.002)
    assert row["p50_s"] == row["p999_s"] == pytest.approx(502e-6)
    shares = [name for name in frame.columns if name.startswith(("le_", "gt_"))]
    assert len(shares) == 10
    assert all(math.isclose(sum(found), 100) for found in frame.select(shares).rows())


def test_histogram_edges_and_percentiles(workspace: Workspace) -> None:
    """990 answers at 255 us, nine at 260 us, one at 20 s: each side of the first edge, and past the last."""
    run = Run()
    write_runs(workspace, run)
    directory = workspace.run_dir(run.run_id)
    table = pq.read_table(directory / "ops.parquet")
    below, above, stall = 7 * 64 + 63, 8 * 64 + 1, 24 * 64 + 12
    kept = table.filter(pa.compute.equal(table["operation"], "create_index")).slice(0, 1).to_pylist()[0]
    kept |= {"service_bins": [below, above, stall], "service_counts": [990, 9, 1], "service_max_us": 20e6}
    replace_ops(directory, pa.Table.from_pylist([kept], schema=table.schema))
    (row,) = answer(reader.lake(workspace), "response_time_histogram").to_dicts()
    assert (row["le_256us"], row["le_1ms"], row["le_4ms"], row["gt_16s"]) == (99.0, 0.9, 0.0, 0.1)
    assert row["p99_s"] == pytest.approx(255e-6)
    assert row["p999_s"] == pytest.approx(262e-6)
    assert row["max_s"] == 20.0


def test_one_second_rates_add_up_and_name_their_clients() -> None:
    frame = asked("one_second", Run(), points=2000)
    inserts = frame.filter(pl.col("step") == "l.i0")
    together = inserts.filter(pl.col("client").is_null())
    # 1,000/s and 1,250/s for 8 s, then client 1 alone
    assert together["rate_mean"].to_list() == [2250.0] * 8 + [1000.0] * 2
    assert inserts.filter(pl.col("client") == 2)["rate_mean"].to_list() == [1250.0] * 8
    assert set(frame["operation"]) == {"insert", "delete", "query"}


def test_down_sampling_keeps_every_stall(workspace: Workspace) -> None:
    run = replace(Run(), l_i1_s=50)
    write_runs(workspace, run)
    directory = workspace.run_dir(run.run_id)
    table = pq.read_table(directory / "ops.parquet")
    changed = table.to_pylist()
    for row in changed:
        if (row["step"], row["second"], row["operation"]) == ("l.i1", 33, "insert"):
            row |= {"ops": 0, "rows": 0, "service_max_us": 7e6, "service_bins": [BIN_500_US], "service_counts": [1]}
    replace_ops(directory, pa.Table.from_pylist(changed, schema=table.schema))
    frame = answer(reader.lake(workspace), "one_second", points=10)
    series = frame.filter(pl.col("step") == "l.i1", pl.col("operation") == "insert", pl.col("client").is_null())
    assert len(series) == 10
    assert series["t_s"].to_list() == list(range(0, 50, 5))
    stalled = series.row(6, named=True)
    assert (stalled["rate_min"], stalled["rate_mean"], stalled["rate_max"]) == (0.0, 800.0, 1000.0)
    assert stalled["max_response_s"] == 7.0
    single = frame.filter(pl.col("step") == "l.i1", pl.col("operation") == "insert", pl.col("client").is_not_null())
    assert single["client"].n_unique() == 2
    assert single["bucket_s"].unique().to_list() == [10], "the clients share the points"
    assert single["max_response_s"].max() == 7.0
    lag = answer(reader.lake(workspace), "purge_lag_series", points=10)
    assert lag.group_by("step").len()["len"].max() == 10


def test_a_partial_second_has_no_rate(workspace: Workspace) -> None:
    run = Run()
    write_runs(workspace, run)

    def shorter(table: pa.Table) -> pa.Table:
        at = table.schema.get_field_index("duration_s")
        values = [value - 0.5 for value in table.column(at).to_pylist()]
        return table.set_column(at, table.schema.field(at), pa.array(values, pa.float64()))

    rewrite_steps(workspace, run, shorter)
    frame = answer(reader.lake(workspace), "one_second", points=2000)
    together = frame.filter(pl.col("step") == "l.i0", pl.col("client").is_null())
    assert together["rate_mean"].to_list()[-2:] == [1000.0, None]
    assert together["max_response_s"].to_list()[-1] == 0.002


def test_gaps_are_named_and_a_whole_run_has_none(workspace: Workspace) -> None:
    assert asked("gaps", Run()).is_empty()
    failed = Run("cy10ap1", minute=1, status="failed", failed_step="l.i1", steps=("l.i0", "l.x", "l.i1"))
    write_runs(workspace, failed)
    directory = workspace.run_dir(failed.run_id)
    for name in ("ops", "server_samples"):
        table = pq.read_table(directory / f"{name}.parquet")
        if name == "ops":
            lost = pa.compute.and_(pa.compute.equal(table["step"], "l.i0"), pa.compute.equal(table["second"], 3))
        else:
            lost = pa.compute.and_(pa.compute.greater(table["t_s"], 4.0), pa.compute.less(table["t_s"], 6.0))
        pq.write_table(table.filter(pa.compute.invert(lost)), directory / f"{name}.parquet")
    vouch(directory, "ops")
    vouch(directory, "server_samples")
    found = answer(reader.lake(workspace), "gaps").select("step", "problem", "amount").rows()
    assert set(found) == {
        ("l.i0", "seconds without a row of a worker", 2),
        ("l.i0", "seconds without a history list sample", 2),
        ("l.i0", "operations whose per-second counts and totals differ", 10 + 12),
        ("l.i1", "step failed", None),
        ("qr100", "step not run", None),
    }


@pytest.mark.long
@pytest.mark.slow
def test_a_complete_run_behind_an_unfinished_one_is_named_and_not_shown(workspace: Workspace) -> None:
    first, second = Run(minute=1), Run(minute=2)
    edited = replace(first, minute=3, fingerprint="e" * 64)
    failed = replace(first, minute=4, status="failed", failed_step="l.i1", steps=("l.i0", "l.x"))
    running = replace(first, minute=5, status="running", steps=("l.i0",))

    def older(**chosen: Any) -> list[tuple[str, str | None, str]]:
        found = answer(reader.lake(workspace), "gaps", **chosen)
        named = found.filter(pl.col("problem").str.starts_with("an older run"))
        return named.select("run_id", "step", "problem").rows()

    write_runs(workspace, first, second, edited, failed)
    said = f"an older run of 2026-11-21 10:02 completed (id {second.run_id})"
    assert older() == [(failed.run_id, None, said)], "the latest of those with the same fingerprint"
    assert older(steps=["l.x"]) == [(failed.run_id, None, said)]
    assert older(experiment="", runs=[failed.run_id]) == [(failed.run_id, None, said)]
    frame = answer(reader.lake(workspace), "step_throughput")
    assert set(frame["run_id"]) == {failed.run_id}, "figures are of the latest run alone"
    die(begin_run(workspace, running, sealed=()))
    assert older() == [(running.run_id, None, said)]
    write_runs(workspace, replace(first, minute=6))
    assert older() == []
    write_runs(workspace, replace(failed, minute=7, fingerprint="d" * 64))
    assert older() == [], "what completed was something else"


def test_config_diff_shows_only_what_differs() -> None:
    frame = asked("config_diff", *three_configurations(), base="system.cy10a")
    assert frame.select("dbms", "option", "base_value", "value", "origin").rows() == [
        ("system.cy10ap1lag", "innodb_max_purge_lag", None, "100", "lag.cnf:3"),
        ("system.cy10ap1", "innodb_purge_batch_size", None, "1", "p1.cnf:5"),
    ]


def test_columns_say_what_the_schema_says_of_them(workspace: Workspace) -> None:
    of_table = {row["column"]: row for row in reader.columns("ops").to_dicts()}
    assert list(of_table) == [column.name for column in TABLES["ops"].columns]
    assert of_table["step_id"]["meaning"] == "position of the step in the run, from 0"
    of_question = {row["column"]: row for row in reader.columns("sla").to_dicts()}
    assert of_question["step_id"]["meaning"] == of_table["step_id"]["meaning"]
    assert of_question["counts"] == {"column": "counts", "type": "VARCHAR[]", "unit": "", "meaning": ""}, "no bins"
    with pytest.raises(QueryError, match=r"no question, table or view 'opps'; did you mean 'ops'\?"):
        reader.columns("opps")
    for name in catalogue.questions():
        assert reader.documentation(name).startswith(catalogue.questions()[name])


def test_columns_of_several_names_are_asked_of_one_lake(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[Path] = []
    open_one = reader._with_every_name

    def counted(cache: Path) -> duckdb.DuckDBPyConnection:
        opened.append(cache)
        return open_one(cache)

    monkeypatch.setattr(reader, "_with_every_name", counted)
    reader.described.cache_clear()
    reader._nothing.cache_clear()
    first = [reader.described(name) for name in ("ops", "questions.sla", "rates_of_steps")]
    assert all(first) and len(opened) == 1
    monkeypatch.setattr(catalogue, "statements", lambda: {"one": "CREATE VIEW one AS SELECT 1 AS step_id"})
    reader.described.cache_clear()
    assert [column for column, *_ in reader.described("one")] == ["step_id"] and len(opened) == 2
    reader.described.cache_clear()


def test_a_macro_that_reads_the_table_it_is_given_has_no_columns_of_its_own(workspace: Workspace) -> None:
    assert reader.described("cumulated_bins") == ()
    assert [name for name, *_ in reader.described("rates_of_steps")][:2] == ["run_id", "step_id"]


def test_comments_of_the_lake_are_those_of_the_schema(workspace: Workspace) -> None:
    """With and without rows of a table; DuckDB's own tools show them."""
    write_runs(workspace, Run())
    lake = reader.lake(workspace)
    of_tables = dict(lake.execute("SELECT view_name, comment FROM duckdb_views() WHERE comment IS NOT NULL").fetchall())
    assert of_tables == {name: table.doc for name, table in TABLES.items()}
    said = "SELECT table_name, column_name, comment FROM duckdb_columns() WHERE comment IS NOT NULL"
    assert {(table, column): text.removesuffix(f" ({unit})") for table, column, text in lake.execute(said).fetchall()
            for unit in [catalogue.columns_documented(table)[column][0]]} == {
        (name, column.name): column.doc for name, table in TABLES.items() for column in table.columns
    }  # fmt: skip


@pytest.fixture
def lost_while_opening(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Ids of runs that are removed, one each time that somebody has just found the runs of a lake."""
    found_runs, losing = reader.find, [Run().run_id]
    write_runs(workspace, Run(), Run("other", minute=9))

    def find(place: Any, connection: Any) -> Any:
        found = found_runs(place, connection)
        if losing:
            shutil.rmtree(workspace.run_dir(losing.pop()))
        return found

    monkeypatch.setattr(reader, "find", find)
    return losing


def test_a_run_that_is_removed_while_a_lake_opens_is_no_error(
    workspace: Workspace, lost_while_opening: list[str]
) -> None:
    lake = reader.lake(workspace)
    assert lake.execute("SELECT DISTINCT run_id FROM steps").fetchall() == [(Run("other", minute=9).run_id,)]
    lost_while_opening.append(Run("other", minute=9).run_id)
    assert reader.tables_alone(["runs", "steps"], workspace).execute("FROM runs").fetchall() == []


def test_a_file_that_cannot_be_opened_at_all_is_one_line(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    def fill(connection: Any, _found: Any, _names: Any) -> None:
        connection.execute("FROM read_parquet('/nowhere/x.parquet')")

    monkeypatch.setattr(reader, "_fill", fill)
    with pytest.raises(LakeError, match=r"^a file of the lake cannot be opened: IO Error: No files found"):
        reader.tables_alone(["runs"], workspace)


def test_an_answer_that_spills_to_disk_is_no_failure_and_leaves_nothing(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its folder has a name that nobody can have taken, and is made by DuckDB, which then removes it."""
    monkeypatch.setattr(reader, "MEMORY", "40MB")
    made: set[Path] = set()
    widest = "SELECT count(DISTINCT a) AS n FROM (SELECT random()::VARCHAR || repeat('x', 300) AS a FROM range(300000))"
    lake = reader.lake(workspace)
    lake.execute("SET threads = 1")
    for _ in range(2):
        with reader.rows(lake, widest) as (_, rows):
            assert next(rows)[0] > 290_000
            (folder,) = lake.execute("SELECT current_setting('temp_directory')").fetchone() or ("",)
        made |= {path for path in Path(folder).parent.iterdir() if path.is_dir()}
    assert made == {Path(folder)}
    lake.close()
    assert not Path(folder).exists()
