"""Stands for a connection of which a role wants its commands and nothing else."""

from __future__ import annotations

from collections.abc import Sequence

from ibench_lib.client.mysql.binary import PreparedRows
from ibench_lib.client.mysql.connection import Connection


class Offline:
    """Makes commands as MySQL's driver does, and has no server."""

    family = Connection.family
    rollback = Connection.rollback
    command = staticmethod(Connection.command)

    def prepared_rows(self, insert: str, rows: int, integers: int, strings: Sequence[bytes]) -> PreparedRows:
        """An INSERT that was prepared as the statement 0."""
        return PreparedRows(b"\x17" + bytes(4) + b"\0\x01\0\0\0", rows, integers, strings)
