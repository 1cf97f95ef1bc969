"""Student's t and Fisher's F against published tables."""

from __future__ import annotations

import math

import pytest

from ibench_lib.stats import student
from ibench_lib.stats.student import f_tail, t_quantile, t_tail


@pytest.mark.parametrize(
    ("tail", "df", "t"),
    [(0.025, 1, 12.706), (0.025, 4, 2.776), (0.005, 2, 9.925), (0.05, 10, 1.812), (0.0005, 30, 3.646), (0.2, 4, 0.941)],
)
def test_quantiles_of_t_are_those_of_the_tables(tail: float, df: float, t: float) -> None:
    assert t_quantile(tail, df) == pytest.approx(t, abs=6e-4)
    assert t_tail(t_quantile(tail, df), df) == pytest.approx(tail, rel=1e-9)
    assert t_tail(-t, df) == pytest.approx(1 - tail, abs=1e-4)


def test_a_quantile_takes_a_few_tails(monkeypatch: pytest.MonkeyPatch) -> None:
    """A summary asks for hundreds of them; to halve what encloses one takes sixty."""
    asked: list[float] = []
    tail_of = student.t_tail

    def counted(t: float, df: float) -> float:
        asked.append(t)
        return tail_of(t, df)

    monkeypatch.setattr(student, "t_tail", counted)
    for tail in (1e-9, 0.0005, 0.025, 0.2, 0.45, 0.5):
        for df in (0.5, 1, 2.5, 4, 30, 1e4):
            asked.clear()
            assert tail_of(t_quantile.__wrapped__(tail, df), df) == pytest.approx(tail, rel=1e-9)
            assert len(asked) <= 12, (tail, df)


@pytest.mark.parametrize(
    ("f", "above", "below", "tail"), [(4.26, 2, 9, 0.05), (161.4, 1, 1, 0.05), (3.89, 2, 12, 0.05)]
)
def test_tails_of_f_are_those_of_the_tables(f: float, above: float, below: float, tail: float) -> None:
    assert f_tail(f, above, below) == pytest.approx(tail, abs=3e-4)


def test_the_ends() -> None:
    assert t_tail(math.inf, 3) == 0 and t_tail(-math.inf, 3) == 1 and t_tail(0, 3) == 0.5
    assert f_tail(0, 2, 2) == 1 and f_tail(math.inf, 2, 2) == 0
    assert t_tail(3, 2.5) == pytest.approx(0.0366, abs=2e-3), "degrees of freedom need not be whole"
