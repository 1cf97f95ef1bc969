"""The views that turn samples into rates: `server_samples` becomes `server_seconds`, and so on, from `schema.py`."""

from __future__ import annotations

from ibench_lib.schema import TABLES, Table

_SAMPLES, _SECONDS = "_samples", "_seconds"

_COMMENT = """\
-- The rates of {table}.
-- A row is the interval of `seconds` that ends at its sample: `<column>_per_s` is the growth of a cumulative column per
-- second (of CPU time: CPUs, 2.0 is two of them busy); the other columns are as sampled. A rate is NULL in a run's
-- first sample, next to a sample without a value,{restart} and where the column went down.
"""


def sample_views() -> dict[str, str]:
    """SQL of each view by its name, for every table of samples with columns that count up."""
    return {
        table.name.removesuffix(_SAMPLES) + _SECONDS: _rates(table)
        for table in TABLES.values()
        if table.name.endswith(_SAMPLES) and any(column.counts_up for column in table.columns)
    }


def _rates(table: Table) -> str:
    counters = [column.name for column in table.columns if column.counts_up]
    sampled = ", ".join(column.name for column in table.columns if not column.counts_up)
    series = ", ".join(name for name in table.key if name not in ("tick", "t_s"))
    same, restart = "true", ""
    if table.restarts:
        same = f"{table.restarts} IS NOT DISTINCT FROM lag({table.restarts}) OVER samples"
        restart = f" where {table.restarts} changes,"
    growth = ",\n        ".join(f"{name} - lag({name}) OVER samples AS {name}" for name in counters)
    rates = ",\n    ".join(
        f"CASE WHEN same AND {name} >= 0 THEN {name} / seconds END AS {name}_per_s" for name in counters
    )
    return _COMMENT.format(table=table.name, restart=restart) + (
        "WITH grown AS (\n"
        f"    SELECT {sampled},\n"
        f"        nullif(t_s - lag(t_s) OVER samples, 0) AS seconds, {same} AS same,\n"
        f"        {growth}\n"
        f"    FROM {table.name} WINDOW samples AS (PARTITION BY {series} ORDER BY t_s)\n"
        ")\n"
        f"SELECT {sampled}, seconds,\n"
        f"    {rates}\n"
        "FROM grown\n"
    )
