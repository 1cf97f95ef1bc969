"""The clock of the rows: a second for each block."""

from ibench_lib.workloads.insert_benchmark.clock import clock_seconds, statements_per_block


def test_a_second_passes_with_each_block() -> None:
    assert [clock_seconds(n, 50) for n in (0, 1, 40, 41)] == [0, 1, 1, 2]
    assert clock_seconds(3, 5_000) == 3
    assert [statements_per_block(rows) for rows in (1, 50, 5_000)] == [2_000, 40, 1]
