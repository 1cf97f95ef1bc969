"""The SQL of MySQL and the servers that descend from it."""

from __future__ import annotations

from ibench_lib.workloads.tpcc import tables

create = tables.create

NO_AUTOCOMMIT = "SET SESSION autocommit=0"
NO_FOREIGN_KEY_CHECKS = "SET SESSION foreign_key_checks=0"


def isolation(level: str) -> str:
    """The statement that sets the isolation of a session, such as read_committed."""
    return f"SET SESSION TRANSACTION ISOLATION LEVEL {level.replace('_', ' ').upper()}"
