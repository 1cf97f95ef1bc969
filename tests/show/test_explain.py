"""An explanation in words: only what is beyond noise is said, and what cannot be said."""

from __future__ import annotations

import pytest

from ibench_lib.ask.explanation import Term
from ibench_lib.show.explain import cannot_say, statements, us
from ibench_lib.stats.noise import Difference
from tests.ask.explaining import ENGINE, pair_runs, slowed
from tests.ask.test_explain import explained

pytestmark = pytest.mark.slow
SLOWED = slowed(ENGINE, "rec_get_offsets", 2)


def test_more_cpu_and_not_more_waiting_is_told_apart() -> None:
    said = statements(explained(*pair_runs(ENGINE, SLOWED, user=(8.0, 9.43))))
    # 20,000 rows in 10 s on either side: the rate is even, and so CPU in use grew with the cost.
    assert said[0].startswith("inserts/s of B: 1.00x [1.00, 1.00] of A's, no difference beyond noise.")
    assert "server, user mode +71.5 [" in said[1]
    assert said[2].startswith("Own time of functions, in microseconds of server CPU per operation (+71.5 in all): ")
    assert said[2].partition(": ")[2].startswith("rec_get_offsets_func +71.5 [")
    assert said[3].startswith("Parts of the server: record layer +71.5 [")


def rate(*logs: tuple[float, float]) -> tuple[Term, ...]:
    """Rate, use and cost with the logarithm of B / A and its standard error."""
    names = (("throughput", "rate", "/s"), ("cpus_used", "CPU in use", "CPUs"), ("cpu_us", "CPU per operation", "us"))
    return tuple(
        Term(*name, 1.0, 1.0, log, ((), ()), difference=Difference(log, se, 8))
        for name, (log, se) in zip(names, logs, strict=True)
    )


@pytest.mark.parametrize(
    ("terms", "said"),
    [
        (rate((-0.2, 0.01), (0.0, 0.01), (0.2, 0.01)), "of A's: more CPU per operation, not more waiting."),
        (rate((0.2, 0.01), (0.0, 0.01), (-0.2, 0.01)), "of A's: less CPU per operation, not less waiting."),
        (
            rate((-0.2, 0.01), (-0.2, 0.01), (0.0, 0.01)),
            "of A's: less CPU in use; the CPU per operation does not clearly differ.",
        ),
        (rate((-0.4, 0.01), (-0.2, 0.01), (0.2, 0.01)), "0.67x [0.66, 0.69] of A's. CPU per operation 1.22x"),
        (rate((-0.2, 0.2), (-0.1, 0.2), (0.1, 0.2)), "of A's, no difference beyond noise. CPU per operation"),
    ],
)
def test_the_first_sentence_says_which_of_the_two_it_is(terms: tuple[Term, ...], said: str) -> None:
    found = explained(*pair_runs(None, None))
    object.__setattr__(found, "rate", terms)
    assert said in statements(found)[0]


def test_every_reason_is_one_line() -> None:
    found = explained(*pair_runs(ENGINE, None, rounds=1))
    assert len(cannot_say(found)) >= 3
    assert all(line.startswith("Not known: ") and line.endswith(".") and "\n" not in line for line in cannot_say(found))


@pytest.mark.parametrize(
    ("value", "text"), [(None, "-"), (0.0, "0"), (0.41234, "0.412"), (14.06, "14.1"), (1234.5, "1,234"), (-0.0004, "0")]
)
def test_microseconds(value: float | None, text: str) -> None:
    assert us(value) == text
