"""The linter of SQL: what each rule finds, and that the library's own SQL has none of it."""

from pathlib import Path

import pytest

from tools import sql_lint

GOOD = """\
-- Rates of steps.
--
-- $runs: ids of the runs
WITH chosen AS (
    FROM selected_runs($runs)
), given AS (
    SELECT run_id FROM chosen WHERE status IS NOT NULL
)
FROM cumulated_bins(given)
"""


def found(tmp_path: Path, text: str, name: str = "rates.sql") -> list[str]:
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    return sql_lint.problems([path])


def test_a_cte_whose_name_a_macro_is_given_is_read(tmp_path: Path) -> None:
    assert found(tmp_path, GOOD) == []


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("FROM cumulated_bins(given)", "FROM chosen", "rates.sql:6: WITH has given, which nothing reads"),
        ("FROM chosen", "FROM chosen JOIN", "rates.sql:1: sqlglot cannot read it"),
        ("-- $runs: ids of the runs\n", "", "rates.sql:1: $runs is used and not declared"),
        ("-- $runs: ids", "-- $steps: names\n-- $runs: ids", "rates.sql:1: $steps is declared and not used"),
        ("FROM chosen WHERE", "from chosen WHERE", "rates.sql:7: from is written FROM"),
        ("status IS NOT NULL", "status <> NULL", "rates.sql:1: status <> NULL is always NULL"),
        ("status IS NOT NULL", "status NOT IN (SELECT x FROM runs)", "rates.sql:1: NOT IN with a query"),
        ("status IS NOT NULL", f"status > {'1' * 130}", "rates.sql:7: 175 characters, more than 130"),
    ],
)
def test_what_breaks_a_rule_is_named_with_its_line(tmp_path: Path, before: str, after: str, said: str) -> None:
    (problem,) = found(tmp_path, GOOD.replace(before, after))
    assert problem.startswith(said)


def test_words_in_texts_names_and_comments_are_no_reserved_words(tmp_path: Path) -> None:
    assert found(tmp_path, "-- from, where and on\nSELECT 'select from' AS \"order\" FROM runs -- on it\n") == []


def test_a_function_is_one_value_or_a_query(tmp_path: Path) -> None:
    assert found(tmp_path, "-- Seconds.\n--\n-- $us: microseconds\n$us / 1e6\n", "functions/seconds.sql") == []
    assert found(tmp_path, "-- Ids.\nFROM (SELECT list(run_id) FROM runs)\n", "functions/ids.sql") == []


def test_a_block_that_stands_twice_is_named_with_all_its_places(tmp_path: Path) -> None:
    lines = [f"    c{number}," for number in range(sql_lint.COPIED)]
    once, again = "\n".join(["SELECT", *lines]), "\n".join(["SELECT x,", "", *(f"  {line}  -- why" for line in lines)])
    (said,) = sql_lint.copied({"a.sql": once, "b.sql": again})
    assert said.startswith("a.sql:2: these 5 lines stand in b.sql:3, too")
    assert sql_lint.copied({"a.sql": once, "b.sql": "\n".join(again.split("\n")[:-1])}) == []


def test_the_sql_of_the_library_breaks_no_rule() -> None:
    assert sql_lint.main() == 0
