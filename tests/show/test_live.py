"""The output of a notebook that refreshes itself while a run is in progress."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import ibench_lib as ib
from ibench_lib.paths import Workspace
from ibench_lib.show import live
from ibench_lib.show.kit.chart_text import PLOTLY_MIME
from tests.synthetic import Run, begin_run, end_run
from tests.threads import apart

pytestmark = pytest.mark.lake

RUNNING = Run("live", status="running", steps=("l.i0", "l.x", "l.i1"))


class Output:
    """A display handle that keeps what it shows."""

    def __init__(self) -> None:
        self.shown: list[Any] = []

    def update(self, shown: Any, **_options: Any) -> None:
        self.shown.append(shown)


@pytest.fixture
def outputs(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> list[Output]:
    """Of the text and of the chart, in this order."""
    monkeypatch.setenv("IBENCH_HOME", str(workspace.root))
    made: list[Output] = []

    def display(*_: Any, **__: Any) -> Output:
        made.append(Output())
        return made[-1]

    monkeypatch.setattr(live, "display", display)
    return made


def test_it_shows_a_run_until_that_has_ended(workspace: Workspace, outputs: list[Output]) -> None:
    writer = begin_run(workspace, RUNNING, sealed=("l.i0", "l.x"))

    async def notebook() -> None:
        showing = ib.live(every_s=0.5)
        text, chart = outputs
        assert showing.is_on and "refreshes itself every 0.5 s" in repr(showing)
        assert "system.live" in text.shown[0].markup and "running" in text.shown[0].markup
        assert "l.i1" in chart.shown[0][PLOTLY_MIME]["layout"]["meta"]["title"]
        end_run(writer, RUNNING)
        await asyncio.wait_for(showing._task, 60)  # type: ignore[arg-type]
        assert "no run is in progress" in text.shown[-1].markup and not showing.is_on and "ended" in repr(showing)

    apart(asyncio.run, notebook())


def test_it_can_be_stopped_and_without_a_run_does_not_begin(workspace: Workspace, outputs: list[Output]) -> None:
    assert not ib.live().is_on and "no run is in progress" in outputs[0].shown[0].markup
    writer = begin_run(workspace, RUNNING, sealed=("l.i0", "l.x"))

    async def notebook() -> None:
        assert not ib.live("other*").is_on
        showing = ib.live("dem*")
        showing.stop()
        await asyncio.wait([showing._task])  # type: ignore[list-item]
        assert not showing.is_on

    apart(asyncio.run, notebook())
    assert not apart(ib.live).is_on, "without a loop, as in plain Python, it is shown once"
    end_run(writer, RUNNING)
