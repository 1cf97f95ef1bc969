"""The SQL of PostgreSQL that the Insert Benchmark's clients send."""

from ibench_lib.workloads.insert_benchmark.statements import postgres


def test_a_range_query_has_no_hint_and_a_delete_takes_the_oldest_rows() -> None:
    query = postgres.query_by("pi1", "pi1_pdc", "price,customerid", "price >=", "price,customerid", 10).encode() % 7
    assert query == b"SELECT price,customerid FROM pi1 WHERE price >= 7 ORDER BY price,customerid LIMIT 10"
    delete = postgres.delete_from("pi1", 50).encode() % 900
    assert delete == (
        b"DELETE FROM pi1 WHERE transactionid IN (SELECT transactionid FROM pi1"
        b" WHERE transactionid >= 900 ORDER BY transactionid ASC LIMIT 50)"
    )


def test_indexes_are_made_one_after_the_other_in_one_text() -> None:
    wanted = [("a", "price"), ("b", "price, data")]
    assert postgres.add_indexes("t", wanted, "") == ["CREATE INDEX a ON t (price); CREATE INDEX b ON t (price, data)"]
