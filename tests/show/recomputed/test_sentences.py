"""Sentences on published figures next to what their files give, and on what an archive says."""

import json

import polars as pl

import ibench_lib as ib
from tests.show.recomputed.test_tables import figures

HASHES = "".join(f"{number:064x}  a/{number}.log\n" for number in range(3))


def test_published_figures_are_counted_by_what_became_of_them() -> None:
    assert ib.recomputed_statements(figures()) == [
        "Of 3 published figures with files to recompute them from, 1 is what the files give, to the last printed "
        "digit.",
        "1 figure differs for a reason that the data prove, whole seconds: qr500 (my8033.cy10a).",
        "1 figure differs, and no known mistake gives what is published: qr1000 (my8033.cy10a).",
        "1 published figure cannot be recomputed: no imported run has its step.",
    ]
    assert ib.recomputed_statements(figures().head(1)) == [
        "Of 1 published figure with files to recompute them from, it is what the files give, to the last printed digit."
    ]
    assert ib.recomputed_statements(figures().head(0)) == []


def test_an_archive_says_what_it_is_of_and_what_it_does_not_say() -> None:
    shared = {"experiment": "theirs", "source": "a blog", "experiment_text": HASHES}
    reasons = {"steps.history_list_length": "a log does not say it", "workers.rows": "sysbench does not print it"}
    more = {**reasons, "ops.rows": "sysbench does not print it"}
    evidence = pl.DataFrame(
        [
            {**shared, "run_id": "a", "origin": "imported", "null_reasons": json.dumps(reasons)},
            {**shared, "run_id": "b", "origin": "imported", "null_reasons": json.dumps(more)},
            {"experiment": "table", "source": "its table", "experiment_text": "setup,dbms\n", "run_id": "c",
             "origin": "published", "null_reasons": "{}"},
            {"experiment": "ours", "source": None, "experiment_text": "", "run_id": "d", "origin": "measured",
             "null_reasons": "{}"},
        ]
    )  # fmt: skip
    steps = pl.DataFrame(
        {"run_id": ["a", "a", "b", "c", "d"], "step_status": ["complete", "failed", "complete", "complete", "complete"]}
    )
    first, second, third, *missing = ib.archive_statements(evidence, steps)
    assert first == "theirs: 2 runs with 2 steps from imported logs of 3 files. Source: a blog."
    assert second == "table: 1 run with 1 step from published figures. Source: its table."
    assert third.startswith("The imported runs have what their files print")
    assert missing == [
        "Not known: steps.history_list_length, because a log does not say it.",
        "Not known: workers.rows, because sysbench does not print it.",
    ]
    assert ib.archive_statements(evidence.tail(1), steps) == ["Nothing here was imported."]
