"""A lake narrowed to the files of some runs.

A join with the chosen runs leaves out the rows of all others, but opens each of their files to find that out: in a lake
of a thousand runs that takes most of the time. So the views read the files that a variable lists, if it is set, and a
narrowed connection sets it to the files of its runs.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import duckdb

from ibench_lib.errors import QueryError

_TABLES = {"narrow_listed": ("variable", "run_id", "path"), "narrow_indexed": ("variable", "in_table", "columns")}

# Of another run, the newest one: it is the least likely to be removed meanwhile.
_FILES = """
    SELECT variable, coalesce(list(path ORDER BY path) FILTER (chosen.run_id IS NOT NULL), [max(path)])
    FROM narrowable n LEFT JOIN (SELECT DISTINCT unnest($runs::VARCHAR[]) AS run_id) chosen ON chosen.run_id = n.run_id
    GROUP BY variable
"""

Files = Sequence[tuple[str, list[str]]]
"""The variables of a lake's views, each with the files that it is to list."""


@dataclass
class NarrowableViews:
    """The variables of the views of one lake, and the files that each stands for: listed here, or in the index."""

    listed: list[tuple[str, str, str]] = field(default_factory=list)
    indexed: list[tuple[str, str, str]] = field(default_factory=list)

    def of_listed(self, table: str, paths: Mapping[str, str], text: str) -> str:
        """SQL of the list of files to read of a table; `paths`: file -> what the list calls it; `text`: all of them."""
        variable = f"narrow_{table}_{len(self.listed)}"
        self.listed += [(variable, file.rsplit("/", 2)[-2], path) for file, path in paths.items()]
        return f"coalesce(getvariable('{variable}'), {text})"

    def of_indexed(self, table: str, columns: str, text: str) -> str:
        """The same for files that the index knows, of a table and with some columns."""
        variable = f"narrow_indexed_{table}_{len(self.indexed)}"
        self.indexed.append((variable, table, columns))
        return f"coalesce(getvariable('{variable}'), {text})"

    def create(self, connection: duckdb.DuckDBPyConnection, files: str | None) -> None:
        """The view `narrowable`: variable, run_id and path. `files` is SQL of the index's."""
        for (name, columns), rows in zip(_TABLES.items(), (self.listed, self.indexed), strict=True):
            connection.execute(f"CREATE TABLE {name} ({', '.join(f'{column} VARCHAR' for column in columns)})")
            if rows:  # as lists: Arrow would import pandas to see whether they are a frame
                values = ", ".join(f"unnest(${number}::VARCHAR[])" for number, _ in enumerate(columns, start=1))
                connection.execute(f"INSERT INTO {name} SELECT {values}", [list(c) for c in zip(*rows, strict=True)])
        text = "FROM narrow_listed"
        if files is not None:
            text += (
                f" UNION ALL SELECT variable, run_id, path FROM ({files}) JOIN narrow_indexed USING (in_table, columns)"
            )
        connection.execute(f"CREATE VIEW narrowable AS {text}")


def narrowed(lake: duckdb.DuckDBPyConnection, runs: Collection[str]) -> duckdb.DuckDBPyConnection:
    """Another connection to a lake, whose views read the files of some runs only; the rows of live runs stay.

    What is asked about these runs has the same answers as on `lake`, and so has what needs no file. Anything else has
    not: a list of files cannot be empty, so there is one of another run where the chosen runs have none.

    Raises
    ------
    QueryError : the lake is closed.
    """
    return reading(lake, files_of(lake, runs))


def files_of(lake: duckdb.DuckDBPyConnection, runs: Collection[str]) -> Files:
    """The files of some runs, for `reading`."""
    try:
        return lake.cursor().execute(_FILES, {"runs": list(runs)}).fetchall()
    except duckdb.Error as error:
        raise QueryError(f"the files of {len(runs)} runs cannot be listed: {error}") from error


def reading(lake: duckdb.DuckDBPyConnection, files: Files) -> duckdb.DuckDBPyConnection:
    """Another connection to a lake, whose views read some files only (`narrowed`)."""
    connection = lake.cursor()
    read_only(connection, files)
    return connection


def read_only(connection: duckdb.DuckDBPyConnection, files: Files) -> None:
    """Let the views of a connection read these files, and no others, from now on."""
    for variable, paths in files:
        connection.execute(f"SET VARIABLE {variable} = $1::VARCHAR[]", [paths])
