"""What LineDB counts, once a second: what it has in common with others, and its own figures."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from ibench_lib.capture.collector import Collector
from ibench_lib.server_figures import FIGURES
from tests.fakes.linedb.driver import Connection


class LineFigures(Collector):
    """Its own figures have the source `linedb`."""

    name: ClassVar[str] = "line_figures"
    tables: ClassVar[tuple[str, ...]] = ("server_counters", "server_samples")

    def open(self) -> None:
        """Connects."""
        self._connection = Connection(self.scene.address, None, 5.0)

    def sample(self, tick: int, now_s: Callable[[], float]) -> None:
        """A row of each table."""
        found = {str(name or b"", "utf-8"): int(value or 0) for name, value in self._connection.fetch(b"FIGURES")}
        moment = {"tick": tick, "incarnation": self.scene.incarnation}
        columns = dict.fromkeys(figure.column for figure in FIGURES)
        columns |= {"uptime_s": found.pop("uptime_s"), "questions": found["statements"]}
        self.emit("server_samples", t_s=now_s(), **moment, **columns)
        for name, value in found.items():
            self.emit("server_counters", source="linedb", name=name, **moment, value=value, real_value=None)

    def close(self) -> None:
        """Disconnects."""
        self._connection.close()
