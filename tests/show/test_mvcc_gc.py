"""Sentences about get_min and what purge had left."""

import polars as pl

import ibench_lib as ib
from ibench_lib.analysis.verdicts import ratio
from ibench_lib.show.kit.table_cells import factor_text
from tests.show.saying import frame_of


def test_get_min_far_from_the_base_is_told_with_what_purge_had_left() -> None:
    seconds = frame_of("get_min_s", "qr", base=[0.4, 0.5, 0.3], quick=[0.003, 0.004, 0.003], alike=[0.1, 0.2, 0.3])
    before = frame_of("history_list_length", base=[9000, 11000, 10000], quick=[6, 4, 38], alike=[5, None, 5])
    found = ratio([0.4, 0.5, 0.3], [0.003, 0.004, 0.003])
    assert found and found.low and found.high
    told_of_it = (
        "cached, qr: get_min took 400.0 ms with base (median of 3 runs, history list 10,000 at the end of l.i1). "
        f"That is 119x [{factor_text(found.low)}, {factor_text(found.high)}] slower than with quick (3.0 ms, history "
        "list 6)."
    )
    after = before.with_columns(step_id=pl.col("step_id") - 1)  # not that of the step right before
    seconds = seconds.with_columns(step_id=pl.lit(3))
    assert ib.mvcc_gc_statements(seconds, before.with_columns(step_id=pl.lit(2)), "base")[:1] == [told_of_it]
    assert "history" not in ib.mvcc_gc_statements(seconds, after, "base")[0]
    other, chance = ib.mvcc_gc_statements(seconds, before.with_columns(step_id=pl.lit(2)), "quick")
    assert chance.startswith("[low, high] is the 95 % interval of the ratio of geometric means, from a t test")
    assert other.startswith("cached, qr: get_min took 3.0 ms with quick (median of 3 runs, history list 6")
    assert " It was 119x [" in other and "slower with base (400.0 ms, history list 10,000" in other
    assert "alike" not in told_of_it
    # Noise that reaches below ten times, and little time whatever the ratio, are nothing to tell.
    noisy = frame_of("get_min_s", "qr", base=[0.4, 0.02, 0.5], quick=[0.003, 0.004, 0.003])
    little = frame_of("get_min_s", "qr", base=[0.09], quick=[0.0001])
    for frame in (noisy, little):
        assert ib.mvcc_gc_statements(frame, before.clear(), "base") == []
