"""What is counted of a client while a step runs."""

from types import SimpleNamespace
from typing import Any

from ibench_lib.runner.worker_state import WorkerState


def state(connections: int = 3) -> WorkerState:
    operations: Any = {"i": SimpleNamespace(name="insert", counts="rows")}
    worker: Any = SimpleNamespace(connections=connections, operations=["i"])
    process: Any = SimpleNamespace(name="client 1")
    return WorkerState(1, worker, process, process, operations)


def row(second: int, **counts: int | None) -> dict[str, Any]:
    nothing = {"ops": 0, "rows": 0, "errors": 0, "retries": 0, "unknown": 0}
    return {"operation": "insert", "second": second, **nothing, **counts}


def test_seconds_add_up_and_the_last_answer_is_known() -> None:
    client = state()
    assert (client.latest_answer, client.done) == (-1, 0)
    for second in (row(0, ops=2, rows=20), row(1), row(2, ops=1, rows=10)):
        client.take(second)
    assert (client.answered, client.latest_answer, client.reported, client.done) == ({0, 2}, 2, 2, 30)
    assert client.latest["insert"]["ops"] == 1
    assert client.sums() == {"ops": 3, "rows": 30, "errors": 0, "retries": 0, "unknown": 3}, "what was in flight"


def test_a_count_that_one_second_does_not_know_is_not_known() -> None:
    client = state()
    client.take(row(0, ops=2, rows=None))
    client.take(row(1, ops=2, rows=3, unknown=None))
    assert client.sums() | {"errors": 0} == {"ops": 4, "rows": None, "errors": 0, "retries": 0, "unknown": None}
