"""A frame is known as an answer, and nothing else is."""

import gc

import polars as pl

from ibench_lib.answers import _ANSWERS, name_of, remember


def test_only_the_answer_itself_is_known_and_only_while_it_lives() -> None:
    frame = pl.DataFrame({"x": [1, 2]})
    before = len(_ANSWERS)
    remember(frame, "sla")
    assert name_of(frame) == "sla"
    assert name_of(frame.filter(pl.col("x") > 1)) is None
    assert name_of(frame.clone()) is None
    del frame
    gc.collect()
    assert len(_ANSWERS) == before
