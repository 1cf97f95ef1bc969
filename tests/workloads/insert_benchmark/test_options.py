"""Which options of the Insert Benchmark fit together."""

import re
from typing import Any

import pytest
from pydantic import ValidationError

from ibench_lib.workloads.insert_benchmark.options import step_names
from tests.workloads.insert_benchmark.options import options


@pytest.mark.parametrize(
    ("steps", "words"),
    [
        (["l.i0", "q100"], "qr100"),
        (["l.i0", "l.il"], "did you mean 'l.i1'"),
        (["L.I0"], "did you mean 'l.i0'"),
        (["l.i0", "qr0"], "unknown step 'qr0'"),
        (["l.i0", "l.i1", "l.i1"], "occurs twice"),
        (["l.i1"], "starts from empty tables"),
        ([], "at least 1 item"),
        (["l.i0", "qr100"], "step qr100 queries the secondary indexes, which l.x creates; put l.x before it"),
        (["l.i0", "qp100", {"step": "qr500", "seconds": 5}, "l.x"], "step qr500 queries the secondary indexes"),
        (["l.i0", "l.x", {"step": "l.x", "name": "again"}], "it can create the secondary indexes only once"),
    ],
)
def test_steps_that_cannot_be_run_are_refused(steps: list[str], words: str) -> None:
    with pytest.raises(ValidationError, match=re.escape(words)):
        options(steps=steps)


def test_point_queries_need_no_secondary_index() -> None:
    assert step_names(options(steps=["l.i0", "qp100", "l.x", "qr100"])) == ["l.i0", "qp100", "l.x", "qr100"]
    assert step_names(options(steps=["l.i0", "qp100"])) == ["l.i0", "qp100"]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"steps": ["l.i0", {"step": "l.x", "rows": 5}]}, "`rows` does not apply to it"),
        ({"steps": ["l.i0", {"step": "qr100", "rate": 5}]}, "its name sets its rate"),
        ({"steps": ["l.i0", {"step": "l.i1", "seconds": 5}]}, "ends after `rows`"),
        ({"steps": ["l.i0", {"step": "l.i1"}, "l.i1"]}, "occurs twice"),
        ({"steps": ["l.i0", {"step": "l.i3"}]}, "unknown step 'l.i3'"),
        ({"steps": "2024"}, "'2023' or '2025'"),
        ({"long_transaction": ["l.i9"]}, "long_transaction names step 'l.i9'"),
        ({"data_length": [20, 10]}, "[shortest, longest]"),
        ({"secondary_indexes": 2}, "queries all three secondary indexes"),
        ({"rocksdb_bulk_load": True}, "needs engine: rocksdb"),
        ({"engine": "rocksdb", "settle": "flush"}, "settle: flush uses settings of InnoDB"),
        ({"engine": "rocksdb", "settle": "original"}, "settle: original uses settings of InnoDB"),
        ({"queriers": 0}, "greater than or equal to 1"),
        ({"protocol": "binary"}, "'text' or 'prepared'"),
        ({"protocol": "prepared", "data_length": [10, 251]}, "data of at most 250 characters, and data_length goes up"),
    ],
)
@pytest.mark.fault("F21")
def test_options_that_do_not_fit_are_refused(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError, match=re.escape(words)):
        options(**changes)
