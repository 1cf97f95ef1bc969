"""The driver of a family of servers that no workload has SQL for."""

from __future__ import annotations

from typing import Any

from tests.fakes.linedb import driver


def connect(*arguments: Any) -> driver.Connection:
    """A connection to the fake server that calls its family by another name."""
    connection = driver.connect(*arguments)
    connection.family = "unheard"
    return connection
