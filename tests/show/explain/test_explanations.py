"""What a post says of two dbms, and what of nothing."""

from __future__ import annotations

import re
from dataclasses import replace

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
    assert [found and found[1] for found in said] == [", may be noise", ", more", " worse"], "intervals and words"
    assert 'href="#evidence.explain_steps"' in page and 'href="#evidence.stacks"' in page


def test_the_first_screen_says_steps_in_words_and_what_became_of_the_rate() -> None:
    found = post_of(*pair_runs(ENGINE, SLOWED, user=(8.0, 9.43)))
    page = ib.explained(found).markup
    assert '<span class="words">Inserts in key order · </span><span class="code">l.i0, cached</span></h3>' in page
    assert re.findall('<p class="finding">([^<]*)<', page) == [
        "Inserts in key order (l.i0): no difference found (interval 1.00x to 1.00x)"
    ]
    first, *others = found.each
    rate = replace(first.rate[2], name="throughput")
    changed = replace(found, each=(replace(first, rate=(rate, *first.rate[1:])), *others))
    (said,) = re.findall('<p class="finding">([^<]*)<', ib.explained(changed).markup)
    assert re.fullmatch(r"Inserts in key order \(l\.i0\): inserts/s 1\.\d+x faster with b than with cy10a", said)
    key = "Each dot: B / A, with its 95 % interval. Rate ="
    alone = tuple(replace(term, difference=None) for term in first.rate)
    unknown = ib.explained(replace(found, each=(replace(first, rate=alone), *others))).markup
    assert (
        key in page
        and "Each dot: B / A. Rate =" in unknown
        and "95 % interval" not in unknown.partition("</figure>")[0]
    )
    without = replace(found, each=(replace(first, rate=()), *others))
    assert 'class="finding"' not in ib.explained(without).markup, "no CPU, so no picture and no finding"


def test_many_sentences_are_folded_but_not_what_cannot_be_said() -> None:
    found = post_of(*pair_runs(ENGINE, SLOWED, user=(8.0, 9.43)))
    first = replace(found.each[0], notes=tuple(f"note {n}" for n in range(9)), cannot=("why",))
    page = ib.explained(replace(found, each=(first,))).markup
    shown, folded = page.split('<details class="fold"><summary>')
    assert "Not known: why." in shown and "note 8" in folded and "note 8" not in shown
    assert "<summary>" not in ib.explained(replace(found, each=(replace(first, notes=()),))).markup


def test_a_post_of_nothing_says_so() -> None:
    (alone, *_) = pair_runs(None, None)
    found = post_of(alone)
    assert "There is only one dbms here" in ib.explained(found).markup
    shown = ib.explained_by(found, ib.rate_terms, nothing="Nothing.")
    assert "There is only one dbms here" in shown.items[0].markup
