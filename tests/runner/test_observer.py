"""An observer may leave out any event, and several observers get each event in turn."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from ibench_lib.cli.progress import ExperimentProgress
from ibench_lib.runner.events import EventLog
from ibench_lib.runner.observer import EVENTS, Observer, ObserverList


class Recording(Observer):
    """Keeps each event that it gets, and its arguments."""

    def __init__(self, name: str, seen: list[Any]) -> None:
        self.name, self.seen = name, seen

    def __getattribute__(self, name: str) -> Any:
        if name not in EVENTS:
            return super().__getattribute__(name)
        return lambda *arguments, **named: self.seen.append((self.name, name, arguments, named))


def test_there_are_events_of_the_experiment_its_cells_and_their_steps() -> None:
    assert {"experiment_begins", "experiment_ends", "cell_begins", "cell_lost", "step_progress", "stopping"} < {*EVENTS}


@pytest.mark.parametrize("event", EVENTS)
def test_an_event_does_nothing_unless_it_is_overridden(event: str) -> None:
    getattr(Observer(), event)(*arguments_of(event))


@pytest.mark.parametrize("event", EVENTS)
def test_both_hand_each_event_on_in_order(event: str) -> None:
    seen: list[Any] = []
    arguments = arguments_of(event)
    getattr(ObserverList([Recording("one", seen), Recording("two", seen)]), event)(*arguments)
    assert seen == [("one", event, arguments, {}), ("two", event, arguments, {})]


def test_arguments_may_be_named() -> None:
    seen: list[Any] = []
    ObserverList([Recording("one", seen)]).experiment_ends(name="demo", outcome="failed")
    assert seen == [("one", "experiment_ends", (), {"name": "demo", "outcome": "failed"})]


def test_an_observer_without_such_an_event_is_an_error() -> None:
    with pytest.raises(AttributeError):
        ObserverList([Observer()]).no_such_event()  # type: ignore[attr-defined]


def test_the_event_log_leaves_out_no_event() -> None:
    """A new event has to be written to the log; a progress display may leave some out."""
    assert {*EVENTS} <= {*vars(EventLog)}
    assert {*EVENTS} - {*vars(ExperimentProgress)} == {"experiment_ends"}


def arguments_of(event: str) -> tuple[str, ...]:
    return tuple(f"the {name}" for name in list(inspect.signature(getattr(Observer, event)).parameters)[1:])
