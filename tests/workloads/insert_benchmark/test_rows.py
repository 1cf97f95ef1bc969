"""Rows and statements of the Insert Benchmark."""

import re
import struct
import zlib
from typing import Any

import pytest

from ibench_lib.client.spec import Spec
from ibench_lib.workloads.insert_benchmark.client import RangeQuerier, _seed, make_role
from ibench_lib.workloads.insert_benchmark.clock import clock_seconds
from ibench_lib.workloads.insert_benchmark.rows import PreparedInserts, TextInserts
from tests.fakes.offline import Offline
from tests.workloads.insert_benchmark.options import options

OFFLINE: Any = Offline()
ROW = re.compile(r"\('([0-9: -]{19})',(\d{3}),(\d{5}),(\d{4}),(\d{3}), *'([A-Za-z0-9+/]*)'\)")


def spec(role: str = "inserter", client: int = 1, seed: int = 1, **changes: Any) -> Spec:
    details = {
        "table": "pi1",
        "rows_per_commit": 50,
        "step_id": 0,
        "clock_s": 0,
        "query": None,
        "engine": "innodb",
        "protocol": "text",
        "query_rows": 10,
        "data_length": [10, 20],
        "secondary_indexes": 3,
        "bulk_load": False,
        **changes,
    }
    return Spec(
        module="",
        role=role,
        client=client,
        number=0,
        operations=("insert",),
        statements=None,
        seconds=None,
        tick_ns=None,
        timeout_s=1.0,
        seed=seed,
        details=details,
    )


def rows_of(statement: bytes) -> list[tuple[str, ...]]:
    assert statement[:1] == b"\x03"
    text = statement[1:].decode()
    head = "INSERT INTO pi1 (dateandtime,cashregisterid,customerid,productid,price,data) VALUES "
    assert text.startswith(head)
    found = ROW.findall(text)
    rebuilt = ROW.sub("", text[len(head) :])
    assert set(rebuilt) <= {","}, "nothing but rows and the commas between them"
    return found


@pytest.mark.parametrize("rows_per_commit", [5, 50, 100, 3_000])
def test_statements_have_the_asked_for_rows_with_values_in_range(rows_per_commit: int) -> None:
    rows = TextInserts(OFFLINE, "pi1", rows_per_commit, (10, 20), _seed(spec()))
    statements = [rows_of(rows.next_statement()) for _ in range(max(2, 2_500 // rows_per_commit))]
    assert {len(found) for found in statements} == {rows_per_commit}
    everything = [row for found in statements for row in found]
    assert {len(row[5]) for row in everything} == set(range(10, 21))
    highs = [max(int(row[column]) for row in everything) for column in (1, 2, 3, 4)]
    assert all(high < limit for high, limit in zip(highs, (1_000, 100_000, 10_000, 500), strict=True))
    assert all(high > 0.95 * limit for high, limit in zip(highs, (1_000, 100_000, 10_000, 500), strict=True))
    dates = [row[0] for row in everything]
    assert dates == sorted(dates) and len(set(dates)) > 1
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", date) for date in dates)


def test_a_clock_that_goes_on_begins_where_it_ended() -> None:
    def seconds(statements: int, clock_s: int) -> list[str]:
        rows = TextInserts(OFFLINE, "pi1", 50, (10, 20), _seed(spec()), clock_s)
        return [rows_of(rows.next_statement())[0][0] for _ in range(statements)]

    first = seconds(45, 0)
    assert (first[0], first[-1]) == ("2023-01-01 00:00:00", "2023-01-01 00:00:01")
    assert seconds(1, clock_seconds(45, 50)) == ["2023-01-01 00:00:02"]


@pytest.mark.parametrize("lengths", [(10, 20), (1, 3), (1, 1), (250, 250), (3_990, 4_000)])
def test_data_ends_with_random_letters_and_is_as_compressible_as_the_originals(lengths: tuple[int, int]) -> None:
    rows = TextInserts(OFFLINE, "pi1", 1_000, lengths, _seed(spec()))
    found = [row[5] for row in rows_of(rows.next_statement())]
    assert {len(data) for data in found} == {*range(lengths[0], lengths[1] + 1)}
    for data in found:
        assert set(data[: len(data) - int(len(data) * 0.75 * 0.5)]) == {"a"}
    last = {data[-1] for data in found if len(data) > 2}
    assert len(last) == 64 or lengths[1] <= 3
    if lengths == (10, 20):
        text = "".join(found)
        # The original's generator: 0.655, and 0.37 by zlib.
        assert text.count("a") / len(text) == pytest.approx(0.655, abs=0.01)
        assert len(zlib.compress(text.encode())) / len(text) == pytest.approx(0.37, abs=0.02)


def test_prepared_statements_carry_the_same_rows_as_text() -> None:
    for lengths in ((10, 20), (1, 2), (1, 250)):
        text = rows_of(TextInserts(OFFLINE, "pi1", 50, lengths, _seed(spec())).next_statement())
        binary = PreparedInserts(OFFLINE, "pi1", 50, lengths, _seed(spec())).next_statement()
        for row in reversed(text):
            length, data = len(row[5]), row[5].encode()
            assert binary[-length - 1 :] == bytes([length]) + data
            numbers = struct.unpack("<4i", binary[-length - 17 : -length - 1])
            assert numbers == tuple(map(int, row[1:5]))
            binary = binary[: -length - 25]
        assert len(binary) == 10 + (50 * 6 + 7) // 8 + 1 + 50 * 12


def test_same_seed_same_rows_and_other_clients_get_others() -> None:
    def first_statement(**changes: Any) -> bytes:
        return TextInserts(OFFLINE, "pi1", 50, (10, 20), _seed(spec(**changes))).next_statement()

    assert first_statement() == first_statement()
    others = [first_statement(client=2), first_statement(step_id=1), first_statement(seed=2)]
    assert len({first_statement(), *others}) == 4


def test_range_queries_are_the_three_forms_with_their_indexes() -> None:
    querier = make_role(spec(role="querier", query="range"), Offline())  # type: ignore[arg-type]
    assert isinstance(querier, RangeQuerier)
    texts = [querier.next_statement()[1:].decode() for _ in range(3_000)]
    forms = {re.sub(r"\d+ ORDER", "X ORDER", text) for text in texts}
    assert forms == {
        "SELECT productid,customerid,price FROM pi1 FORCE INDEX (pi1_marketsegment) WHERE productid >= X "
        "ORDER BY productid,customerid,price LIMIT 10",
        "SELECT cashregisterid,customerid,price FROM pi1 FORCE INDEX (pi1_registersegment) WHERE cashregisterid > X "
        "ORDER BY cashregisterid,customerid,price LIMIT 10",
        "SELECT price,dateandtime,customerid FROM pi1 FORCE INDEX (pi1_pdc) WHERE price >= X "
        "ORDER BY price,dateandtime,customerid LIMIT 10",
    }


def test_prepared_inserts_carry_data_up_to_their_limit_and_text_ones_more() -> None:
    assert options(protocol="prepared", data_length=[250, 250]).data_length == [250, 250]
    assert options(protocol="text", data_length=[10, 251]).data_length == [10, 251]
