"""The SQL of PostgreSQL. What only other profiles than `standard` need is not here."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ibench_lib.workloads.tpcc import tables

if TYPE_CHECKING:  # clients import this, and have no use for what reads experiments
    from ibench_lib.workloads.tpcc.options import Options

NO_FOREIGN_KEY_CHECKS = None
"""There is no such setting: keys that are declared are checked."""

_TYPES = {"TINYINT": "SMALLINT", "DATETIME": "TIMESTAMP"}
_TYPE = re.compile("|".join(_TYPES))


def why_not(options: Options) -> str | None:
    """Why the options of an experiment do not apply to such servers; None if they do."""
    if options.profile != "standard":
        return f"profile: {options.profile}: it has no SQL for PostgreSQL: use standard"
    if options.foreign_keys == "declared":
        return "foreign_keys: declared: PostgreSQL checks what is declared: use none or checked"
    if options.charset is not None:
        return f"charset: {options.charset}: PostgreSQL's tables have none of their own: leave it out"
    if "engine" in options.model_fields_set:
        return f"engine: {options.engine}: PostgreSQL has no storage engines: leave it out"
    return None


def create(sets: int, *, engine: str = "", history_key: bool = False, charset: str | None = None) -> list[str]:
    """The statements that make all tables, empty and without secondary indexes."""
    definitions = {table: _TYPE.sub(lambda found: _TYPES[found[0]], text) for table, text in tables.DEFINITIONS.items()}
    if history_key:
        definitions["history"] += ", h_id BIGSERIAL PRIMARY KEY"
    return [
        f"CREATE TABLE {table}{end} ({definition})"
        for end in tables.suffixes(sets)
        for table, definition in definitions.items()
    ]


def index(end: str, *, engine: str = "", foreign_keys: bool, only_needed: bool = False) -> list[str]:
    """The statements that make the secondary indexes of a set, then its foreign keys: as many as `tables.index` has.

    The indexes of a table are one text, which is one transaction. An index's name is unique in its database.
    """
    added = [
        "; ".join(f"CREATE INDEX {name}{end} ON {table}{end} ({columns})" for name, columns in of_table)
        for table, of_table in tables.INDEXES.items()
        if not only_needed or table in tables.NEEDED
    ]
    return [*added, *tables.declare_keys(end)] if foreign_keys else added


def isolation(level: str) -> str:
    """The statement that sets the isolation of a session, such as read_committed."""
    return f"SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL {level.replace('_', ' ').upper()}"
