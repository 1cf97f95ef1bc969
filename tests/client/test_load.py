from typing import Any

import pytest

from ibench_lib.client.driver import DEADLOCK, LOCK_TIMEOUT, ConnectionLost, StatementError
from ibench_lib.client.load import Load
from ibench_lib.client.recorder import SecondRecorder
from ibench_lib.client.role import Role
from tests.fakes.virtual import VirtualTime


class ScriptedConnection:
    """Stands for a connection: answers from a script of seconds and errors, on a clock of its own, then at once."""

    def __init__(self, *script: float | Exception) -> None:
        self.script = list(script)
        self.sent = self.asked_ns = 0
        self.clock = VirtualTime(1_000_000_000)

    def execute(self, _statement: bytes) -> int:
        self.sent += 1
        action = self.script.pop(0) if self.script else 0.0
        if isinstance(action, Exception):
            raise action
        self.clock.sleep(action)
        return 1

    def ask(self, seconds: float) -> None:
        """A statement of the role's own, as `Connection.scalar` counts it."""
        self.clock.sleep(seconds)
        self.asked_ns += round(seconds * 1e9)


def deadlock() -> StatementError:
    return StatementError(1213, "deadlock", DEADLOCK)


class Statement(Role):
    def next_statement(self) -> bytes:
        return b"SELECT 1"


class Asking(Statement):
    """Asks the server for 50 ms before each statement."""

    def __init__(self, connection: ScriptedConnection) -> None:
        self._connection = connection

    def next_statement(self) -> bytes:
        self._connection.ask(0.05)
        return super().next_statement()


def run(
    connection: ScriptedConnection,
    statements: int | None = None,
    seconds: float | None = None,
    tick_s: float | None = None,
    role: Role | None = None,
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    rows: list[dict[str, Any]] = []
    start_ns = connection.clock.now_ns + 5_000_000
    load = Load(
        role=role or Statement(),
        connection=connection,  # type: ignore[arg-type]
        recorder=SecondRecorder(start_ns, paced=tick_s is not None, emit=rows.append, operations=("query",)),
        start_ns=start_ns,
        statements=statements,
        end_ns=None if seconds is None else start_ns + round(seconds * 1e9),
        tick_ns=None if tick_s is None else round(tick_s * 1e9),
        coupling=None,
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ibench_lib.client.load.time", connection.clock)
        return load.run(), rows


def test_a_count_ends_the_load_exactly() -> None:
    totals, rows = run(ScriptedConnection(), statements=500)
    assert totals["status"] == "complete"
    assert totals["ops"] == totals["rows"] == sum(row["ops"] for row in rows) == 500


class Pausing(Statement):
    """Pauses for 2 s before each statement."""

    pauses = True

    def next_statement(self) -> bytes:
        self.pause_ns = 2_000_000_000
        return super().next_statement()


def test_a_pause_is_part_of_no_response_and_lasts_to_the_end_of_the_step() -> None:
    connection = ScriptedConnection(0.5, 0.5)
    totals, rows = run(connection, seconds=6.0, role=Pausing())
    # Sent at 2.0 and 4.5; the next would be at 7.0.
    assert totals["ops"] == 2 and sum(row["service_sum_us"] for row in rows) == 1e6
    assert [row["second"] for row in rows if row["ops"]] == [2, 5]
    assert connection.clock.now_ns == 1_005_000_000 + 6_000_000_000


@pytest.mark.measurement("M1")
def test_a_stalled_paced_load_catches_up_and_shows_the_stall_in_intended_time() -> None:
    # 100/s for 1.5 s; the 20th statement takes 0.5 s: about 50 come late and are caught up, none is forgiven.
    totals, rows = run(ScriptedConnection(*[0.0] * 19, 0.5), seconds=1.5, tick_s=0.01)
    assert totals["ops"] == 150
    assert max(row["service_max_us"] for row in rows) >= 500_000
    late = sum(
        count
        for row in rows
        for number, count in zip(row["intended_bins"], row["intended_counts"], strict=True)
        if number >= 64 * 16  # 65 ms and more
    )
    served_late = sum(
        count
        for row in rows
        for number, count in zip(row["service_bins"], row["service_counts"], strict=True)
        if number >= 64 * 16
    )
    assert served_late == 1
    assert late == 50 - 6, "all that were due in the half second but for its last 65 ms"


@pytest.mark.fault("F12")
def test_deadlocks_are_repeated_and_counted() -> None:
    connection = ScriptedConnection(deadlock(), StatementError(1205, "lock wait", LOCK_TIMEOUT))
    totals, rows = run(connection, statements=3)
    assert (totals["ops"], totals["retries"], totals["errors"]) == (3, 2, 0)
    for column, count in {"retries": 2, "deadlocks": 1, "lock_timeouts": 1, "changed": 0}.items():
        assert sum(row[column] for row in rows) == count, column
    assert connection.sent == 5


@pytest.mark.fault("F12")
def test_repeats_are_bounded() -> None:
    connection = ScriptedConnection(*[deadlock()] * (Role.max_retries + 1))
    totals, _ = run(connection, statements=3)
    assert totals["status"] == "failed" and "1213" in totals["error"]
    assert (totals["ops"], totals["errors"], totals["retries"]) == (0, 1, Role.max_retries)


def test_another_error_ends_the_load_and_is_counted_in_its_second() -> None:
    totals, rows = run(ScriptedConnection(0.0, StatementError(1054, "Unknown column")), statements=3)
    assert totals["status"] == "failed" and "Unknown column" in totals["error"]
    assert (totals["ops"], totals["errors"]) == (1, 1)
    assert rows[-1]["errors"] == 1


@pytest.mark.fault("F9")
def test_a_lost_connection_is_unknown_and_never_repeated() -> None:
    connection = ScriptedConnection(0.0, 0.0, ConnectionLost("gone"))
    totals, _ = run(connection, statements=10)
    assert (totals["ops"], totals["unknown"], totals["errors"]) == (2, 1, 0)
    assert totals["status"] == "failed"
    assert connection.sent == 3


def test_what_a_role_asks_itself_is_in_no_histogram_and_is_recorded_as_such() -> None:
    connection = ScriptedConnection(*[0.1] * 6)
    connection.ask(3.0)  # before the load: it is not part of the step
    totals, rows = run(connection, statements=6, role=Asking(connection))
    assert totals["unrecorded_s"] == pytest.approx(0.3)
    service_s = sum(row["service_sum_us"] for row in rows) / 1e6
    assert service_s == pytest.approx(0.6), "the statements of the load alone"
    start_ns = connection.clock.now_ns - round((service_s + totals["unrecorded_s"]) * 1e9)
    assert totals["end_ns"] - start_ns == pytest.approx((service_s + totals["unrecorded_s"]) * 1e9)
    assert run(ScriptedConnection(0.1), statements=2)[0]["unrecorded_s"] == 0
