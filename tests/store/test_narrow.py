"""A narrowed lake has the answers of the whole one, and opens no file of another run where it need not."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import pytest
from polars.testing import assert_frame_equal

from ibench_lib.ask.selection import choose
from ibench_lib.errors import QueryError
from ibench_lib.paths import Workspace
from ibench_lib.schema import TABLES
from ibench_lib.store import catalogue, checksums, discovery, reader
from ibench_lib.store.narrow import narrowed
from tests.shared import lake_of
from tests.synthetic import Run, begin_run, end_run, write_runs

pytestmark = pytest.mark.lake

RUNS = (Run(), Run("b", minute=1), Run("c", minute=2))
VALUES: dict[str, Any] = {
    "steps": ["l.i1", "qr100"], "points": 50, "base": "system.b", "bases": ["system.b"], "chain": [],
    "metrics": ["ips", "qps"],
}  # fmt: skip


def about(question: str, runs: list[str]) -> dict[str, Any] | None:
    """Values of a question's parameters; None where it takes others, or is not about runs."""
    values = {"runs": runs, **VALUES}
    wanted = catalogue.parameters_of(question)
    return {name: values[name] for name in wanted} if {"runs"} <= wanted <= values.keys() else None


def part_of_sql(name: str, values: dict[str, Any]) -> str:
    """SQL that asks a question with these values."""
    given = (repr(values[key]) for key in catalogue.parameters_in_order(f"questions.{name}"))
    return f"FROM questions.{name}({', '.join(given)})"


@pytest.mark.slow
def test_a_question_that_is_not_about_runs_can_be_part_of_sql() -> None:
    lake = lake_of(*RUNS)
    names = [name for name in catalogue.questions() if "runs" not in catalogue.parameters_of(name)]
    for name in names:
        values = {key: VALUES[key] for key in catalogue.parameters_of(name)}
        assert reader.sql(lake, part_of_sql(name, values)).equals(reader.question(lake, name, **values)), name


@pytest.mark.parametrize("chosen", [(0,), (1, 2), ()])
def test_every_table_has_the_same_rows_of_the_runs(chosen: tuple[int, ...]) -> None:
    lake = lake_of(*RUNS)
    runs = [RUNS[number].run_id for number in chosen]
    narrow = narrowed(lake, runs)
    for name in TABLES:
        whole, found = (
            one.sql(f'FROM "{name}" WHERE list_contains({runs}, run_id) ORDER BY ALL').pl() for one in (lake, narrow)
        )
        assert_frame_equal(whole, found)


@pytest.mark.slow
def test_every_question_has_the_same_answer() -> None:
    lake = lake_of(*RUNS)
    runs = [run.run_id for run in RUNS[1:]]
    narrow = narrowed(lake, runs)
    asked = {name: values for name in catalogue.questions() if (values := about(name, runs)) is not None}
    about_runs = [name for name in catalogue.questions() if "runs" in catalogue.parameters_of(name)]
    assert list(asked) == about_runs and len(asked) > 40
    for name, values in asked.items():
        # The last digits of a sum depend on the order of its terms, which no file order promises.
        whole, found = (reader.question(one, name, **values) for one in (lake, narrow))
        assert_frame_equal(whole, found, rel_tol=1e-9, abs_tol=1e-9)
        assert_frame_equal(whole, reader.sql(lake, part_of_sql(name, values)), rel_tol=1e-9, abs_tol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("most", [0, 300])
@pytest.mark.parametrize("by_index", [True, False])
def test_files_of_other_runs_are_not_opened(
    most: int, by_index: bool, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    if by_index:
        monkeypatch.setattr(checksums, "YOUNG_NS", 0)
        monkeypatch.setattr(discovery, "_MAY_WAIT", 0)
    monkeypatch.setattr(reader, "_PATHS_IN_A_VIEW", most)
    write_runs(workspace, *RUNS)
    lake = reader.lake(workspace)
    assert bool(lake.sql("FROM narrow_indexed").fetchall()) == by_index
    runs = [RUNS[1].run_id]
    values = {"runs": runs, "steps": [], "points": 50}
    expected = reader.question(lake, "one_second", **values)
    for run in (RUNS[0], RUNS[2]):
        (workspace.run_dir(run.run_id) / "ops.parquet").unlink()
    with pytest.raises(QueryError):
        reader.question(lake, "one_second", **values)
    assert reader.question(narrowed(lake, runs), "one_second", **values).equals(expected)
    chosen = choose(lake, runs=runs, points=50)
    assert chosen.ask("one_second").equals(expected)
    assert chosen.ask("fairness", runs=runs)["run_id"].unique().to_list() == runs


def test_what_is_wrong_is_said_by_the_question_and_a_closed_lake_is_an_error() -> None:
    lake = lake_of(*RUNS)
    chosen = choose(lake, runs=[RUNS[0].run_id])
    with pytest.raises(QueryError, match="question step_throughput"):
        chosen.ask("step_throughput", runs=5)
    assert chosen.ask("step_throughput", runs=None).is_empty(), "as on any other connection"
    closed = lake.cursor()
    closed.close()
    with pytest.raises(QueryError, match="cannot be listed"):
        narrowed(closed, [RUNS[0].run_id])


def test_to_open_a_lake_imports_no_pandas(workspace: Workspace) -> None:
    write_runs(workspace, *RUNS)
    remember = "from ibench_lib.store import checksums, discovery; checksums.YOUNG_NS = discovery._MAY_WAIT = 0"
    found = f"{remember}; import ibench_lib as ib, sys; ib.lake(); print('pandas' in sys.modules)"
    environment = {**os.environ, "IBENCH_HOME": str(workspace.root)}
    command = [sys.executable, "-c", found]
    for _ in range(2):  # the second one reads the index
        said = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
    assert said == "False\n"


def test_a_run_in_progress_keeps_its_rows(workspace: Workspace) -> None:
    live = Run("live", minute=3, status="running", steps=("l.i0", "l.x", "l.i1"))
    write_runs(workspace, *RUNS[:1])
    writer = begin_run(workspace, live, sealed=("l.i0", "l.x"))
    lake = reader.lake(workspace)
    values = {"runs": [live.run_id], "steps": [], "points": 50}
    found = reader.question(narrowed(lake, [live.run_id]), "one_second", **values)
    assert found["step"].unique().sort().to_list() == ["l.i0", "l.i1"]
    assert found.equals(reader.question(lake, "one_second", **values))
    end_run(writer, live)
