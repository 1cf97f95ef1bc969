"""What an experiment file may ask of sysbench."""

from typing import Any

import pytest
from pydantic import ValidationError

from ibench_lib.workloads.sysbench.options import Options


def options(**given: Any) -> Options:
    return Options.model_validate(
        {"benchmark": "sysbench", "tests": ["oltp_point_select"], "threads": [1], "rand_type": "uniform", **given}
    )


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"rand_type": None}, "rand_type"),
        ({"tests": ["oltp_read_writ"]}, "unknown test 'oltp_read_writ'; did you mean 'oltp_read_write'?"),
        ({"tests": ["poinquery"]}, "unknown test 'poinquery'; did you mean 'point-query'?"),
        ({"tests": "microbenchmark"}, "tests: 'microbenchmark' is not microbenchmarks, the name of a preset, and not"),
        ({"tests": []}, "at least 1 item"),
        ({"tests": ["oltp_read_only", "oltp_read_only"]}, "tests: oltp_read_only occurs more than once"),
        ({"threads": [4, 4]}, "threads: 4 occurs more than once"),
        ({"threads": [0]}, "greater than or equal to 1"),
        ({"tests": [{"test": "oltp_read_only", "options": {"threads": 3}}]}, "option threads is set by ibench"),
        ({"tests": [{"test": "oltp_read_only", "options": {"mysql-user": "x"}}]}, "mysql-user is set by ibench"),
        ({"tests": [{"test": "oltp_read_only", "options": {"--range-size": 3}}]}, "write it without dashes"),
        ({"tests": [{"test": "oltp_read_only", "options": {"range-size": "a b"}}]}, "is no value of an option"),
        ({"tests": [{"test": "oltp_read_only", "rate": 0}]}, "greater than or equal to 1"),
        ({"transport": "tls"}, "transport"),
        ({"engine": "tokudb"}, "engine"),
        ({"engine": "rocksdb", "settle": "flush"}, "settle: flush uses settings of InnoDB, which engine rocksdb does"),
        ({"engine": "rocksdb", "tests": ["bulk_insert"]}, "bulk_insert makes its tables itself, without an engine"),
        ({"clients": 2}, "less than or equal to 1"),
    ],
)  # fmt: skip
def test_what_cannot_be_asked_is_refused_with_the_reason(given: dict[str, Any], why: str) -> None:
    with pytest.raises(ValidationError) as caught:
        options(**given)
    assert why in str(caught.value)


def test_how_the_server_settles_belongs_to_a_cell_whose_tests_have_it_settle() -> None:
    assert "settle" not in options(settle="original").model_dump()
    chosen = options(tests=["read-write-100", "scan"], settle="original")
    assert chosen.model_dump()["settle"] == "original"
    assert chosen.model_dump(include={"seed"}) == {"seed": 1} == options().model_dump(include={"seed"})


def test_cells_of_before_there_was_an_engine_stay_done() -> None:
    assert "engine" not in options().model_dump() and "engine" not in options(engine="innodb").model_dump()
    of_rocksdb = options(engine="rocksdb", tests="microbenchmarks").model_dump()
    assert (of_rocksdb["engine"], of_rocksdb["settle"]) == ("rocksdb", "none")


def test_a_microbenchmark_has_its_options_and_those_that_are_given() -> None:
    (test,) = options(tests=[{"test": "read-only-sum", "name": "sums", "options": {"range-size": 5}}]).tests
    assert test.label == "sums" and test.all_options["range-size"] == 5 and test.all_options["sum-ranges"] == 1
    assert test.all_options["order-ranges"] == 0
