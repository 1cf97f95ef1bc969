"""`ibench status`: once, and until the experiment ends."""

from __future__ import annotations

import importlib
import io
import json
import threading
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from rich.console import Console

from ibench_lib.paths import Workspace
from ibench_lib.runner.ledger import running_alone
from tests.command import ibench

status = importlib.import_module("ibench_lib.cli.status")


def event(ago_s: float, name: str, **content: Any) -> str:
    return (
        json.dumps({"at": (datetime.now(UTC) - timedelta(seconds=ago_s)).isoformat(), "event": name, **content}) + "\n"
    )


def cell(repeat: int) -> dict[str, Any]:
    return {"dbms": "system.base", "setup": "small", "repeat": repeat}


def begun() -> list[str]:
    """One cell was done before, one took 600 s, another one 700 s; one has run for 570 s, and one is left."""
    return [
        event(1870, "experiment_begins", experiment="x", cells=5),
        event(1870, "cell_skipped", number=1, of=5, **cell(1), run_id="r"),
        event(1870, "cell_begins", number=2, of=5, **cell(2)),
        event(1270, "cell_ends", **cell(2), status="complete", run_id="s"),
        event(1270, "cell_begins", number=3, of=5, **cell(3)),
        event(570, "cell_failed", **cell(3), error="lost"),
        event(570, "cell_begins", number=4, of=5, **cell(4)),
    ]


def written(workspace: Workspace, *events: str) -> None:
    workspace.events.mkdir(parents=True, exist_ok=True)
    with open(workspace.events / "x.jsonl", "a") as file:
        file.writelines(events)


def test_what_is_left_is_told_by_the_cells_so_far(workspace: Workspace) -> None:
    written(workspace, *begun())
    with running_alone(workspace):
        said = ibench(workspace, "status").stdout
    assert "3 of 5 cells ended, 1 failed" in said
    # Two cells of 650 s, of which 570 s are over: 730 s, less what this test has taken.
    assert "about 12 min left, at 11 min a cell so far" in said
    assert "left" not in ibench(workspace, "status").stdout, "its runner is dead"


def test_nothing_is_said_of_what_is_left_before_a_cell_has_ended(workspace: Workspace) -> None:
    written(workspace, *begun()[:3])
    with running_alone(workspace):
        assert "left" not in ibench(workspace, "status").stdout


def test_it_is_watched_until_it_ends(workspace: Workspace) -> None:
    written(workspace, *begun())
    end = threading.Timer(0.3, written, (workspace, event(0, "experiment_ends", experiment="x", outcome="complete")))
    with running_alone(workspace):
        end.start()
        said = ibench(workspace, "status", "--watch").stdout
        end.join()
    assert said.count("x: complete") == 1


def test_a_watched_picture_takes_the_place_of_the_one_before(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each picture is written once, and after it only what moves the cursor to its beginning."""
    written(workspace, *begun())
    screen = Console(file=io.StringIO(), force_terminal=True, width=80, height=30)
    drawn: list[bool] = []
    draw = status._print
    monkeypatch.setattr(status, "out", screen)
    monkeypatch.setattr(status, "_WATCH_S", 0.01)

    def counted(*given: Any) -> bool:
        if len(drawn) == 4:
            written(workspace, event(0, "experiment_ends", experiment="x", outcome="complete"))
        drawn.append(draw(*given))
        return drawn[-1]

    monkeypatch.setattr(status, "_print", counted)
    monkeypatch.setenv("IBENCH_HOME", str(workspace.root))
    with running_alone(workspace):
        status.status(watch=True)
    assert drawn == [True] * 4 + [False]
    text = screen.file.getvalue()  # type: ignore[attr-defined]
    assert text.count("x: running") == 4 and text.count("x: complete") <= 2


def test_before_a_cell_has_ended_the_forecast_tells_what_is_left(workspace: Workspace) -> None:
    first, *more = begun()[:3]
    written(workspace, json.dumps({**json.loads(first), "forecast_s": 3670.0}) + "\n", *more)
    with running_alone(workspace):
        assert "about 30 min left, as forecast" in ibench(workspace, "status").stdout


def test_complete_cells_are_listed_the_last_ones_by_name(workspace: Workspace) -> None:
    ends = [event(100 - n, "cell_ends", **cell(n), status="complete", run_id=f"r{n}") for n in range(1, 12)]
    written(workspace, event(3700, "experiment_begins", experiment="x", cells=11), *ends)
    lines = ibench(workspace, "status").stdout.splitlines()
    listed = [line.rpartition(" ")[2] for line in lines if line.startswith("    complete ")]
    assert listed == [str(number) for number in range(4, 12)] and "    3 complete before these" in lines
    assert "system.base, small, repeat 11" in lines[-1]
