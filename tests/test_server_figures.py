"""What the figures of a server declare."""

from ibench_lib.schema import TABLES
from ibench_lib.server_figures import FIGURES, Counter, FigurePlaces


def test_every_figure_is_a_column_of_its_table_with_its_unit_and_whether_it_counts_up() -> None:
    columns = {column.name: column for column in TABLES["server_samples"].columns}
    for figure in FIGURES:
        column = columns[figure.column]
        assert (column.unit, column.counts_up) == (figure.unit, figure.counts_up), figure.column


def test_a_variable_may_be_a_product_and_a_metric_may_be_off() -> None:
    assert Counter("variable", "size * files").factors == ["size", "files"]
    assert str(Counter("metric", "x", False)) == "metric x (off: innodb_monitor_enable)"
    assert str(Counter("status", "Questions")) == "status Questions"


def test_a_figure_without_a_place_has_none() -> None:
    assert FigurePlaces().of("questions") == ()
