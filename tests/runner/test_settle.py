"""How long a database is left to settle. What is done to a real server is in the workload's own tests."""

from __future__ import annotations

from typing import Any, cast

import pytest

from ibench_lib.client.mysql.connection import Connection
from ibench_lib.families.mysql.family import SETTLING
from ibench_lib.runner import settle as module
from ibench_lib.runner.settle import settle
from ibench_lib.servers.flavours.flavour import Settling


class Server:
    """Answers a connection's questions; `clock` is its time in seconds, and ten pages a second get clean."""

    def __init__(self, dirty: int) -> None:
        self.dirty, self.clock = dirty, 0.0
        self.sent: list[str] = []

    def query(self, statement: str) -> None:
        self.sent.append(statement)

    def text(self, query: str, column: int = 0) -> str:
        if "dirty" in query and "STATUS" in query:
            return str(max(0, self.dirty - round(10 * self.clock)))
        return "1000" if "STATUS" in query else "75"

    def sleep(self, seconds: float) -> None:
        self.clock += seconds


@pytest.mark.parametrize(
    ("dirty", "wait_s", "took_s", "action", "result"),
    [
        (110, None, 10, "wait for dirty pages", "10 of 1000 pages dirty"),
        (0, None, 0, "wait for dirty pages", "0 of 1000 pages dirty"),
        (0, 60.2, 60.2, "wait for 60.2 s", "0 of 1000 pages dirty"),
        (900, 60.0, 60, "wait for 60.0 s", "300 of 1000 pages dirty"),
    ],
)
def test_it_waits_for_clean_pages_or_for_a_time(
    dirty: int, wait_s: float | None, took_s: float, action: str, result: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = Server(dirty)
    monkeypatch.setattr(module.time, "sleep", server.sleep)
    actions = settle(cast(Connection, cast(Any, server)), SETTLING, ["pi1"], 600, None, wait_s)
    assert server.clock == pytest.approx(took_s, abs=0.5)
    assert [(done.action, done.result) for done in actions] == [("ANALYZE TABLE pi1", "done"), (action, result)]
    # What it changed to have pages flushed is as before.
    assert server.sent[-1] == "SET GLOBAL innodb_max_dirty_pages_pct_lwm = 75"


@pytest.mark.parametrize(("wait_s", "more"), [(None, []), (5.0, [("wait for 5.0 s", "done")])])
def test_a_server_that_does_not_say_what_is_dirty_has_statements_that_write_it(
    wait_s: float | None, more: list[tuple[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    server = Server(0)
    monkeypatch.setattr(module.time, "sleep", server.sleep)
    settling = Settling("VACUUM {table}", hastened=(), dirty=None, data=None, column=0, then=("CHECKPOINT",))
    actions = settle(cast(Connection, cast(Any, server)), settling, ["a", "b"], 600, None, wait_s)
    assert server.sent == ["VACUUM a", "VACUUM b", "CHECKPOINT"]
    assert [(done.action, done.result) for done in actions][3:] == more
    assert server.clock == (wait_s or 0)
