"""The SQL of MySQL and the servers that descend from it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ibench_lib.workloads.tpcc import tables

if TYPE_CHECKING:  # clients import this, and have no use for what reads experiments
    from ibench_lib.workloads.tpcc.options import Options

create, index = tables.create, tables.index

NO_AUTOCOMMIT = "SET SESSION autocommit=0"
NO_FOREIGN_KEY_CHECKS = "SET SESSION foreign_key_checks=0"


def why_not(options: Options) -> str | None:
    """Why the options of an experiment do not apply to such servers; None if they do."""
    return None


def isolation(level: str) -> str:
    """The statement that sets the isolation of a session, such as read_committed."""
    return f"SET SESSION TRANSACTION ISOLATION LEVEL {level.replace('_', ' ').upper()}"
