"""What is seen where there is no terminal: plain lines, seldom, with how much is left."""

import io
from dataclasses import replace
from typing import Any

import pytest
from rich.console import Console

from ibench_lib.cli.progress import ExperimentProgress
from ibench_lib.errors import RunFailed
from ibench_lib.experiment.cells import Cell
from ibench_lib.experiment.file import Config
from ibench_lib.runner.events import step_progress
from ibench_lib.runner.planned import PlannedCell
from ibench_lib.workloads.insert_benchmark.options import PRESET_SETUPS
from ibench_lib.workloads.insert_benchmark.steps import Step
from ibench_lib.workloads.insert_benchmark.workers import OPERATIONS
from ibench_lib.workloads.workload import Worker


class State:
    """What a worker has reported."""

    def __init__(self, operation: str, second: int, rows: int, ops: int, done: int, leads: bool) -> None:
        self.worker = Worker(client=1, role="any", operations=(operation,), leads=leads)
        self.operations = {operation.name: operation for operation in OPERATIONS}
        self.latest = {operation: {"second": second, "rows": rows, "ops": ops}}
        self.done = done
        self.stage, self.latest_answer = "made", second


def planned(*configs: str) -> list[PlannedCell]:
    cells = [
        Cell("system", Config(name=name, fragments=["cy10a"]), PRESET_SETUPS["cached"], 1, "system", position)
        for position, name in enumerate(configs, start=1)
    ]
    return [PlannedCell(cell, None, None, (), "f") for cell in cells]  # type: ignore[arg-type]


def test_the_beginning_says_what_has_changed_and_what_had_failed() -> None:
    text = io.StringIO()
    changed, failed, new = planned("a", "b", "c")
    entries = [
        replace(changed, what="changed"),
        replace(failed, what="again", note="failed 2026-11-21 10:15 UTC in step l.i1: [x]"),
        new,
    ]
    ExperimentProgress(Console(file=text, width=200), lambda _entry: 60.0).experiment_begins("e", entries)
    assert text.getvalue().splitlines() == [
        "changed since it ran: system.a, cached, repeat 1",
        "runs again: system.b, cached, repeat 1: failed 2026-11-21 10:15 UTC in step l.i1: [x]",
        "e: 3 cells, 0 already complete, about 3 min to go",
    ]


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [1000.0]
    monkeypatch.setattr("ibench_lib.cli.progress.time.monotonic", lambda: now[0])
    return now


def test_a_line_every_ten_seconds_with_rates_and_what_is_left(clock: list[float]) -> None:
    text = io.StringIO()
    console = Console(file=text, width=200)
    entries = planned("a", "b", "c")
    step = Step(name="l.i1", form="l.i1", kind="write", rows_per_commit=50, amount=100_000, churns=True)
    states: Any = [
        State("insert", 25, 1500, 30, 50_000, leads=True),
        State("delete", 25, 1400, 28, 49_000, leads=False),
    ]
    with ExperimentProgress(console, lambda _entry: 100.0) as progress:
        progress.experiment_begins("e", entries)
        progress.cell_begins(1, 3, entries[0].cell)
        progress.step_begins(step)
        for elapsed in range(1, 26):
            clock[0] += 1
            progress.step_progress(step, states, float(elapsed))
        progress.step_ends(step, 25.0)
        progress.cell_failed(entries[0].cell, RunFailed("[bold]the disk[/] is full"))
        progress.stopping()
    lines = [line.rstrip() for line in text.getvalue().splitlines()]
    assert lines[0] == "e: 3 cells, 0 already complete, about 5 min to go"
    told = [line.strip() for line in lines if "inserts/s" in line]
    assert told == [
        "1/3 l.i1 50% after 10 s: 1,500 inserts/s, 1,400 deletes/s, step ETA 10 s, all 5 min",
        "1/3 l.i1 50% after 20 s: 1,500 inserts/s, 1,400 deletes/s, step ETA 20 s, all 5 min",
    ]
    assert any("failed: [bold]the disk[/] is full" in line for line in lines), "text of others is never markup"
    assert lines[-1] == "stopping after this cell; press Ctrl-C again to stop now"


@pytest.mark.parametrize(("width", "rates"), [(60, 0), (80, 1), (100, 2), (200, 2)])
def test_a_line_fits_its_terminal_and_keeps_times_and_a_bar(clock: list[float], width: int, rates: int) -> None:
    screen = Console(file=io.StringIO(), width=width, force_terminal=True, color_system=None)
    entries = planned("a", "b", "c")
    step = Step(name="qr100", form="qr100", kind="query", rows_per_commit=50, amount=100_000, churns=True)
    states: Any = [
        State("insert", 19, 46_100, 30, 50_000, leads=True),
        State("delete", 19, 45_900, 28, 49_000, leads=False),
    ]
    with ExperimentProgress(screen, lambda _entry: 100.0) as progress:
        progress.experiment_begins("e", entries)
        progress.cell_begins(12, 18, entries[0].cell)
        progress.step_begins(step)
        progress.step_progress(step, states, 12.0)
        drawn = Console(file=io.StringIO(), width=width, color_system=None)
        drawn.print(progress._progress.get_renderable())
    (line,) = drawn.file.getvalue().splitlines()  # type: ignore[attr-defined]
    assert len(line.rstrip()) <= width and line.count("━") >= 3, "half of the shortest bar"
    assert "12/18 qr100" in line and "0:12, ETA 0:12, all 5 min" in line and "…" not in line
    assert line.count("/s") == rates, line


def test_statements_that_make_indexes_are_not_called_rows() -> None:
    states: Any = [State("create_index", 19, 0, 1, 9, leads=True)]
    step = Step(name="l.x", form="l.x", kind="index", rows_per_commit=None, amount=18, churns=False)
    assert step_progress(step, states, 20.5).rates == {"statements/s": 1}


def test_while_no_answer_comes_no_old_rate_is_shown(clock: list[float]) -> None:
    text = io.StringIO()
    step = Step(name="qr100", form="qr100", kind="query", rows_per_commit=50, seconds=100.0, churns=True)
    states: Any = [
        State("insert", 19, 1500, 30, 50_000, leads=True),
        State("range_query", 38, 0, 70, 49_000, leads=False),
    ]
    with ExperimentProgress(Console(file=text, width=200), lambda _entry: 100.0) as progress:
        progress.cell_begins(1, 1, planned("a")[0].cell)
        progress.step_begins(step)
        for elapsed in (20.5, 40.5, 62.5):
            clock[0] += 10
            progress.step_progress(step, states, elapsed)
        progress.step_warned(step, "step qr100: no answer to any client for 22 s, in seconds 39 to 60")
    lines = [line.strip() for line in text.getvalue().splitlines()]
    first, one_waits, all_wait = [line for line in lines if " after " in line]
    assert "1,500 inserts/s, 70 queries/s" in first and "answer" not in first
    assert "0 inserts/s, 70 queries/s, no answer to 1 client" in one_waits
    assert "no answer for 22 s" in all_wait and "/s" not in all_wait
    assert lines[-1] == "warning: step qr100: no answer to any client for 22 s, in seconds 39 to 60"


def test_clients_that_have_done_their_work_wait_for_no_answer() -> None:
    states: Any = [State(name, 19, 1500, 30, 50_000, leads=True) for name in ("insert", "delete")]
    step = Step(name="l.i1", form="l.i1", kind="write", rows_per_commit=50, amount=100_000, churns=True)
    states[0].stage = "done"
    assert step_progress(step, states, 30.5).silent_s == 9
    states[1].latest_answer = 29
    found = step_progress(step, states, 30.5)
    assert (found.silent_s, found.silent_clients) == (0, 0)


def test_a_terminal_shows_how_many_cells_have_been_checked_and_a_pipe_does_not() -> None:
    for terminal in (True, False):
        text = io.StringIO()
        with ExperimentProgress(Console(file=text, width=200, force_terminal=terminal), None) as progress:
            for number in (1, 2):
                progress.cell_checked(number, 2000)
                progress._progress.refresh()
        assert ("cell 2 of 2,000" in text.getvalue()) == terminal
