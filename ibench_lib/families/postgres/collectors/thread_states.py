"""What the connections of the benchmark's clients do, once a second: how many wait for each event, or work."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from ibench_lib.capture.collector import CaptureTarget, Collector, Emit
from ibench_lib.families.postgres.driver import Connection
from ibench_lib.families.postgres.watching import NOT_OURS, Link, catalogue_of

_QUERY = (
    "SELECT concat_ws(': ', wait_event_type, wait_event) AS state, count(*) FROM pg_stat_activity"
    f" WHERE datname = '{{database}}' AND state = 'active' AND {{process}} = 'client backend' AND {NOT_OURS}"
    " GROUP BY 1 ORDER BY 1"
)


class ThreadStates(Collector):
    """A state is `type: event` of what is waited for, such as `Lock: relation`; empty for a connection that works."""

    name: ClassVar[str] = "thread_states"
    tables: ClassVar[tuple[str, ...]] = ("thread_states",)

    def __init__(self, scene: CaptureTarget, emit: Emit) -> None:
        super().__init__(scene, emit)
        self._link = Link(scene, self._prepare)

    def sample(self, tick: int, now_s: Callable[[], float]) -> None:
        """How many connections wait for what, a row for each."""
        listed = self._link.rows("EXECUTE states")
        t_s = now_s()
        for state, connections in listed or [("", "0")]:
            self.emit("thread_states", tick=tick, t_s=t_s, state=state, connections=int(connections or 0))

    def _prepare(self, connection: Connection) -> None:
        query = _QUERY.format(database=self.scene.database, process=catalogue_of(connection).process)
        connection.query(f"PREPARE states AS {query}")

    def close(self) -> None:
        """End the connection."""
        self._link.close()
