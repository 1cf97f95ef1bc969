"""A lake narrowed to the files of some runs.

A join with the chosen runs leaves out the rows of all others, but opens each of their files to find that out: in a lake
of a thousand runs that takes most of the time. So the views read the files that a variable lists, if it is set, and a
narrowed connection sets it to the files of its runs.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

import duckdb
import pyarrow as pa

from ibench_lib.lake.index import quoted

_LISTED = pa.schema([(name, pa.string()) for name in ("variable", "run_id", "path")])
_INDEXED = pa.schema([(name, pa.string()) for name in ("variable", "in_table", "columns")])


@dataclass
class Narrowable:
    """The variables of the views of one lake, and the files that each stands for: listed here, or in the index."""

    listed: list[dict[str, str]] = field(default_factory=list)
    indexed: list[dict[str, str]] = field(default_factory=list)

    def of_listed(self, table: str, paths: Mapping[str, str], text: str) -> str:
        """SQL of the list of files to read of a table; `paths`: file -> what the list calls it; `text`: all of them."""
        variable = f"narrow_{table}_{len(self.listed)}"
        runs = ((file.rsplit("/", 2)[-2], path) for file, path in paths.items())
        self.listed += [{"variable": variable, "run_id": run_id, "path": path} for run_id, path in runs]
        return f"coalesce(getvariable('{variable}'), {text})"

    def of_indexed(self, table: str, columns: str, text: str) -> str:
        """The same for files that the index knows, of a table and with some columns."""
        variable = f"narrow_indexed_{table}_{len(self.indexed)}"
        self.indexed.append({"variable": variable, "in_table": table, "columns": columns})
        return f"coalesce(getvariable('{variable}'), {text})"

    def create(self, connection: duckdb.DuckDBPyConnection, files: str | None) -> None:
        """The view `narrowable`: variable, run_id and path. `files` is SQL of the index's."""
        for name, rows, schema in (("narrow_listed", self.listed, _LISTED), ("narrow_indexed", self.indexed, _INDEXED)):
            connection.register("incoming", pa.Table.from_pylist(rows, schema=schema))
            connection.execute(f"CREATE TABLE {name} AS FROM incoming")
            connection.unregister("incoming")
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
    """
    connection = lake.cursor()
    found = connection.execute(
        "SELECT variable, coalesce(list(path ORDER BY path) FILTER (list_contains($runs, run_id)), [min(path)])"
        " FROM narrowable GROUP BY variable",
        {"runs": list(runs)},
    ).fetchall()
    for variable, paths in found:
        connection.execute(f"SET VARIABLE {variable} = [{', '.join(map(quoted, paths))}]")
    return connection
