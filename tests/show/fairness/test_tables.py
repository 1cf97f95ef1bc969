"""The table of fairness."""

import polars as pl
import pytest

import ibench_lib as ib
from ibench_lib.paths import Workspace
from ibench_lib.store import reader
from ibench_lib.store.writer import RunWriter
from tests.shared import asked
from tests.show.parsed import Parsed, golden
from tests.synthetic import Run, answer, manifest_of

pytestmark = pytest.mark.lake


@pytest.mark.slow
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


def test_fairness_of_short_steps_keeps_tenths() -> None:
    frame = asked("fairness", Run()).filter(pl.col("step") == "l.i0")
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
        assert any("Each row is the run with the median diff" in row[0] for row in table.rows if row) == (len(rows) > 1)
        return table.of("m.a")

    # Medians of each column would say 40.4, 40.5, 0.3.
    three = (40.4, 40.5), (40.0, 40.3), (41.0, 51.0)
    assert shown(*three) == ["40.0", "40.3", "0.3", "0.7"]
    assert shown(*three, (20.0, 25.0)) == ["40.0", "40.3", "0.3", "0.7"]
    assert shown((20.0, 25.0)) == ["20.0", "25.0", "5.0", "25.0"]
    # That another run did not complete is not said of the one that is shown.
    assert shown(*three, run_status="failed") == ["40.0", "40.3", "0.3", "0.7"]
    assert shown((40.0, 40.3), (40.4, 40.5), (41.0, 51.0), run_status="failed")[0] == "40.0 †"
