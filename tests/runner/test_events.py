"""The log of events of an experiment."""

import json
from typing import Any

import pytest

from ibench_lib.errors import CellsFailed, IbenchError
from ibench_lib.paths import Workspace
from ibench_lib.runner.events import EventLog, event_log
from ibench_lib.runner.observer import Observer, ObserverList
from ibench_lib.runner.sweep import run_experiment
from ibench_lib.store.manifest import read_manifest
from tests.fakes.sweep import fake_run
from tests.runner.many import BROKEN, load

pytestmark = pytest.mark.usefixtures("fake_builds")


def test_events_name_no_path_of_this_machine(workspace: Workspace) -> None:
    cell = load(workspace).cells()[0]
    EventLog(workspace, "many").cell_failed(cell, IbenchError(f"no room in {workspace.sandboxes}"))
    (line,) = event_log(workspace, "many").read_text().splitlines()
    assert json.loads(line)["error"] == "no room in <workspace>/data/sandboxes"


def test_every_event_is_a_line_of_json(workspace: Workspace) -> None:
    observer: Any = ObserverList([Observer(), EventLog(workspace, "many")])
    with pytest.raises(CellsFailed):
        run_experiment(load(workspace, BROKEN), workspace, observer, run=fake_run)
    events = [json.loads(line) for line in event_log(workspace, "many").read_text().splitlines()]
    assert [event["event"] for event in events] == [
        "experiment_begins",
        *["cell_begins", "cell_ends", "cell_begins", "cell_failed"],
        *["cell_begins", "cell_ends", "cell_begins", "cell_ends", "cell_begins", "cell_failed"],
        "experiment_ends",
    ]
    assert (events[0]["cells"], events[0]["new"], events[-1]["outcome"]) == (5, 5, "failed")
    assert next(event["error"] for event in events if event["event"] == "cell_failed").endswith("it is broken")
    run_ids = [event["run_id"] for event in events if event["event"] == "cell_ends"]
    assert all(read_manifest(workspace.run_dir(run_id)).status == "complete" for run_id in run_ids)
