"""A frame is known as an answer or as made from some, and nothing else is."""

import polars as pl
import pytest

from ibench_lib.ask.provenance import Answer, answer_of, derived, names_of

SLA = answer_of(pl.DataFrame({"x": [2, 1], "setup": ["a", "b"]}), "sla")
GAPS = answer_of(pl.DataFrame({"x": [1, 2], "gap": [3, 4]}), "gaps")


@pytest.mark.parametrize(
    "made",
    [
        SLA.filter(pl.col("x") > 1),
        SLA.select("x"),
        SLA.with_columns(y=pl.lit(1)),
        SLA.sort("x").head(1),
        SLA.drop("x").unique(),
        SLA.rename({"x": "y"}),
        SLA.clear(),
        SLA.clone(),
        SLA.partition_by("setup")[1],
        SLA.join(pl.DataFrame({"x": [1]}), on="x"),
        SLA.group_by("setup").agg(pl.sum("x")),
        SLA.group_by("setup", maintain_order=True).head(1),
        next(iter(SLA.group_by("setup")))[1],
        dict(SLA.group_by("setup"))["a",].filter(x=2),
        SLA.sort("x").rolling("x", period="2i").agg(pl.len()),
        SLA.sort("x").group_by_dynamic("x", every="2i").agg(pl.len()),
        next(iter(SLA.sort("x").rolling("x", period="2i")))[1],
        SLA.lazy().filter(pl.col("x") > 1).with_columns(y=1).collect(),
        SLA.lazy().group_by("setup").agg(pl.max("x")).sort("x").collect(),
        SLA.lazy().join(pl.LazyFrame({"x": [1]}), on="x").collect(),
        SLA.lazy().collect().lazy().collect(),
        SLA.pipe(lambda frame: frame.filter(x=1)),
    ],
)
def test_what_is_made_of_an_answer_leads_to_its_question(made: pl.DataFrame) -> None:
    assert isinstance(made, Answer) and names_of(made) == ("sla",)


def test_what_is_made_of_two_leads_to_both() -> None:
    assert names_of(SLA.join(GAPS, on="x")) == names_of(SLA.join(other=GAPS, on="x", how="semi")) == ("sla", "gaps")
    assert names_of(SLA.select("x").vstack(GAPS.select("x"))) == ("sla", "gaps")
    assert names_of(SLA.lazy().join(GAPS.lazy(), on="x").collect()) == ("sla", "gaps")
    assert names_of(GAPS.filter(gap=3).join(SLA, on="x")) == ("gaps", "sla")


def test_an_answer_has_the_data_of_its_frame_and_no_other_frame_is_known() -> None:
    assert SLA.filter(x=1).to_dicts() == [{"x": 1, "setup": "b"}] and SLA["x"].to_list() == [2, 1]
    frame = pl.DataFrame({"x": [3]})
    for other in (frame.lazy().collect(), frame.group_by("x").agg(pl.len()), next(iter(frame.group_by("x")))[1]):
        assert type(other) is pl.DataFrame, "what is made of other frames is as polars makes it"
    assert names_of(answer_of(frame, "sla")) == ("sla",) and names_of(frame) == ()
    assert names_of(derived(frame)) == ()


def test_a_derived_frame_has_the_names_of_all_that_it_was_made_from_once() -> None:
    unknown = pl.DataFrame({"x": [3]})
    both = derived(pl.concat([SLA.select("x"), GAPS.select("x")]), SLA, GAPS, unknown)
    assert names_of(both) == ("sla", "gaps")
    assert names_of(derived(both.filter(x=1), both, SLA)) == ("sla", "gaps")
