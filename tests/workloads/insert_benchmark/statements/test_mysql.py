"""The SQL of MySQL that the Insert Benchmark's clients send."""

from ibench_lib.workloads.insert_benchmark.statements import mysql


def test_a_range_query_forces_its_index_and_a_delete_takes_the_oldest_rows() -> None:
    query = mysql.query_by("pi1", "pi1_pdc", "price,customerid", "price >=", "price,customerid", 10).encode() % 7
    assert query == (
        b"SELECT price,customerid FROM pi1 FORCE INDEX (pi1_pdc) WHERE price >= 7 ORDER BY price,customerid LIMIT 10"
    )
    delete = mysql.delete_from("pi1", 50).encode() % 900
    assert delete == b"DELETE FROM pi1 WHERE transactionid >= 900 ORDER BY transactionid ASC LIMIT 50"


def test_indexes_are_made_at_once_on_innodb_and_one_by_one_on_myrocks() -> None:
    wanted = [("a", "price"), ("b", "price, data")]
    assert mysql.add_indexes("t", wanted, "innodb") == ["ALTER TABLE t ADD INDEX a (price), ADD INDEX b (price, data)"]
    assert mysql.add_indexes("t", wanted, "rocksdb") == [
        "ALTER TABLE t ADD INDEX a (price)", "ALTER TABLE t ADD INDEX b (price, data)",
    ]  # fmt: skip
