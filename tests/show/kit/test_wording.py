"""Words that sentences share."""

import math

import polars as pl

from ibench_lib.analysis.verdicts import Ratio
from ibench_lib.base.wording import joined, shortened
from ibench_lib.show.kit.wording import comment, detectable_said, lasted, smallest_within


def test_wording() -> None:
    assert [joined(list("abc")[:n]) for n in range(4)] == ["", "a", "a and b", "a, b and c"]
    assert shortened(list("abcde"), ", ") == "a, b, c, and 2 more"
    assert comment("# One\n#\n# two.\n# Source: x\nkey: 1\n# three") == "One two."


def test_the_sentence_that_names_a_source_is_left_out_as_a_whole() -> None:
    assert comment("# One.\n# Source: a report, whose files are for\n# MySQL; others differ. Sizes shrink.") == (
        "One. Sizes shrink."
    )
    assert comment("# Source: a report (of 2023). For 8.0.30.\n# More.") == "For 8.0.30. More."
    assert comment("# Source: https://example.org/a.b\n# More.") == "More."


def test_the_smallest_change_of_many_figures_is_said_of_the_quietest_and_of_the_noisiest() -> None:
    assert smallest_within([]) == ""
    assert smallest_within([math.log(1.06)] * 2) == "; the smallest detectable change is 6 % (about 80 % power)"
    assert smallest_within([math.log(3), math.log(1.06)]) == (
        "; the smallest detectable change is 6 % in the quietest figure and 3.00x in the noisiest (about 80 % power)"
    )


def test_what_would_have_been_found_is_said_of_the_quietest_and_the_noisiest() -> None:
    quiet, noisy = (Ratio(1.0, 0.9, 1.1, 3, p=0.9, detectable=math.log(ratio)) for ratio in (1.06, 5.2))
    assert detectable_said([noisy, quiet, Ratio(2.0)]) == "6 % to 5.20x"
    assert detectable_said([quiet, quiet]) == "6 %" and detectable_said([Ratio(2.0)]) == ""


def test_only_a_short_step_says_how_long_it_took() -> None:
    def said(*took: float | None, status: str = "complete") -> str:
        return lasted(pl.DataFrame({"duration_s": took, "step_status": status}, schema_overrides={"duration_s": float}))

    assert said(3.6, 4.2) == ", measured for 4 s" and said(4.0, 9.4) == ", measured for 4 to 9 s"
    assert said(0.77, 1.84) == ", measured for 0.8 to 1.8 s", "one side took less than a second"
    assert said(4.0, 10.0) == said(None) == said(4.0, status="failed") == ""
