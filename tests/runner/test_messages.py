"""Odd messages of a client process: each ends its step as failed, with one line, and nothing of it is stored."""

import copy
from collections.abc import Iterator
from typing import Any

import pytest

from ibench_lib.errors import WorkerFailed
from ibench_lib.runner.messages import problem_of
from ibench_lib.runner.silence import Watch
from ibench_lib.runner.step import _Control
from ibench_lib.runner.worker_state import WorkerState
from ibench_lib.schema import TABLES

NUMBERS = {"ops": 1, "rows": 1, "errors": 0, "retries": 0, "unknown": 0}
ROW = {
    "operation": "insert",
    "second": 0,
    **NUMBERS,
    "service_sum_us": 5.0,
    "service_max_us": None,
    "service_bins": [7],
    "service_counts": [1],
    "cpu_user_s": 0,
    "cpu_system_s": 0.1,
}
PROBE = {"name": "count", "sent_ns": 5, "seconds": 0.1, "result": None}
TOTALS = {
    "status": "complete",
    "error": None,
    "end_ns": 9,
    **NUMBERS,
    "cpu_user_s": 0.1,
    "cpu_system_s": 0.1,
    "client_lag_p99_us": None,
    "service_p50_us": 2.0,
    "unrecorded_s": 0.0,
    "rows_by_table": {"t": -1},
    "outcomes": [[0, "insert", "commit", 3]],
}
RIGHT: list[dict[str, Any]] = [
    {"kind": "ready"},
    {"kind": "made"},
    {"kind": "probed", "probes": [PROBE]},
    {"kind": "second", "row": ROW},
    {"kind": "done", "totals": TOTALS, "probes": [PROBE]},
    {"kind": "failed", "error": "it was so"},
]
ODD: list[Any] = [{}, [], [None], {"a": 1}, -1, 2**70, float("nan"), float("inf"), True, "x"]
OF_TIMES = ("_us", "_user_s", "_system_s", "unrecorded_s")
TIMES = {"seconds", *(name for name in (*ROW, *TOTALS) if name.endswith(OF_TIMES))}


def damaged(value: Any, name: str = "") -> Iterator[Any]:
    """Every version of a message with one part left out, added or replaced by something odd."""
    if isinstance(value, dict):
        for key in value:
            if key not in ("service_max_us", "cpu_user_s", "cpu_system_s", "t") or name == "totals":
                yield {other: value[other] for other in value if other != key}
            for part in damaged(value[key], key):
                yield {**value, key: part}
        if name not in ("totals", "rows_by_table"):
            yield {**value, "more": 1}
    elif isinstance(value, list):
        for number, part in enumerate(value):
            for odd in damaged(part, name):
                yield [*value[:number], odd, *value[number + 1 :]]
    if name:
        for odd in ODD:
            same_kind = type(odd) is type(value) and not isinstance(odd, int | float)
            if not same_kind and not (name == "error" and isinstance(odd, str)) and not may_be(name, odd):
                yield odd


def may_be(name: str, odd: Any) -> bool:
    """What is odd elsewhere and right in this place."""
    return type(odd) is int and ((odd == -1 and name in ("result", "t")) or name in TIMES)


class Client:
    """The runner's side of a worker that has written one message."""

    take = WorkerState.take

    def __init__(self, message: dict[str, Any]) -> None:
        self.name, self.process, self.number, self.stage = "client 1", self, 0, "starting"
        self.operations: dict[str, Any] = {"insert": None}
        self.latest: dict[str, Any] = {}
        self.reported, self.latest_answer = 0, -1
        self.answered: set[int] = set()
        self.counted: dict[str, Any] = {}
        self.probes: list[Any] = []
        self.totals: dict[str, Any] | None = None
        self.message = message


def heard(*messages: dict[str, Any]) -> tuple[Client, list[Any]]:
    """A worker that said this, and the seconds that were stored."""
    stored: list[Any] = []
    control = _Control([], lambda: False, lambda _state, row: stored.append(row), lambda *_: None, Watch(lambda: None))
    client = Client(messages[0])
    for message in messages:
        control._take_in(client, message)  # type: ignore[arg-type]
    control._server_alive = lambda: True
    if client.stage == "failed":
        with pytest.raises(WorkerFailed) as caught:
            control._check(client, False)  # type: ignore[arg-type]
        assert "\n" not in caught.value.what and len(caught.value.what) < 400
    control.close()
    return client, stored


@pytest.mark.parametrize("message", RIGHT, ids=lambda message: message["kind"])
def test_what_workers_say_is_taken_as_it_is(message: dict[str, Any]) -> None:
    assert problem_of(copy.deepcopy(message), {"insert": None}) is None


def test_every_column_that_a_worker_gives_is_checked() -> None:
    columns = set(TABLES["ops"].arrow_schema.names) - {"run_id", "step_id", "step", "client", "worker"}
    for column in columns:
        assert problem_of({"kind": "second", "row": {**ROW, column: {}}}, {"insert": None}) is not None
    for column in ("run_id", "step", "worker"):
        assert problem_of({"kind": "second", "row": {**ROW, column: 1}}, {"insert": None}) is not None


def test_a_message_with_missing_or_odd_parts_fails_its_client_and_is_not_stored(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("ibench_lib.runner.step.time.sleep", lambda _: None)
    tried = [odd for message in RIGHT for odd in damaged(message) if "kind" in odd and isinstance(odd["kind"], str)]
    assert len(tried) > 300
    for message in tried:
        client, stored = heard(message)
        assert client.stage == "failed" and client.totals is not None, message
        assert stored == [] and client.counted == {} and client.probes == [], message
        assert "it sent a message that is odd" in client.totals["error"], message


def test_a_failure_stays_one_whatever_comes_later(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ibench_lib.runner.step.time.sleep", lambda _: None)
    client, stored = heard({"kind": "second", "row": {}}, RIGHT[3], RIGHT[4])
    assert client.stage == "failed" and client.totals is not None and "row" in client.totals["error"]
    assert stored == [ROW], "an honest second still counts"


def test_an_unknown_operation_is_odd() -> None:
    assert "no operation 'other'" in (problem_of({"kind": "second", "row": {**ROW, "operation": "other"}}, {}) or "")


OF_A_PROGRAM = {
    "ops_from": "counts",
    "limits": [[0.5, "a thread used 35% of a core"]],
    "warnings": ["w"],
    "null_reasons": {"ops.rows": "r"},
}


def test_what_a_driven_program_adds_to_its_totals_is_checked_too() -> None:
    totals = TOTALS | OF_A_PROGRAM
    assert problem_of({"kind": "done", "totals": totals, "probes": []}, {}) is None
    for name in OF_A_PROGRAM:
        for odd in (1, "x", [[1]], [["a", "b"]], [[-1.0, "x"]], [[float("nan"), "x"]], [[0.5, 1]], {"a": 1}):
            if (name, odd) != ("ops_from", "x"):
                message = {"kind": "done", "totals": totals | {name: odd}, "probes": []}
                assert problem_of(message, {}) is not None, (name, odd)
