"""SHOW ENGINE INNODB STATUS, every 30 seconds."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import pymysql

from ibench_lib.capture import secrets
from ibench_lib.capture.collector import CaptureTarget, Collector, Emit, Unavailable
from ibench_lib.families.mysql.connection import Link, denied, said


class InnodbStatus(Collector):
    """The whole text, without statements that may hold a password."""

    name: ClassVar[str] = "innodb_status"
    tables: ClassVar[tuple[str, ...]] = ("innodb_status",)
    every_s = 30

    def __init__(self, scene: CaptureTarget, emit: Emit) -> None:
        super().__init__(scene, emit)
        self._link = Link(scene.address)

    def sample(self, tick: int, now_s: Callable[[], float]) -> None:
        try:
            (row,) = self._link.ask("SHOW ENGINE INNODB STATUS")
        except pymysql.err.MySQLError as error:
            if denied(error):
                raise Unavailable(f"access denied: SHOW ENGINE INNODB STATUS: {said(error)}") from error
            raise
        self.emit("innodb_status", tick=tick, t_s=now_s(), text=secrets.report(str(row["status"])))

    def close(self) -> None:
        self._link.close()
