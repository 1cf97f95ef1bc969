"""Ranks, as the authors of a published report gave them to its figures."""

import polars as pl
import pytest

from ibench_lib.analysis.ranks import is_ranked, rank_of_ratio, ranks_of
from tests.show.parsed import golden


def test_all_cells_of_a_published_report_have_the_classes_of_its_authors() -> None:
    missed = {(row["dbms"], row["step"]) for row in golden("published_20m_inserts.csv") if row["failed"] == "yes"}
    classes: dict[tuple[str, str], str] = {}
    values: dict[str, dict[str, float]] = {}
    for row in golden("published_20m_absolute.csv"):
        values.setdefault(row["step"], {})[row["dbms"]] = float(row["value"])
        classes[row["dbms"], row["step"]] = row["cell"]
    found: dict[tuple[str, str], str] = {}
    for step, of_step in values.items():
        ranks = ranks_of(of_step, {name for name, of in missed if of == step})
        found |= {(name, step): ranks.get(name, "middle") for name in of_step}
    assert found == classes and len(classes) == 162


def test_what_missed_its_target_sets_no_end_of_the_range() -> None:
    values = {"a": 100.0, "b": 90.0, "c": 60.0, "fast": 200.0}
    assert ranks_of(values, {"fast"}) == {"fast": "missed", "a": "top", "b": "top", "c": "bottom"}
    assert ranks_of(values) == {"fast": "top", "b": "bottom", "c": "bottom"}
    assert ranks_of(values, {"c", "fast"}) == {"fast": "missed", "a": "top", "b": "top", "c": "bottom"}


def test_close_figures_have_no_bottom_and_one_has_no_rank() -> None:
    assert ranks_of({"a": 100.0, "b": 81.0}) == {"a": "top"}
    assert ranks_of({"a": 100.0, "b": 79.0}) == {"a": "top", "b": "bottom"}
    assert ranks_of({"a": 100.0}) == ranks_of({}) == ranks_of({"a": 1.0, "b": 1.0}) == {}
    assert ranks_of({"a": 1.0}, {"a"}) == {"a": "missed"}


@pytest.mark.parametrize(
    ("ratio", "rank"), [(1.06, "above"), (1.054, None), (1.05, None), (0.95, None), (0.946, None), (0.944, "below"),
                        (0.0, "below"), (float("inf"), "above")]
)  # fmt: skip
def test_a_ratio_is_ranked_by_whole_percent(ratio: float, rank: str | None) -> None:
    assert rank_of_ratio(ratio) == rank


def test_a_table_is_ranked_where_results_have_one_run() -> None:
    one = pl.DataFrame({"setup": ["c", "c"], "dbms": ["a", "b"], "repeat": [1, 1]})
    two = pl.DataFrame({"setup": ["c", "c"], "dbms": ["a", "a"], "repeat": [1, 2]})
    assert is_ranked(one) and not is_ranked(two) and is_ranked(two, True) and not is_ranked(one, False)
