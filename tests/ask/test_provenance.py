"""A frame is known as an answer or as derived from some, and nothing else is."""

import gc

import polars as pl

from ibench_lib.ask.provenance import _ANSWERS, derived, names_of, remember


def test_only_the_answer_itself_is_known_and_only_while_it_lives() -> None:
    frame = pl.DataFrame({"x": [1, 2]})
    remember(frame, "sla")
    number = id(frame)
    assert number in _ANSWERS
    assert names_of(frame) == ("sla",)
    assert names_of(frame.filter(pl.col("x") > 1)) == names_of(frame.clone()) == ()
    del frame
    gc.collect()
    assert number not in _ANSWERS


def test_a_derived_frame_has_the_names_of_all_that_it_was_made_from_once() -> None:
    first, second, unknown = (pl.DataFrame({"x": [value]}) for value in (1, 2, 3))
    remember(first, "sla")
    remember(second, "gaps")
    both = derived(pl.concat([first, second]), first, second, unknown)
    assert names_of(both) == ("sla", "gaps")
    assert names_of(derived(both.filter(x=1), both, first)) == ("sla", "gaps")
    assert names_of(derived(unknown.clone(), unknown)) == ()
