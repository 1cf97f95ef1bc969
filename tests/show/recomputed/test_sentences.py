"""Sentences on published figures next to what their files give, and on what an archive says."""

import json

import polars as pl

import ibench_lib as ib
from tests.show.recomputed.test_tables import figures


def test_published_figures_are_counted_by_what_became_of_them() -> None:
    assert ib.recomputed_statements(figures()) == [
        "Of 3 published figures with files to recompute them from, 1 is what the files give, to the last printed "
        "digit that is no zero.",
        "1 figure differs for a reason that the data prove, whole seconds: qr500 (my8033.cy10a).",
        "1 figure differs, and no known mistake gives what is published: qr1000 (my8033.cy10a).",
        "1 published figure cannot be recomputed: no completed step has what it takes.",
    ]
    assert ib.recomputed_statements(figures().head(1)) == [
        "Of 1 published figure with files to recompute them from, it is what the files give, to the last printed digit "
        "that is no zero."
    ]
    other = pl.when(pl.col("recomputed").is_not_null()).then(1.0)
    repeated = pl.concat([figures(), figures().with_columns(repeat=pl.lit(2, pl.Int64), recomputed=other)])
    assert ib.recomputed_statements(repeated)[0] == ib.recomputed_statements(figures())[0], "figures, not runs"
    assert ib.recomputed_statements(figures().head(0)) == []


def test_an_archive_says_what_it_is_of_and_what_it_does_not_say() -> None:
    reasons = {"steps.history_list_length": "a log does not say it", "workers.rows": "sysbench does not print it"}
    more = {**reasons, "ops.rows": "sysbench does not print it"}
    logs = {"experiment": "theirs", "origin": "imported", "source": "a blog", "files": ["a", "b", "c"]}
    table = {"experiment": "table", "origin": "published", "source": "its table", "files": []}
    imports = pl.DataFrame(
        [
            {**logs, "steps": 2, "with_seconds": 1, "with_intervals": 1, "null_reasons": json.dumps(reasons)},
            {**logs, "steps": 1, "with_seconds": 0, "with_intervals": 0, "null_reasons": json.dumps(more)},
            {**table, "steps": 1, "with_seconds": 0, "with_intervals": 0, "null_reasons": "{}"},
        ]
    )
    assert ib.archive_statements(imports) == [
        "theirs: 2 runs with 3 steps from imported logs of 3 files. Source: a blog.",
        "table: 1 run with 1 step from published figures. Source: its table.",
        "The logs have single seconds of 1 step, and only longer intervals of 1 step.",
        "Not known: steps.history_list_length, because a log does not say it.",
        "Not known: workers.rows, because sysbench does not print it.",
    ]
    more = imports.head(1).with_columns(files=pl.lit(["c", "d", "e"]))
    both = "theirs: 3 runs with 5 steps from imported logs of 5 files. Source: a blog."
    assert ib.archive_statements(pl.concat([imports, more]))[0] == both, "one file is in both"
    assert "single seconds of no step" in ib.archive_statements(imports.slice(1, 1))[1]
    assert len(ib.archive_statements(imports.tail(1))) == 1
    assert ib.archive_statements(imports.head(0)) == ["Nothing here was imported."]
