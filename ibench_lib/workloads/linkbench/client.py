"""What the client processes of LinkBench send: the load, the secondary index, and the operations of requesters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from ibench_lib.client.mysql.connection import Connection
from ibench_lib.client.mysql.wire import COM_QUERY
from ibench_lib.client.role import Role
from ibench_lib.client.spec import Spec
from ibench_lib.workloads.linkbench.population import Graph, Insert, inserts, parts_of
from ibench_lib.workloads.linkbench.requester import LEDGER_SHOWN, Requester
from ibench_lib.workloads.linkbench.tables import LINK, add_secondary


class Loader(Role):
    """INSERTs of this process's part of the graph."""

    def __init__(self, spec: Spec, _connection: Connection) -> None:
        self._sent: list[tuple[str, int]] = []
        self._inserts = self._all(spec)

    def next_statement(self) -> bytes:
        made = next(self._inserts)
        self._sent.append((made.table, made.rows))
        return made.command

    def rows_by_table(self, rows: Mapping[str, int]) -> dict[str, int]:
        """Statements are acknowledged in the order in which they were made."""
        left, found = rows["insert"], Counter[str]()
        for table, count in self._sent:
            taken = min(count, left)
            found[table] += taken
            left -= taken
        found[LEDGER_SHOWN] = found[LINK]
        return dict(found)

    @staticmethod
    def _all(spec: Spec) -> Iterator[Insert]:
        details = spec.details
        graph = Graph(details["nodes"], details["tail"])
        for part in parts_of(graph, spec.client - 1, details["processes"]):
            yield from inserts(spec.seed, graph, part)


class Indexer(Role):
    """The secondary index of linktable."""

    def __init__(self, spec: Spec, _connection: Connection) -> None:
        self._statement = add_secondary(spec.details["tables"])

    def next_statement(self) -> bytes:
        return COM_QUERY + self._statement.encode()


def make_role(spec: Spec, connection: Connection) -> Role:
    """The role that `spec` (see `steps.spec`) asks for."""
    roles: dict[str, type[Role]] = {"loader": Loader, "indexer": Indexer, "requester": Requester}
    return roles[spec.role](spec, connection)
