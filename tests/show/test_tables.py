"""Tables: published figures come out as published, failures are never numbers, text is never HTML."""

import csv
import re
from collections import defaultdict
from html.parser import HTMLParser
from typing import Any

import polars as pl
import pytest
from great_tables import GT

import ibench_lib as ib
from ibench_lib.errors import ParameterError
from ibench_lib.lake import reader
from ibench_lib.lake.manifest import Status
from ibench_lib.lake.writer import RunWriter
from ibench_lib.paths import Workspace
from ibench_lib.show import theme
from ibench_lib.show.grid import Cell, Grid
from ibench_lib.show.tables.responses import _BUCKETS, _share
from ibench_lib.show.verdicts import grade_column, ratio
from tests.places import GOLDEN
from tests.synthetic import Run, answer, manifest_of, three_configurations, write_runs

HOSTILE = '<script>alert(1)</script>"><img src=x onerror=alert(1)>{{ 1 }}'


class Parsed(HTMLParser):
    """Rows of a table as lists of cell texts, and every tag that occurs."""

    def __init__(self, table: GT) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.tags: set[str] = set()
        self.scopes: list[str | None] = []
        self._cell = False
        self.feed(re.sub(r"<style>.*?</style>", "", table.as_raw_html(), flags=re.DOTALL))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        if tag == "tr":
            self.rows.append([])
        if tag == "th":
            self.scopes.append(dict(attrs).get("scope"))
        if tag in ("td", "th"):
            self._cell = True
            self.rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        if tag in ("td", "th"):
            self._cell = False

    def handle_data(self, data: str) -> None:
        if self._cell:
            self.rows[-1][-1] += data.strip()

    def of(self, head: str) -> list[str]:
        (row,) = (row for row in self.rows if row and row[0] == head)
        return row[1:]


def golden(name: str) -> list[dict[str, str]]:
    with open(GOLDEN / name, encoding="utf-8") as file:
        return list(csv.DictReader(file))


def ask(workspace: Workspace, name: str, *runs: Run, **more: Any) -> pl.DataFrame:
    write_runs(workspace, *runs)
    return answer(reader.lake(workspace), name, **more)


def test_the_rule_gives_all_published_classes() -> None:
    published = golden("published_20m_absolute.csv")
    columns: dict[str, dict[str, float]] = defaultdict(dict)
    for row in published:
        columns[row["step"]][row["dbms"]] = float(row["value"])
    failures: dict[str, set[str]] = defaultdict(set)
    for row in golden("published_20m_inserts.csv"):
        if row["failed"] == "yes":
            failures[row["step"]].add(row["dbms"])
    grades = {step: grade_column(column, failures[step]) for step, column in columns.items()}
    got = [grades[row["step"]][row["dbms"]] for row in published]
    assert len(got) == 162
    assert got == [row["cell"] for row in published]


def test_the_published_table_is_drawn_with_the_published_classes() -> None:
    """18 configurations in nine steps."""
    failed = {(row["dbms"], row["step"]) for row in golden("published_20m_inserts.csv") if row["failed"] == "yes"}
    published = golden("published_20m_absolute.csv")
    names, steps = (list(dict.fromkeys(row[key] for row in published)) for key in ("dbms", "step"))
    frame = pl.DataFrame(
        [
            {
                "setup": "20m", "dbms": row["dbms"], "dbms_position": names.index(row["dbms"]), "repeat": 1,
                "run_status": "complete", "step_id": steps.index(row["step"]), "step": row["step"],
                "step_status": "complete", "rate_label": "queries/s" if row["step"].startswith("q") else "inserts/s",
                "throughput": float(row["value"]), "sla_failed": (row["dbms"], row["step"]) in failed,
                "duration_s": None,
            }
            for row in published
        ]
    )  # fmt: skip
    table = Parsed(ib.absolute_throughput(frame))
    glyphs = {"top": " ▲", "bottom": " ▼", "middle": ""}  # the published failures are at the bottom, too
    drawn = {(name, step): cell for name in names for step, cell in zip(steps, table.of(name), strict=True)}
    assert len(drawn) == 162
    for row in published:
        expected = format(int(row["value"]), ",") + glyphs[row["cell"]]
        assert drawn[row["dbms"], row["step"]] == expected, row
    assert {row["cell"] for row in published} == set(glyphs)


def test_an_sla_failure_is_neither_top_nor_the_column_s_maximum() -> None:
    assert grade_column({"a": 100, "b": 90, "c": 10, "fast": 500}, {"fast"}) == {
        "a": "top",
        "b": "top",
        "c": "bottom",
        "fast": "sla_failed",
    }
    # The lowest is the bottom, failure or not; an even column has no bottom.
    assert grade_column({"a": 100, "slow": 10}, {"slow"})["slow"] == "bottom"
    assert grade_column({"a": 100, "b": 80}) == {"a": "top", "b": "middle"}
    assert grade_column({}) == {}


def test_absolute_throughput_has_exact_numbers_marks_and_scopes(workspace: Workspace) -> None:
    frame = ask(workspace, "step_throughput", *three_configurations())
    table = Parsed(ib.absolute_throughput(frame))
    assert table.of("system.cy10a") == ["2,000 ▲", "10,000 ▲", "5,000 ▲", "1,000 ▲"]
    assert table.of("system.cy10ap1") == ["2,000 ▲", "10,000 ▲", "5,000 ▲", "500 ▼"]
    assert table.of("system.cy10ap1lag") == ["2,000 ▲", "10,000 ▲", "2,500 ▼", "1,000 ▲"]
    assert set(table.scopes) == {"col", "colgroup", "row"}
    assert any("One run, noise unknown" in row[0] for row in table.rows)


def test_the_palette_decides_the_colours(workspace: Workspace) -> None:
    frame = ask(workspace, "step_throughput", *three_configurations())
    for name in ("default", "classic"):
        good, _ = theme.PALETTES[name].good
        assert good in ib.absolute_throughput(frame, palette=name).as_raw_html()
    with pytest.raises(ParameterError, match="palette 'clasic' does not exist"):
        ib.absolute_throughput(frame, palette="clasic")


def test_relative_throughput_is_marked_outside_five_per_cent(workspace: Workspace) -> None:
    runs = [Run(), *(Run(f"q{q}", minute=m, queries=q) for m, q in enumerate((4748, 4760, 5240, 5260), start=1))]
    frame = ask(workspace, "step_throughput", *runs)
    table = Parsed(ib.relative_throughput(frame, "system.cy10a"))
    assert table.of("system.cy10a (base)") == ["1.00"] * 4
    shown = [table.of(f"system.q{queries}")[3] for queries in (4748, 4760, 5240, 5260)]
    assert shown == ["0.95 ▼", "0.95", "1.05", "1.05 ▲"]


def test_with_repeats_a_cell_is_marked_only_when_its_interval_clears_the_threshold(workspace: Workspace) -> None:
    clear = ratio([200.0, 202.0, 204.0], [100.0, 101.0, 102.0])
    assert clear and clear.low and clear.low > 1.9 and clear.verdict == "better"
    noisy = ratio([60.0, 120.0, 200.0], [100.0, 101.0, 102.0])
    assert noisy and noisy.value > 1.05 and noisy.verdict == "same"
    assert ratio([1.0], [0.0]) is None
    runs = [Run(repeat=n, minute=n, queries=5000 + 10 * n) for n in (1, 2, 3)]
    runs += [Run("b", repeat=n, minute=10 + n, queries=2500 + 10 * n) for n in (1, 2, 3)]
    table = Parsed(ib.relative_throughput(ask(workspace, "step_throughput", *runs), "system.cy10a"))
    assert re.fullmatch(r"0\.50 \[0\.\d\d, 0\.\d\d\] ▼", table.of("system.b")[3])
    assert any("Median of up to 3 runs" in row[0] for row in table.rows)


@pytest.mark.parametrize("status", ["failed", "interrupted"])
def test_a_failed_step_is_a_word_and_its_run_is_marked(workspace: Workspace, status: Status) -> None:
    failed = Run("x", minute=1, status=status, failed_step="l.i1", error="lost", steps=("l.i0", "l.x", "l.i1"))
    frame = ask(workspace, "step_throughput", Run(), failed)
    assert Parsed(ib.absolute_throughput(frame)).of("system.x") == ["2,000 † ▲", "10,000 † ▲", status, "not run"]
    relative = Parsed(ib.relative_throughput(frame, "system.cy10a"))
    assert relative.of("system.x") == ["1.00 †", "1.00 †", status, "not run"]
    assert ["† of a run that did not complete."] in relative.rows
    metrics = answer(reader.lake(workspace), "step_metrics").filter(pl.col("step") == "l.i1")
    assert set(Parsed(ib.step_metrics_table(metrics)).of("system.x")) == {status}
    # A failed base leaves nothing to compare with.
    relative = Parsed(ib.relative_throughput(frame, "system.x"))
    assert relative.of("system.x (base)")[:2] == ["1.00 †", "1.00 †"]
    assert relative.of("system.cy10a") == ["1.00", "1.00", "no base", "no base"]


def test_a_ratio_says_which_of_its_runs_did_not_complete(workspace: Workspace) -> None:
    steps = ("l.i0", "l.x", "l.i1")
    failed = Run("x", repeat=2, minute=2, status="interrupted", failed_step="l.i1", steps=steps)
    frame = ask(workspace, "step_throughput", Run(), Run("x", minute=1), failed)
    assert Parsed(ib.relative_throughput(frame, "system.cy10a")).of("system.x") == [
        "1.00 †",
        "1.00 †",
        "1.00 (1 of 2 not complete)",
        "1.00 (1 of 2 not complete)",
    ]


def test_a_client_bound_step_says_so(workspace: Workspace) -> None:
    frame = ask(workspace, "step_throughput", Run(client_bound="a querier used 97 % of a core"))
    for table, cell in (
        (ib.absolute_throughput(frame), "1,000 ‡ ▲"),
        (ib.relative_throughput(frame, "system.cy10a"), "1.00 ‡"),
    ):
        drawn = Parsed(table)
        assert [row[-1] for row in drawn.rows if row[0].startswith("system.cy10a")] == [cell]
        assert any("a querier used 97 % of a core" in row[0] for row in drawn.rows)
    responses = answer(reader.lake(workspace), "response_time_histogram")
    queries = Parsed(ib.response_time_table(responses.filter(pl.col("operation") == "range_query")))
    assert queries.of("system.cy10a ‡")[-1] == "2.000"
    assert any("‡ system.cy10a, qr100: limited by the clients" in row[0] for row in queries.rows)


def test_tenths_say_of_which_runs_they_are(workspace: Workspace) -> None:
    steps = ("l.i0", "l.x", "l.i1", "qr100")
    failed = Run("x", minute=1, status="failed", failed_step="qr100", steps=steps, l_i1_s=20)
    broken = Run("y", repeat=2, minute=3, status="interrupted", failed_step="l.i1", steps=steps[:3], l_i1_s=20)
    frame = ask(workspace, "rate_by_tenth", Run(l_i1_s=20), failed, Run("y", minute=2, l_i1_s=20), broken)
    inserts = frame.filter(pl.col("step") == "l.i1")
    bound = inserts.with_columns(client_bound=pl.when(pl.col("dbms") == "system.cy10a").then(pl.lit("busy")))
    table = Parsed(ib.rate_by_tenth_table(bound))
    for head in ("system.cy10a ‡", "system.x †", "system.y (1 of 2 not complete)"):
        assert table.of(head) == ["2,500"] * 10
    assert ["† of a run that did not complete."] in table.rows
    assert ["‡ system.cy10a, l.i1: limited by the clients: busy."] in table.rows
    alone = Parsed(ib.rate_by_tenth_table(pl.concat([inserts.head(1), inserts.tail(1)])))
    assert alone.of("system.y") == ["interrupted"] * 10


def test_the_runs_table_names_what_failed(workspace: Workspace) -> None:
    write_runs(workspace, Run(status="failed", failed_step="l.i1", error="server lost", steps=("l.i0",)))
    frame = answer(reader.lake(workspace), "selected_runs")
    assert Parsed(ib.runs_table(frame)).of("system.cy10a") == [
        "cached",
        "1",
        "10.11.19-MariaDB (Debian 12)",
        "failed in l.i1: server lost ▼",
        "2026-11-21 10:00",
        "0.1.0",
    ]


def test_sla_table_has_a_target_row_and_marks_what_missed_it(workspace: Workspace) -> None:
    frame = ask(workspace, "sla", Run(), Run("slow", minute=1, background_rows=900))
    table = Parsed(ib.sla_table(frame))
    assert table.of("target") == ["200", "200"]
    assert table.of("system.cy10a") == ["200", "200"]
    assert table.of("system.slow") == ["180 ✕", "180 ✕"]


def test_sla_table_has_each_target_of_experiments_that_share_a_setup(workspace: Workspace) -> None:
    frame = ask(workspace, "sla", Run(), Run("slow", minute=1, background_rows=900))
    slow = pl.col("dbms") == "system.slow"
    other = frame.with_columns(target_per_s=pl.when(slow).then(1000.0).otherwise(pl.col("target_per_s")))
    assert Parsed(ib.sla_table(other)).of("target") == ["200 or 1,000"] * 2


def test_fairness_prints_as_published(workspace: Workspace) -> None:
    """From the durations of clients on, of which the report gives the difference and its share."""
    published = golden("published_fairness.csv")
    assert len(published) == 30
    for number, row in enumerate(published):
        diff, pct = float(row["diff_s"]), float(row["pct"])
        fastest = 100 * diff / pct
        run = Run(str(number), setup=row["setup"], dbms=row["dbms"])
        writer = RunWriter(workspace.run_dir(run.run_id))
        key = {"step_id": 2, "step": "l.i1"}
        for client, seconds in ((1, fastest + diff), (2, fastest), (3, fastest + diff / 3)):
            # A client ends with its last worker.
            for worker, part in ((2 * client, 0.98), (2 * client + 1, 1.0)):
                writer.append(
                    "workers", **key, client=client, worker=worker, role="inserter", status="complete", start_s=10.0,
                    end_s=10 + part * seconds, ops=1, rows=1, errors=0, retries=0, unknown=0,
                )  # fmt: skip
        writer.append(
            "steps", **key, kind="write", status="complete", clients=3, insert_rows_per_commit=50, existing_rows=0,
            start_s=10.0, end_s=10 + fastest + diff, duration_s=fastest + diff,
        )  # fmt: skip
        writer.seal(manifest_of(run))
    frame = answer(reader.lake(workspace), "fairness").filter(pl.col("step") == "l.i1")
    for setup in ("cached", "io_bound"):
        table = Parsed(ib.fairness_table(frame.filter(pl.col("setup") == setup)))
        for row in (row for row in published if row["setup"] == setup):
            assert table.of(row["dbms"])[2:] == [row["diff_s"], row["pct"]]


def test_fairness_of_short_steps_keeps_tenths(workspace: Workspace) -> None:
    frame = ask(workspace, "fairness", Run()).filter(pl.col("step") == "l.i0")
    assert Parsed(ib.fairness_table(frame)).of("system.cy10a") == ["8.0", "10.0", "2.0", "25.0"]


def test_a_row_of_fairness_is_of_the_run_with_the_median_difference() -> None:
    def shown(*seconds: tuple[float, float], run_status: str = "complete") -> list[str]:
        """The row of repeats whose fastest and slowest clients took so long."""
        common = {"setup": "cached", "dbms": "m.a", "dbms_position": 1, "step": "l.i1", "step_status": "complete"}
        rows = [
            {
                **common, "repeat": repeat, "min_duration_s": fastest, "max_duration_s": slowest,
                "diff_s": slowest - fastest, "pct": 100 * (slowest - fastest) / fastest, "run_status": "complete",
            }
            for repeat, (fastest, slowest) in enumerate(seconds, 1)
        ]  # fmt: skip
        rows[0]["run_status"] = run_status
        table = Parsed(ib.fairness_table(pl.DataFrame(rows)))
        assert any("All four figures are from that run" in row[0] for row in table.rows if row) == (len(rows) > 1)
        return table.of("m.a")

    # Medians of each column would say 40.4, 40.5, 0.3.
    three = (40.4, 40.5), (40.0, 40.3), (41.0, 51.0)
    assert shown(*three) == ["40.0", "40.3", "0.3", "0.7"]
    assert shown(*three, (20.0, 25.0)) == ["40.0", "40.3", "0.3", "0.7"]
    assert shown((20.0, 25.0)) == ["20.0", "25.0", "5.0", "25.0"]
    # That another run did not complete is not said of the one that is shown.
    assert shown(*three, run_status="failed") == ["40.0", "40.3", "0.3", "0.7"]
    assert shown((40.0, 40.3), (40.4, 40.5), (41.0, 51.0), run_status="failed")[0] == "40.0 †"


def test_steps_that_nobody_took_a_second_for_are_not_marked(workspace: Workspace) -> None:
    frame = ask(workspace, "step_throughput", *three_configurations(), Run("slow", minute=5, background_rows=900))
    in_l_i1, in_qr100 = pl.col("step") == "l.i1", pl.col("step") == "qr100"
    brief = pl.when(in_l_i1 | in_qr100).then(pl.col("duration_s") / 100).otherwise("duration_s")
    short = frame.with_columns(duration_s=brief)
    note = "No ▲ or ▼ where a step took less than 1 s: l.i1 and qr100."
    absolute = Parsed(ib.absolute_throughput(short))
    assert absolute.of("system.cy10ap1lag") == ["2,000 ▲", "10,000 ▲", "2,500", "1,000"]
    assert absolute.of("system.slow")[3] == "1,000 ✕"
    relative = Parsed(ib.relative_throughput(short, "system.cy10a"))
    assert relative.of("system.cy10ap1")[3] == relative.of("system.cy10ap1lag")[2] == "0.50"
    for table in (absolute, relative):
        assert any(note in row[0] for row in table.rows)
    said = ib.throughput_statements(short, "system.cy10a")
    assert "Not compared, because they took less than 1 s: l.i1 and qr100 in cached (0.05 s to 0.20 s)." in said
    # One that took longer is enough to compare with.
    one = frame.with_columns(
        duration_s=pl.when(in_l_i1 & (pl.col("dbms") != "system.cy10ap1lag")).then(0.5).otherwise("duration_s")
    )
    relative = Parsed(ib.relative_throughput(one, "system.cy10a"))
    assert relative.of("system.cy10ap1lag")[2] == "0.50 ▼"
    assert not any("less than 1 s" in row[0] for row in relative.rows)


def test_get_min_prints_as_published_and_marks_over_ten_times_the_best() -> None:
    published = [row for row in golden("published_get_min_seconds.csv") if row["setup"] == "cached"]
    names = list(dict.fromkeys(row["dbms"] for row in published))
    steps = ["l.i1", "q100", "q500", "q1000"]
    frame = pl.DataFrame(
        [
            {
                "setup": "cached", "dbms": row["dbms"], "dbms_position": names.index(row["dbms"]), "repeat": 1,
                "run_status": "complete", "step_id": steps.index(row["step"]), "step": row["step"],
                "step_status": "complete", "get_min_s": float(row["get_min_s"]),
            }
            for row in published
        ]
    )  # fmt: skip
    table = Parsed(ib.get_min_table(frame))
    assert table.of("my8033_rel_lto.cy10a_gcp_c2s30") == ["0.033 ▼", "95.307 ▼", "1.915 ▼", "0.001"]
    assert table.of("my8033_rel_lto.cy10a7_gcp_c2s30") == ["0.033 ▼", "92.804 ▼", "0.002", "0.001"]
    assert table.of("my8033_rel_lto.cy10a10_gcp_c2s30")[1:] == ["0.001", "0.001", "0.001"]
    assert table.of("my5651_rel.cy10a_gcp_c2s30") == ["0.000", "450.500 ▼", "368.100 ▼", "126.500 ▼"]


def test_repeats_of_a_figure_that_scatters_show_their_range(workspace: Workspace) -> None:
    runs = [
        Run(repeat=n, minute=n, get_min_s=(0, 0, 0, s), history_list=(1, 1, h, 1))
        for n, s, h in ((1, 0.5, 9), (2, 4, 99))
    ]
    write_runs(workspace, *runs, Run("quick", minute=5, get_min_s=(0, 0, 0, 0.001), history_list=(1, 1, 50_000, 1)))
    lake = reader.lake(workspace)
    seconds = Parsed(ib.get_min_table(answer(lake, "get_min")))
    assert seconds.of("system.cy10a")[3] == "2.250 [0.500, 4.000] ▼"
    assert seconds.of("system.quick")[3] == "0.001"
    lag = Parsed(ib.purge_lag_table(answer(lake, "purge_lag_at_step_end")))
    assert lag.of("system.cy10a") == ["1 [1, 1]", "1 [1, 1]", "54 [9, 99]", "1 [1, 1]"]
    assert lag.of("system.quick") == ["1", "1", "50,000 ▼", "1"]


def test_a_figure_that_scatters_says_which_repeats_have_none(workspace: Workspace) -> None:
    broken = Run(repeat=3, minute=3, status="interrupted", failed_step="l.i1", steps=("l.i0", "l.x", "l.i1"))
    write_runs(workspace, Run(repeat=1, minute=1), Run(repeat=2, minute=2), broken)
    lake = reader.lake(workspace)
    lag = Parsed(ib.purge_lag_table(answer(lake, "purge_lag_at_step_end"))).of("system.cy10a")
    assert lag == [
        "10 [10, 10] †",
        "20 [20, 20] †",
        "30,000 [30,000, 30,000] (1 of 3 interrupted)",
        "5 [5, 5] (1 of 3 not run)",
    ]
    seconds = Parsed(ib.get_min_table(answer(lake, "get_min"))).of("system.cy10a")
    assert seconds[2:] == ["0.001 [0.001, 0.001] †", "0.500 [0.500, 0.500] (1 of 3 not run)"]


def test_a_history_list_of_a_step_that_did_not_complete_is_a_word(workspace: Workspace) -> None:
    failed = Run(status="failed", failed_step="l.i1", steps=("l.i0", "l.x", "l.i1"))
    frame = ask(workspace, "purge_lag_at_step_end", failed)
    assert Parsed(ib.purge_lag_table(frame)).of("system.cy10a") == ["10 †", "20 †", "failed", "not run"]


def test_the_legend_has_every_metric_of_the_tables(workspace: Workspace) -> None:
    frame = ask(workspace, "step_metrics", Run()).filter(pl.col("step") == "qr100")
    legend = {row[0] for row in Parsed(ib.metrics_legend()).rows if row}
    drawn = [Parsed(table(frame)) for table in (ib.step_metrics_table, ib.step_storage_table, ib.step_cpu_table)]
    lake = reader.lake(workspace)
    drawn.append(Parsed(ib.device_table(answer(lake, "device_averages", steps=["qr100"]))))
    sizes = Parsed(ib.sizes_table(answer(lake, "sizes_at_step_end", steps=["qr100"])))
    for table in (*drawn, sizes):
        assert {*table.of("dbms")} <= legend
    assert any("by the server's statistics" in row[0] and "lag behind" in row[0] for row in sizes.rows)


def test_get_min_of_a_step_that_failed_later_is_still_shown(workspace: Workspace) -> None:
    failed = Run(status="failed", failed_step="l.i1", steps=("l.i0", "l.x", "l.i1"), get_min_s=(0.001, 0.001, 0.25, 0))
    frame = ask(workspace, "get_min", failed)
    assert Parsed(ib.get_min_table(frame)).of("system.cy10a")[2:] == ["0.250 †", "not run"]


@pytest.mark.parametrize(
    ("percent", "text"), [(0.0, ""), (0.0001, "nonzero"), (0.0005001, "0.001"), (99.9999, "100.000"), (5.875, "5.875")]
)
def test_a_share_that_is_not_zero_never_prints_as_zero(percent: float, text: str) -> None:
    assert _share(percent) == text


def test_response_time_table(workspace: Workspace) -> None:
    frame = ask(workspace, "response_time_histogram", Run())
    queries = frame.filter(pl.col("operation") == "range_query")
    cells = Parsed(ib.response_time_table(queries)).of("system.cy10a")
    assert cells == ["100.000", "0.502", "0.502", "0.502", "0.502", "2.000"]


def test_response_times_of_repeats_share_a_row_and_a_failed_run_has_its_own() -> None:
    shares = dict.fromkeys(_BUCKETS, 0.0)

    def one(repeat: int, responses: int, le_1ms: float, p50_s: float, step_status: str = "complete") -> dict[str, Any]:
        times = {"p50_s": p50_s, "p90_s": 0.002, "p99_s": 0.003, "p999_s": 0.003, "max_s": 0.001 * repeat}
        known = {"setup": "cached", "dbms": "m.a", "step": "s", "operation": "insert", "timing": "service"}
        known |= {"run_status": step_status}
        counted = {**shares, "le_1ms": le_1ms, "le_4ms": 100 - le_1ms, "responses": responses}
        return {**known, **counted, **times, "repeat": repeat, "step_status": step_status}

    runs = [one(1, 300, 100.0, 0.0005), one(2, 100, 20.0, 0.0015), one(3, 90, 50.0, 0.0002, "failed")]
    table = Parsed(ib.response_time_table(pl.DataFrame([*runs, one(4, 200, 50.0, 0.0007)])))
    # (300 x 100 + 100 x 20 + 200 x 50) / 600; the median of 0.5, 1.5 and 0.7 ms.
    assert table.of("m.a") == ["70.000", "30.000", "0.700", "2.000", "3.000", "-", "4.000"]
    assert table.of("m.a r3 (failed)") == ["50.000", "50.000", "0.200", "2.000", "-", "-", "3.000"]


def test_response_times_of_a_run_that_did_not_complete_are_marked(workspace: Workspace) -> None:
    failed = Run(repeat=2, minute=1, status="interrupted", failed_step="qr100")
    frame = ask(workspace, "response_time_histogram", Run(), failed, Run("b", minute=2))
    for step, heads in (
        ("l.i1", ["system.cy10a †", "system.b"]),
        ("qr100", ["system.cy10a", "system.cy10a r2 (interrupted)", "system.b"]),
    ):
        table = Parsed(ib.response_time_table(frame.filter(pl.col("step") == step, pl.col("operation") == "insert")))
        assert [row[0] for row in table.rows if row[0].startswith("system")] == heads
        assert (["† of a run that did not complete."] in table.rows) == (step == "l.i1")


def test_step_metrics_show_what_the_step_has(workspace: Workspace) -> None:
    frame = ask(workspace, "step_metrics", Run()).filter(pl.col("step") == "qr100")
    table = Parsed(ib.step_metrics_table(frame))
    assert table.of("dbms") == ["T (s)", "ips", "dps", "qps", "rate p50", "rate p99", "maxop", "hll"]
    assert table.of("system.cy10a") == ["5.0", "200", "200", "1,000", "1,000", "1,000", "0.002", "5"]
    cpu = Parsed(ib.step_cpu_table(frame))
    assert dict(zip(cpu.of("dbms"), cpu.of("system.cy10a"), strict=True)) == {
        "csps": "-", "cpups": "-", "cspq": "-", "cpupq": "-", "ccpupq": "600.0", "scpupq": "-", "rss": "-",
        "dbgb1": "-", "dbgb2": "-",
    }  # fmt: skip
    loading = ask(workspace, "step_metrics", Run("b", minute=1)).filter(pl.col("step") == "l.i0")
    assert not {"dps", "qps"} & {*Parsed(ib.step_metrics_table(loading)).of("dbms")}


def test_config_table_shows_the_base_beside_the_others(workspace: Workspace) -> None:
    write_runs(workspace, *three_configurations())
    frame = answer(reader.lake(workspace), "config_diff", base="system.cy10a")
    table = Parsed(ib.config_table(frame, "system.cy10a"))
    assert table.of("innodb_max_purge_lag") == ["not set", "as base", "100"]
    assert table.of("innodb_purge_batch_size") == ["not set", "1", "as base"]


def test_gaps_table_names_an_older_run_that_completed(workspace: Workspace) -> None:
    whole = Run()
    write_runs(workspace, whole, Run(minute=1, status="failed", failed_step="l.x", steps=("l.i0",)))
    parsed = Parsed(ib.gaps_table(answer(reader.lake(workspace), "gaps")))
    assert f"an older run of 2026-11-21 10:00 completed (id {whole.run_id})" in str(parsed.rows)


def test_a_step_loaded_from_a_snapshot_says_so_in_the_place_of_a_number(workspace: Workspace) -> None:
    first = Run()
    others = [
        Run(minute=1, repeat=2, steps=("l.i1", "qr100"), loaded_from=first.run_id),
        Run("other", minute=2, steps=("l.i1", "qr100"), loaded_from=first.run_id),
    ]
    write_runs(workspace, first, *others)
    lake = reader.lake(workspace)
    frame = answer(lake, "step_throughput")
    table = Parsed(ib.absolute_throughput(frame))
    assert table.of("system.cy10a")[0] == "2,000 (1 of 2 loaded from a snapshot)"
    assert table.of("system.other")[:2] == ["loaded from a snapshot"] * 2
    assert "not complete" not in str(table.rows)
    assert Parsed(ib.relative_throughput(frame, "system.cy10a")).of("system.other")[0] == "loaded from a snapshot"
    said = ib.run_statements(answer(lake, "selected_runs"))
    assert (
        "After step l.x, 2 of 3 runs continued with a copy of a data directory and empty caches; 2 of 2 runs started "
        "there, with rows that another run had loaded."
    ) in said
    relative = ib.throughput_statements(frame, "system.cy10a")
    assert not any("loaded" in sentence or "Not compared" in sentence for sentence in relative), relative


def test_repeats_that_are_alike_share_a_row_and_others_do_not(workspace: Workspace) -> None:
    failed = Run(repeat=4, minute=9, status="failed", failed_step="l.x", error="lost", steps=("l.i0", "l.x"))
    write_runs(workspace, *(Run(repeat=n, minute=n) for n in (1, 2, 3)), failed, Run("b", minute=5))
    table = Parsed(ib.runs_table(answer(reader.lake(workspace), "selected_runs")))
    rows = [row for row in table.rows if row and row[0].startswith("system")]
    assert [(row[0], row[2], row[4], row[5]) for row in rows] == [
        ("system.cy10a", "1, 2, 3", "complete", "2026-11-21 10:01 to 10:03"),
        ("system.cy10a", "4", "failed in l.x: lost ▼", "2026-11-21 10:09"),
        ("system.b", "1", "complete", "2026-11-21 10:05"),
    ]


def test_text_in_a_table_is_only_text(workspace: Workspace) -> None:
    run = Run(dbms=HOSTILE, setup="cached", error=HOSTILE, client_bound=HOSTILE)
    broken = Run("x", minute=1, status="failed", failed_step="l.x", error=HOSTILE, dbms="**b** [l](http://e.com)")
    write_runs(workspace, run, broken)
    lake = reader.lake(workspace)
    # great_tables reads {{...}} in a column's label as a unit, and does not escape what is around it.
    every_text = Grid(HOSTILE, HOSTILE, HOSTILE, [HOSTILE], [(HOSTILE, [Cell(HOSTILE)])], [HOSTILE], [(HOSTILE, [0])])
    drawn = [
        ib.runs_table(answer(lake, "selected_runs")),
        ib.absolute_throughput(answer(lake, "step_throughput")),
        ib.relative_throughput(answer(lake, "step_throughput"), HOSTILE),
        ib.get_min_table(answer(lake, "get_min")),
        ib.gaps_table(answer(lake, "gaps")),
        every_text.draw("default"),
    ]
    for table in drawn:
        parsed = Parsed(table)
        assert not parsed.tags & {"script", "img", "a", "strong", "b"}, parsed.tags
        assert HOSTILE in str(parsed.rows) or "**b** [l](http://e.com)" in str(parsed.rows)
