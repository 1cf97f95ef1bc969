from ibench_lib.workloads.linkbench import checks

ROWS = {"nodetable": 10, "linktable": 20, "counttable": 5, "linktable.shown": 18}


def test_tables_and_sums_are_compared_with_the_ledger() -> None:
    assert {check.table: check.expected for check in checks.row_counts(ROWS)} == {
        "nodetable": 10, "linktable": 20, "counttable": 5,
    }  # fmt: skip
    assert [check.expected for check in checks.sums(ROWS)] == [18, 18]


def test_only_what_the_load_should_not_have_added_is_checked_again() -> None:
    expected = {"nodetable": 10, "linktable": 21, "counttable": 5}
    assert [(check.table, check.expected) for check in checks.population(ROWS, expected)] == [("linktable", 21)]


def test_counts_are_compared_up_to_a_node() -> None:
    (check,) = checks.counts(100)
    assert check.expected == 0 and check.statement.count("<= 100") == 2
    assert checks.counts(0) == []
