"""SHOW FULL PROCESSLIST, every 20 seconds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from ibench_lib.capture import secrets
from ibench_lib.capture.collector import CaptureTarget, Collector, Emit
from ibench_lib.families.mysql.connection import Link, partial_view

_INFO_CHARACTERS = 1000


class Processlist(Collector):
    """Every connection that we may see, without the collectors' own, that asks."""

    name: ClassVar[str] = "processlist"
    tables: ClassVar[tuple[str, ...]] = ("processlist",)
    every_s = 20

    def __init__(self, scene: CaptureTarget, emit: Emit) -> None:
        super().__init__(scene, emit)
        self._link = Link(scene.address, self._look_at_privileges)

    def sample(self, tick: int, now_s: Callable[[], float]) -> None:
        listed = self._link.ask("SHOW FULL PROCESSLIST")
        t_s, own = now_s(), self._link.id()
        for row in listed:
            if int(row["id"]) != own:
                self.emit("processlist", tick=tick, t_s=t_s, **_columns(row))

    def close(self) -> None:
        self._link.close()

    def _look_at_privileges(self, connection: Any) -> None:
        reason = partial_view(connection)
        if reason is not None:
            self.null_reasons["processlist"] = reason


def _columns(row: dict[str, Any]) -> dict[str, Any]:
    info = row["info"]
    if isinstance(info, bytes):
        info = info.decode(errors="replace")
    return {
        "id": int(row["id"]),
        "user": row["user"],
        "command": row["command"],
        "seconds": None if row["time"] is None else float(row["time"]),
        "state": row["state"],
        "info": None if info is None else secrets.statement(info)[:_INFO_CHARACTERS],
    }
