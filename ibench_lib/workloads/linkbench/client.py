"""What the client processes of LinkBench send: the load, the secondary index, and the operations of requesters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from ibench_lib.client.driver import Connection, statements_of
from ibench_lib.client.role import Insert, Loader, Role
from ibench_lib.client.spec import Spec
from ibench_lib.workloads.linkbench import statements
from ibench_lib.workloads.linkbench.population import graph_of, inserts, parts_of
from ibench_lib.workloads.linkbench.requester import LEDGER_SHOWN, Requester
from ibench_lib.workloads.linkbench.tables import LINK


class GraphLoader(Loader):
    """INSERTs of this process's part of the graph, all of whose links are shown."""

    def __init__(self, spec: Spec, connection: Connection) -> None:
        sql = statements_of(statements, connection.family)
        first = sql.before_load(spec.details["nodes"])
        if first is not None:
            connection.query(first)
        super().__init__(connection, (replace(insert, text=sql.of_load(insert.text)) for insert in _graph(spec)))

    def rows_by_table(self, rows: Mapping[str, int]) -> dict[str, int]:
        of_table = super().rows_by_table(rows)
        return {**of_table, LEDGER_SHOWN: of_table.get(LINK, 0)}


class Indexer(Role):
    """The secondary index of linktable."""

    def __init__(self, spec: Spec, connection: Connection) -> None:
        sql = statements_of(statements, connection.family)
        statement = sql.add_secondary(spec.details["tables"], spec.details["engine"])
        self._command = connection.command(statement.encode())

    def next_statement(self) -> bytes:
        return self._command


def _graph(spec: Spec) -> Iterator[Insert]:
    """The INSERTs of this process's part of the graph."""
    graph = graph_of(spec.details)
    for part in parts_of(graph, spec.client - 1, spec.details["processes"]):
        yield from inserts(spec.seed, graph, part)


def make_role(spec: Spec, connection: Connection) -> Role:
    """The role that `spec` (see `steps.spec`) asks for."""
    return {"loader": GraphLoader, "indexer": Indexer, "requester": Requester}[spec.role](spec, connection)
