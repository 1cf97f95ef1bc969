"""What a post says of two dbms, and what of nothing."""

from __future__ import annotations

import re

import pytest

import ibench_lib as ib
from ibench_lib.show.explain.explanations import Explanations
from tests.analysis.explaining import ENGINE, pair_runs, slowed
from tests.ask.pairs import pair_of
from tests.synthetic import Run

pytestmark = [pytest.mark.lake, pytest.mark.slow]
SLOWED = slowed(ENGINE, "rec_get_offsets", 2)


def post_of(*runs: Run) -> Explanations:
    return ib.explanations(pair_of(*runs))


def test_a_post_says_what_differs_and_what_cannot_be_said() -> None:
    found = post_of(*pair_runs(ENGINE, SLOWED, user=(8.0, 9.43)))
    assert next((one.setup, one.step) for one in found.each) == ("cached", "l.i0")
    page = ib.explained(found).markup
    assert "A is system.cy10a (3 runs); B is system.b (3 runs); " in page and "rec_get_offsets_func +71.5" in page
    assert '<li class="loud">Not known: whether the server runs more instructions or slower ones' in page
    terms = dict(re.findall(r'<tr title="([^:]+): ([^"]+)">', page))
    assert list(terms) == ["inserts/s", "CPU in use", "CPU per operation"] and 'class="figure clear"' in page
    said = [re.fullmatch(r"[\d.]+x \[[\d.]+, [\d.]+\](,? [\w ]+)?", text) for text in terms.values()]
    assert [found and found[1] for found in said] == [", may be noise", " more", " worse"], "intervals and words"
    assert 'href="#evidence.explain_steps"' in page and 'href="#evidence.stacks"' in page


def test_a_post_of_nothing_says_so() -> None:
    (alone, *_) = pair_runs(None, None)
    found = post_of(alone)
    assert "There is only one dbms here" in ib.explained(found).markup
    shown = ib.explained_by(found, ib.rate_terms, nothing="Nothing.")
    assert "There is only one dbms here" in shown.items[0].markup
