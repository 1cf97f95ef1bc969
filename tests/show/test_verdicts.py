"""The rules by which a value is marked."""

from collections import defaultdict

from ibench_lib.show.verdicts import grade_column
from tests.show.tables.parsed import golden


def test_the_rule_gives_all_published_classes() -> None:
    published = golden("published_20m_absolute.csv")
    columns: dict[str, dict[str, float]] = defaultdict(dict)
    for row in published:
        columns[row["step"]][row["dbms"]] = float(row["value"])
    failures: dict[str, set[str]] = defaultdict(set)
    for row in golden("published_20m_inserts.csv"):
        if row["failed"] == "yes":
            failures[row["step"]].add(row["dbms"])
    grades = {step: grade_column(column, failures[step]) for step, column in columns.items()}
    got = [grades[row["step"]][row["dbms"]] for row in published]
    assert len(got) == 162
    assert got == [row["cell"] for row in published]


def test_an_sla_failure_is_neither_top_nor_the_column_s_maximum() -> None:
    assert grade_column({"a": 100, "b": 90, "c": 10, "fast": 500}, {"fast"}) == {
        "a": "top",
        "b": "top",
        "c": "bottom",
        "fast": "sla_failed",
    }
    # The lowest is the bottom, failure or not; an even column has no bottom.
    assert grade_column({"a": 100, "slow": 10}, {"slow"})["slow"] == "bottom"
    assert grade_column({"a": 100, "b": 80}) == {"a": "top", "b": "middle"}
    assert grade_column({}) == {}
