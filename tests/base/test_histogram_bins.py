"""The edges of the bins of response times."""

import numpy as np
import pytest

from ibench_lib.base.histogram_bins import lower_edge_us
from ibench_lib.client.histogram import bin_latencies


@pytest.mark.parametrize("edge_us", [256, 1_000, 4_000, 16_000, 64_000, 256_000])
def test_bucket_edges_of_the_response_time_table_are_bin_edges(edge_us: int) -> None:
    (at_edge,), _ = bin_latencies(np.array([edge_us * 1000]))
    (below,), _ = bin_latencies(np.array([edge_us * 1000 - 1]))
    assert lower_edge_us(at_edge) == edge_us
    assert below == at_edge - 1


def test_the_bin_edge_next_to_one_second_is_the_documented_one() -> None:
    (number,), _ = bin_latencies(np.array([1_000_000_000]))
    assert lower_edge_us(number) == 999_424
