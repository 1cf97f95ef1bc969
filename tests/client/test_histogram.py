import numpy as np
import pytest

from ibench_lib.base.histogram_bins import lower_edge_us
from ibench_lib.client.histogram import bin_latencies, quantile_us


def test_every_latency_lies_in_its_bin_and_within_one_percent_of_the_midpoint() -> None:
    rng = np.random.default_rng(7)
    nanoseconds = np.unique(np.concatenate([np.exp(rng.uniform(np.log(1e3), np.log(1e12), 20_000)).astype(np.int64)]))
    for value in nanoseconds[::7].tolist():
        (number,), (count,) = bin_latencies(np.array([value]))
        low, high = lower_edge_us(number), lower_edge_us(number + 1)
        assert count == 1
        assert low <= value / 1000 < high
        assert abs((low + high) / 2 - value / 1000) / (value / 1000) < 0.01


def test_counts_add_up_and_bins_ascend() -> None:
    bins, counts = bin_latencies(np.array([5_000, 900, 5_000, 0, 2_000_000_000]))
    assert sum(counts) == 5
    assert bins == sorted(set(bins))
    assert bins[0] == 0 and counts[0] == 2  # below one microsecond counts in bin 0


def test_no_latencies_no_bins() -> None:
    assert bin_latencies(np.array([], dtype=np.int64)) == ([], [])


def test_quantiles_against_the_exact_ones() -> None:
    values = np.random.default_rng(1).lognormal(13, 1.5, 50_000).astype(np.int64)
    bins, counts = bin_latencies(values)
    for q in (0.5, 0.9, 0.99, 0.999):
        exact = float(np.quantile(values, q, method="inverted_cdf")) / 1000
        assert quantile_us(bins, counts, q) == pytest.approx(exact, rel=0.01)


def test_quantile_of_nothing_is_an_error() -> None:
    with pytest.raises(ValueError):
        quantile_us([], [], 0.5)
