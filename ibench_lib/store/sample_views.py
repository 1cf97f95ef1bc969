"""The SQL that turns samples into rates: `server_samples` becomes `server_seconds`, and so on, from `schema.py`."""

from __future__ import annotations

from ibench_lib.schema import TABLES, Table

_SAMPLES, _SECONDS, _SECONDS_OF = "_samples", "_seconds", "_seconds_of"

_COMMENT = """\
-- The rates of {table}.
-- A row is the interval of `seconds` that ends at its sample: `<column>_per_s` is the growth of a cumulative column per
-- second (of CPU time: CPUs, 2.0 is two of them busy); the other columns are as sampled. A rate is NULL in a run's
-- first sample, next to a sample without a value,{restart} and where the column went down.
"""

_OF_SOME = """\
-- `{view}` of some runs only. A view works out the rates of all runs that are read before it is joined with a few.
--
-- $steps: name of a table with `run_id`; it may be empty, and then no sample is read
"""


def sample_views() -> dict[str, str]:
    """SQL of each view by its name, for every table of samples with columns that count up."""
    return {
        _name(table, _SECONDS): _COMMENT.format(table=table.name, restart=_restart(table)) + _rates(table, table.name)
        for table in _tables()
    }


def sample_macros() -> dict[str, str]:
    """SQL of the macro for each of these views by its name."""
    return {
        _name(table, _SECONDS_OF): _OF_SOME.format(view=_name(table, _SECONDS))
        + _rates(table, f"{table.name} SEMI JOIN query_table($steps) USING (run_id)")
        for table in _tables()
    }


def _tables() -> list[Table]:
    return [
        table
        for table in TABLES.values()
        if table.name.endswith(_SAMPLES) and any(column.counts_up for column in table.columns)
    ]


def _name(table: Table, end: str) -> str:
    return table.name.removesuffix(_SAMPLES) + end


def _restart(table: Table) -> str:
    return f" where {table.restarts} changes," if table.restarts else ""


def _rates(table: Table, samples: str) -> str:
    counters = [column.name for column in table.columns if column.counts_up]
    sampled = ", ".join(column.name for column in table.columns if not column.counts_up)
    series = ", ".join(name for name in table.key if name not in ("tick", "t_s"))
    same = f"{table.restarts} IS NOT DISTINCT FROM lag({table.restarts}) OVER samples" if table.restarts else "true"
    growth = ",\n        ".join(f"{name} - lag({name}) OVER samples AS {name}" for name in counters)
    rates = ",\n    ".join(
        f"CASE WHEN same AND {name} >= 0 THEN {name} / seconds END AS {name}_per_s" for name in counters
    )
    return (
        "WITH grown AS (\n"
        f"    SELECT {sampled},\n"
        f"        nullif(t_s - lag(t_s) OVER samples, 0) AS seconds, {same} AS same,\n"
        f"        {growth}\n"
        f"    FROM {samples} WINDOW samples AS (PARTITION BY {series} ORDER BY t_s)\n"
        ")\n"
        f"SELECT {sampled}, seconds,\n"
        f"    {rates}\n"
        "FROM grown\n"
    )
