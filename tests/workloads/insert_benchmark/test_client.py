"""What single roles ask the server, apart from their statements."""

import re

import pytest

from ibench_lib.client.driver import StatementError
from ibench_lib.client.shared import SharedNumber
from ibench_lib.workloads.insert_benchmark.client import make_role
from tests.fakes.offline import Offline
from tests.workloads.insert_benchmark.test_rows import rows_of, spec


class Table(Offline):
    """Stands for a connection: answers queries for a table's smallest and largest key and its last time."""

    def __init__(self, low: int | None = None, high: int | None = None, last_s: int | None = None) -> None:
        self.low, self.high, self.last_s = low, high, last_s
        self.asked: list[str] = []

    def scalar(self, query: str) -> int | None:
        self.asked.append(query)
        if "dateandtime" in query:
            return self.last_s
        return self.low if "min(" in query else self.high


def test_a_point_querier_takes_the_smallest_key_from_its_deleter_and_reads_only_the_largest() -> None:
    shared, table, deleted = SharedNumber(), Table(None, 1_100), Table(700, None)
    querier = make_role(spec(role="querier", query="point"), table)  # type: ignore[arg-type]
    deleter = make_role(spec(role="deleter"), deleted)  # type: ignore[arg-type]
    querier.shared = deleter.shared = shared
    assert querier.probe() == [] and [probe.name for probe in deleter.probe()] == ["get_min"]

    def ids() -> list[int]:
        texts = [querier.next_statement().decode() for _ in range(100)]
        return [int(number) for text in texts for number in re.findall(r"\d+", text.split("IN")[1])]

    found = ids()
    assert len(found) == 1_000
    assert 700 <= min(found) < 710 and 1_090 < max(found) < 1_100
    for _ in range(5):
        deleter.next_statement()  # each deletes 50 rows: the fifth begins at 900
    assert 900 <= min(ids()) < 905
    assert set(table.asked) == {"SELECT max(transactionid) FROM pi1"} and len(table.asked) == 2
    deleted.low = 800
    for _ in range(996):
        deleter.next_statement()
    assert [probe.name for probe in deleter.late_probes] == ["min_reread"]
    assert 800 <= min(ids()) < 803, "what the deleter has read again counts at once"


class PostgresTable(Table):
    """Says what planning costs, as PostgreSQL does; one of version 12 does not know all options."""

    family = "postgres"

    def __init__(self, low: int | None = None, *, version: int = 15) -> None:
        super().__init__(low)
        self._version = version

    @staticmethod
    def prepared(text: str) -> bytes:
        """As a text: no test completes it."""
        return text.encode()

    def text(self, query: str) -> str:
        self.asked.append(query)
        if "BUFFERS" not in query:
            return '[{"Plan": {}, "Planning Time": 1.5}]'
        if self._version == 12:
            raise StatementError("22023", "EXPLAIN option BUFFERS requires ANALYZE")
        planning = '"Planning": {"Shared Hit Blocks": 40, "Shared Read Blocks": 2}'
        return f'[{{"Plan": {{}}, {planning},\n "Planning Time": 1.5}}]'


@pytest.mark.parametrize(("version", "blocks"), [(12, None), (15, 42)])
def test_a_deleter_asks_what_planning_its_first_delete_costs_after_the_smallest_key(
    version: int, blocks: int | None
) -> None:
    table = PostgresTable(700, version=version)
    smallest, plan = make_role(spec(role="deleter"), table).probe()  # type: ignore[arg-type]
    assert (smallest.name, plan.name, plan.seconds, plan.result) == ("get_min", "plan_delete", 0.0015, blocks)
    assert "min(" in table.asked[0] and ">= 700 ORDER" in table.asked[-1]


def test_nothing_is_asked_of_prepared_deletes_which_are_not_planned_each_time() -> None:
    deleter = make_role(spec(role="deleter", protocol="prepared"), PostgresTable(700))  # type: ignore[arg-type]
    assert [probe.name for probe in deleter.probe()] == ["get_min"]


def test_the_keys_of_an_empty_table_are_none() -> None:
    querier = make_role(spec(role="querier", query="point"), Table(None, None))  # type: ignore[arg-type]
    assert querier.next_statement().endswith(b"IN (0,0,0,0,0,0,0,0,0,0)")


@pytest.mark.parametrize(
    ("planned_s", "last_s", "begins"),
    [(0, None, "00:00:00"), (7, None, "00:00:07"), (7, 6, "00:00:07"), (7, 20, "00:00:21"), (0, 0, "00:00:01")],
)
def test_an_inserter_begins_at_its_planned_time_and_never_before_the_last_row(
    planned_s: int, last_s: int | None, begins: str
) -> None:
    inserter = make_role(spec(clock_s=planned_s), Table(last_s=last_s))  # type: ignore[arg-type]
    assert {row[0] for row in rows_of(inserter.next_statement())} == {f"2023-01-01 {begins}"}
