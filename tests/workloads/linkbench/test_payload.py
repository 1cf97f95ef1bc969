import numpy as np
import pytest

from ibench_lib.workloads.linkbench.payload import OF_LINKS, OF_NODES, Payload


@pytest.mark.parametrize(("payload", "mean"), [(OF_LINKS, 13.2), (OF_NODES, 211.0)])
def test_sizes_have_the_mean_of_the_original_and_bytes_its_range(payload: Payload, mean: float) -> None:
    values = [bytes.fromhex(value) for value in payload.hex_values(np.random.default_rng(1), 1, 5_000)]
    sizes = [len(value) for value in values]
    assert sum(sizes) / len(sizes) == pytest.approx(mean, rel=0.05) and max(sizes) <= payload.largest
    found = set(b"".join(values))
    assert (min(found), max(found)) == (payload.low, payload.high)


def test_the_same_generator_gives_the_same_values() -> None:
    first, second = (OF_NODES.hex_values(np.random.default_rng(7), 3, 50) for _ in range(2))
    assert first == second and OF_NODES.hex_values(np.random.default_rng(7), 4, 50) != first
    assert OF_NODES.hex_values(np.random.default_rng(7), 3, 0) == []
