import re
from typing import Any

import pytest
from pydantic import ValidationError

from ibench_lib.workloads import insert_benchmark as ib
from ibench_lib.workloads.insert_benchmark_client import RangeQuerier, _seed, make_role
from ibench_lib.workloads.insert_benchmark_rows import PreparedInserts, TextInserts

ROW = re.compile(r"\('([0-9: -]{19})',(\d{3}),(\d{5}),(\d{4}),(\d{3}),'([A-Za-z0-9+/]*)' *\)")


def options(**changes: Any) -> ib.Options:
    values = {"benchmark": "insert_benchmark", "clients": 2, "steps": ["l.i0", "l.x", "l.i1", "qr100"], **changes}
    return ib.Options.model_validate(values)


def spec(**changes: Any) -> dict[str, Any]:
    return {
        "role": "inserter",
        "table": "pi1",
        "rows_per_commit": 50,
        "seed": 1,
        "step_id": 0,
        "client": 1,
        "query": None,
        "number": 0,
        "engine": "innodb",
        "protocol": "text",
        "query_rows": 10,
        "data_length": [10, 20],
        "secondary_indexes": 3,
        "bulk_load": False,
        **changes,
    }


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
    rows = TextInserts("pi1", rows_per_commit, (10, 20), _seed(spec()))
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


def test_half_of_the_data_is_one_letter() -> None:
    rows = TextInserts("pi1", 1_000, (10, 20), _seed(spec()))
    for row in rows_of(rows.next_statement()):
        data = row[5]
        assert set(data[(len(data) + 1) // 2 :]) == {"a"}


def test_same_seed_same_rows_and_other_clients_get_others() -> None:
    first, again, other = (TextInserts("pi1", 50, (10, 20), _seed(spec(client=client))).next_statement() for client in (1, 1, 2))
    assert first == again != other
    assert TextInserts("pi1", 50, (10, 20), _seed(spec(step_id=1))).next_statement() != first


def test_range_queries_are_the_three_forms_with_their_indexes() -> None:
    querier = make_role(spec(role="querier", query="range"), connection=None)  # type: ignore[arg-type]
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


def test_plan_scales_rows_and_seconds_in_whole_statements() -> None:
    steps = ib.plan(options(steps=["l.i0", "l.x", "l.i1", "l.i2", "qr100", "qp500"]), ib.PRESET_SETUPS["cached"], 0.001)
    by_name = {step.name: step for step in steps}
    assert (by_name["l.i0"].rows, by_name["l.i0"].rows_per_commit, by_name["l.i0"].deletes) == (20_000, 100, False)
    assert (by_name["l.i1"].rows, by_name["l.i1"].rows_per_commit, by_name["l.i1"].deletes) == (200_000, 50, True)
    assert (by_name["l.i2"].rows, by_name["l.i2"].rows_per_commit) == (20_000, 5)
    assert (by_name["qr100"].seconds, by_name["qr100"].rate, by_name["qr100"].query) == (7.0, 100.0, "range")
    assert (by_name["qp500"].rate, by_name["qp500"].query) == (500.0, "point")
    assert by_name["l.x"].kind == "index"


def test_a_tiny_scale_still_does_one_statement() -> None:
    steps = ib.plan(options(), ib.PRESET_SETUPS["cached"], 1e-9)
    assert [step.rows for step in steps] == [100, None, 50, None]
    assert steps[3].seconds == 1.0


def test_workers_of_each_kind_of_step() -> None:
    chosen = options()
    steps = ib.plan(chosen, ib.PRESET_SETUPS["cached"], 0.001)
    roles = {step.name: [worker.role for worker in ib.workers(chosen, step)] for step in steps}
    assert roles == {
        "l.i0": ["inserter"] * 2,
        "l.x": ["indexer"] * 2,
        "l.i1": ["inserter", "deleter"] * 2,
        "qr100": ["inserter", "deleter", "querier"] * 2,
    }
    for step in steps:
        probing = [worker.client for worker in ib.workers(chosen, step) if worker.probes]
        assert probing == [1, 2], "each client does its get_min exactly once"


@pytest.mark.parametrize(
    ("steps", "words"),
    [
        (["l.i0", "q100"], "qr100"),
        (["l.i0", "l.il"], "did you mean 'l.i1'"),
        (["L.I0"], "did you mean 'l.i0'"),
        (["l.i0", "qr0"], "unknown step 'qr0'"),
        (["l.i0", "l.i1", "l.i1"], "named twice"),
        (["l.i1"], "starts from empty tables"),
        ([], "at least 1 item"),
    ],
)
def test_steps_that_cannot_be_run_are_refused(steps: list[str], words: str) -> None:
    with pytest.raises(ValidationError, match=re.escape(words)):
        options(steps=steps)
