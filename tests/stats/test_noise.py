"""The noise of repeats: pooled, by round, with rows that are noisier than others; several comparisons at once."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ibench_lib.stats.noise import (
    FLOOR,
    LEAST_DF,
    LEVEL,
    Difference,
    Judgement,
    judged_together,
    level_of_all,
    noise_of,
    noises_of,
)
from ibench_lib.stats.student import t_quantile

VALUES = st.floats(-1, 1)
TABLES = st.lists(st.lists(VALUES, min_size=2, max_size=5), min_size=2, max_size=6)


def table(rows: list[list[float]]) -> dict[str, dict[int, float]]:
    return {f"row{number}": dict(enumerate(values)) for number, values in enumerate(rows)}


def test_the_noise_is_pooled_over_all_rows() -> None:
    noise = noise_of(table([[0.0, 0.1, 0.2], [1.0, 1.1, 1.2]]))
    assert (noise.df, noise.by_round, noise.known) == (4, False, True)
    assert noise.sd == pytest.approx(0.1)
    found = noise.difference("row1", "row0")
    assert found is not None and found.value == pytest.approx(1)
    # Each row's own noise is that of all.
    assert found.se == pytest.approx(0.1 * math.sqrt(2 / 3)) and found.df == 4
    low, high = found.interval()
    assert high - 1 == pytest.approx(1 - low) == pytest.approx(2.776 * found.se, rel=1e-3)
    assert found.detectable() > (t_quantile(0.025, 4) + t_quantile(0.2, 4)) * found.se, "little is known of the noise"
    assert found.detectable(least=1.0) == pytest.approx(1 + t_quantile(0.2, 4) * found.se)
    known = Difference(0.0, found.se, 1e6)
    assert known.detectable() == pytest.approx((1.960 + 0.8416) * found.se, rel=1e-3)


def test_so_many_repeats_find_a_change_and_one_less_does_not() -> None:
    """The number for an unclear result: by simulated repeats of that number, about POWER of such changes are found."""
    found = Difference(0.0, 0.1 * math.sqrt(2 / 3), 4)
    assert found.repeats_for(found.detectable(), 3) == 3, "those that are there find what they can detect"
    many = found.repeats_for(math.log(1.1), 3)
    assert many is not None and found.repeats_for(0.001, 3) is None
    random = np.random.default_rng(7)
    runs = random.normal(0, 0.1, (4000, 2, many))
    runs[:, 1] += math.log(1.1)
    sd = np.sqrt(runs.var(axis=2, ddof=1).mean(axis=1))
    t = (runs[:, 1].mean(axis=1) - runs[:, 0].mean(axis=1)) / (sd * math.sqrt(2 / many))
    assert float((t > t_quantile(0.025, 2 * many - 2)).mean()) == pytest.approx(0.8, abs=0.04)


def test_what_rounds_have_in_common_is_removed_where_enough_is_left() -> None:
    random = np.random.default_rng(5)
    rounds = np.array([0.0, 0.3, -0.2])
    quiet = random.normal(0, 0.01, (7, 3))
    noise = noise_of(table((quiet + rounds).tolist()))
    assert noise.by_round and noise.df == 12
    assert noise.sd == pytest.approx(noise_of(table(quiet.tolist())).sd)
    few = noise_of(table((quiet[:2] + rounds).tolist()))
    assert not few.by_round and few.df == 4
    gap = table((quiet + rounds).tolist())
    del gap["row3"][1]
    assert not noise_of(gap).by_round


def test_two_rows_of_two_repeats_know_no_noise() -> None:
    rows = table([[0.0, 0.01], [0.2, 0.21]])
    assert noise_of(rows).df == 2 < LEAST_DF and noise_of(rows).difference("row1", "row0") is None
    assert noise_of({"only": {1: 0.0}, "other": {1: 1.0}}).difference("only", "other") is None


def test_a_row_that_is_much_noisier_keeps_its_noise_to_itself() -> None:
    rows = [[0.0, 0.01, 0.02], [1.0, 1.01, 1.02], [2.0, 2.01, 2.02], [0.0, 3.0, -3.0]]
    noise = noise_of(table(rows))
    assert set(noise.apart) == {"row3"} and noise.sd < 0.02
    quiet, loud = noise.difference("row1", "row0"), noise.difference("row3", "row0")
    assert quiet is not None and loud is not None
    assert quiet.p < 1e-6 < 0.5 < loud.p and loud.df < 3


def test_a_row_that_is_noisier_in_every_table_is_so_in_the_one_where_its_repeats_agree() -> None:
    random = np.random.default_rng(5)
    times = np.array([8, 1, 1, 1, 1])[:, None]
    tables = {f"step{number}": table((random.normal(0, 0.02, (5, 3)) * times).tolist()) for number in range(6)}
    tables["step0"]["row0"] = {0: 0.0, 1: 0.001, 2: 0.002}
    noises = noises_of(tables)
    for noise in noises.values():
        assert set(noise.apart) == {"row0"}
        variance, df = noise.apart["row0"]
        assert variance > (2.5 * noise.sd) ** 2 and df > 4
    alone = noise_of(tables["step0"])
    assert not alone.apart, "in a single step it looks as quiet as the others"


def test_a_row_that_is_noisier_in_one_table_only_has_its_own_noise_there() -> None:
    random = np.random.default_rng(4)
    tables = {f"step{number}": table(random.normal(0, 0.02, (5, 3)).tolist()) for number in range(6)}
    tables["step2"]["row1"] = {0: 0.0, 1: 0.5, 2: -0.6}
    found = noises_of(tables)
    assert "row1" in found["step2"].apart and found["step2"].sd < 0.05


def test_in_an_only_table_no_row_has_less_than_its_own_noise() -> None:
    """A single step does not tell a noisy row from an unlucky one; several steps do."""
    rows = table([[0.0, 0.03, 0.06], [1.0, 1.02, 1.04], [2.0, 2.02, 2.04], [3.0, 3.01, 3.02]])
    alone = noise_of(rows)
    assert not alone.apart and alone.sd**2 == pytest.approx(0.00045)
    loud, quiet = alone.difference("row0", "row3"), alone.difference("row2", "row3")
    assert loud is not None and loud.se == pytest.approx(math.sqrt((0.03**2 + 0.00045) / 3))
    assert quiet is not None and quiet.se == pytest.approx(math.sqrt(2 * 0.00045 / 3)), "nor less than that of all"
    other = {name: dict(zip(values, (0.02, -0.01, 0.0), strict=True)) for name, values in rows.items()}
    one_of_many = noises_of({"one": rows, "other": other})["one"].difference("row0", "row3")
    assert one_of_many is not None and one_of_many.se < loud.se


def test_in_an_only_table_a_noisy_row_has_the_degrees_of_freedom_of_its_own_runs() -> None:
    rows = table([[0.0, 0.03, 0.06], [1.0, 1.02, 1.04], [2.0, 2.02, 2.04], [3.0, 3.01, 3.02]])
    alone = noise_of(rows)
    loud, quiet = alone.difference("row0", "row3"), alone.difference("row2", "row3")
    assert loud is not None and quiet is not None and loud.df == quiet.df == 8
    assert quiet.own_df == 8, "both are as quiet as all together"
    parts = (0.03**2, 0.00045)
    assert loud.own_df == pytest.approx(sum(parts) ** 2 / (parts[0] ** 2 / 2 + parts[1] ** 2 / 8))
    low, high = loud.interval()
    assert high - low == pytest.approx(2 * t_quantile(0.025, loud.own_df) * loud.se)
    other = {name: dict(zip(values, (0.02, -0.01, 0.0), strict=True)) for name, values in rows.items()}
    of_many = noises_of({"one": rows, "other": other})["one"].difference("row0", "row3")
    of_two = noise_of({name: rows[name] for name in ("row0", "row3")}).difference("row0", "row3")
    assert of_many is not None and of_many.own_df is None, "another step tells of the noise, too"
    assert of_two is not None and of_two.own_df is None, "two rows pool nothing"
    twice = noise_of(table([[0.0, 0.05], *([float(row), row + 0.01] for row in range(1, 5))]))
    lucky = twice.difference("row0", "row1")
    assert lucky is not None and lucky.own_df == lucky.df, "two runs may just be unlucky"


@settings(max_examples=100)
@given(st.floats(-8, 8), st.floats(1.5, 11.9), st.sampled_from([0.2, LEVEL, 0.01, LEVEL / 40]))
def test_what_own_runs_do_not_show_is_no_difference_at_any_level(value: float, own_df: float, level: float) -> None:
    # Near 12 degrees of its own both are the same but for rounding, which may go either way.
    known, own = Difference(value, 1.0, 12), Difference(value, 1.0, 12, own_df)
    (low, high), (least, most) = known.interval(level), own.interval(level)
    assert least <= low and high <= most and own.p >= known.p
    edge = abs(value) - (most - least) / 2
    assert abs(edge) < 1e-6 or (own.p <= level) == (edge > 0), "marks and intervals agree"
    if abs(value) > (own.interval()[1] - own.interval()[0]) / 2:
        assert own.p == known.p, "many comparisons at once ask no more of it than of others"
    assert own.detectable(level) >= known.detectable(level)
    more, most_of_all = (one.repeats_for(4.0, 3, level) for one in (known, own))
    assert more is None or most_of_all is None or most_of_all >= more


def test_tables_in_which_the_same_runs_are_off_count_as_one() -> None:
    """A host that was slow during a run makes all of its steps slow: six steps tell no more of the noise than one."""
    random = np.random.default_rng(8)
    times = np.array([1.8, *[1.0] * 14])[:, None]

    def drawn() -> Any:
        """15 rows of three repeats with the same noise, but for the first."""
        found = random.normal(0, 1, (15, 3))
        return 0.02 * times * found / found.std(axis=1, ddof=1, keepdims=True)

    rows = drawn()
    same = {f"step{step}": table((rows + random.normal(0, 0.001, rows.shape)).tolist()) for step in range(6)}
    own = {f"step{step}": table(drawn().tolist()) for step in range(6)}
    assert all(set(noise.apart) == {"row0"} for noise in noises_of(own).values()), "six tell"
    assert not any(noise.apart for noise in noises_of(same).values()), "one does not"
    alone = noise_of(same["step0"]).difference("row0", "row1")
    found = noises_of(same)["step0"].difference("row0", "row1")
    assert alone is not None and found is not None and found.se == pytest.approx(alone.se, rel=0.05)


def test_of_two_rows_in_an_only_table_each_has_its_own_noise_at_least() -> None:
    noise = noise_of(table([[0.0, 0.02, 0.04], [1.0, 1.005, 1.01]]))
    found = noise.difference("row1", "row0")
    assert found is not None and found.df == 4
    assert found.se == pytest.approx(math.sqrt((0.02**2 + (0.02**2 + 0.005**2) / 2) / 3))


def test_equal_repeats_are_not_without_noise() -> None:
    noise = noise_of(table([[0.0] * 3, [0.5] * 3]))
    assert noise.sd == FLOOR


def test_noise_is_no_less_than_other_tables_make_likely() -> None:
    noise = noise_of(table([[0.0, 0.01, 0.02], [1.0, 1.01, 1.02]]))
    assert noise.steadied(0.1**2).sd == pytest.approx(math.sqrt((4 * 0.01**2 + 4 * 0.1**2) / 8))
    assert noise.steadied(0.001**2).sd == noise.sd


@settings(max_examples=50)
@given(TABLES, st.floats(-5, 5))
def test_neither_units_nor_the_order_of_rows_and_runs_matter(rows: list[list[float]], unit: float) -> None:
    whole = table(rows)
    noise = noise_of(whole)
    turned = {name: dict(reversed(list(values.items()))) for name, values in reversed(list(whole.items()))}
    assert noise_of(turned).sd == noise.sd
    other = noise_of(table([[value + unit for value in values] for values in rows]))
    assert other.sd == pytest.approx(noise.sd, abs=1e-7)
    found, back = noise.difference("row0", "row1"), noise.difference("row1", "row0")
    assert (found is None) == (back is None)
    if found and back:
        assert found.value == pytest.approx(-back.value) and found.se == pytest.approx(back.se)
        assert 0 <= found.p <= 1
        low, high = found.interval(max(found.p, 1e-9))
        assert found.p < 1e-9 or min(abs(low), abs(high)) == pytest.approx(0, abs=1e-6 + 1e-3 * found.se)


@settings(max_examples=100)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=40))
def test_the_level_of_all_finds_what_the_step_up_rule_finds(p_values: list[float]) -> None:
    level = level_of_all(p_values)
    many, ordered = len(p_values), sorted(p_values)
    steps = [rank for rank in range(1, many + 1) if ordered[rank - 1] <= 0.05 * rank / many]
    assert sum(p <= level for p in p_values) == (max(steps) if steps else 0)
    assert 0.05 / many <= level <= 0.05 + 1e-12


def test_the_level_of_nothing_and_of_one() -> None:
    assert level_of_all([]) == level_of_all([0.2]) == level_of_all([0.01]) == 0.05


def test_what_is_judged_together_is_clear_just_where_its_interval_leaves_out_zero() -> None:
    found = [Judgement(difference=Difference(value, 1.0, 20)) for value in (5.0, 2.5, 2.2, 0.3)]
    together = judged_together([*found, Judgement()])
    assert [one.is_clear for one in together] == [True, True, False, False, False]
    assert together[2].level < LEVEL and found[2].is_clear, "alone it would be clear"
    for one in together[:4]:
        low, high = one.interval or (0.0, 0.0)
        assert (low > 0) == one.is_clear
        assert low < one.difference.value < high  # type: ignore[union-attr]
    assert together[4].interval is None
