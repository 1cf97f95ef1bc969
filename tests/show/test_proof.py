"""No sentence without its proof: where the data changes so that a sentence is no longer true, it goes or says so.

Each case has data that a sentence is true of, and data next to it of which it is not: the figure is the same and the
noise larger, the counter grows outside of the dip as well, the limit is missed by a little, the host was busy.
"""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

import ibench_lib as ib
from ibench_lib.ask.selection import choose
from ibench_lib.show.headline import headline_statements
from tests.shared import asked, lake_of
from tests.show.filled import AT_SYNC, level, run_with
from tests.store.test_dips import CASES, STALLED, at_work, grown, sampled
from tests.store.test_host_taken import BUSY, LATE
from tests.synthetic import Run

pytestmark = [pytest.mark.lake, pytest.mark.slow]

STEADY = (0.99, 1.0, 1.01)


def first_screen(a: tuple[float, ...], b: tuple[float, ...], **of_b: object) -> str:
    """What is said first of two results whose repeats have these many queries, in thousands."""
    runs = [
        Run(config, repeat=n, minute=10 * place + n, queries=round(5000 * share), **others)  # type: ignore[arg-type]
        for place, (config, shares, others) in enumerate([("a", a, {}), ("b", b, of_b)])
        for n, share in enumerate(shares, 1)
    ]
    post = choose(lake_of(*runs), "demo")
    (said,) = [line for line in headline_statements(post.ask("step_throughput"), post.bases) if "qr100" in line]
    return said


def test_a_winner_is_named_where_the_repeats_show_one_and_on_the_right_side() -> None:
    more = (1.19, 1.2, 1.21)
    assert re.match(r"qr100, queries/s: faster than a: b 1\.20x \[1\.1\d, 1\.2\d\]", first_screen(STEADY, more))
    assert re.match(r"qr100, queries/s: slower than a: b 0\.83x \[0\.8\d, 0\.8\d\]", first_screen(more, STEADY))
    for shares in ((0.6, 1.2, 2.4), STEADY):
        said = first_screen(STEADY, shares)
        assert "no difference found" in said and not re.search(r"faster|slower", said), (
            "the same ratio, with more noise"
        )


def dips(run: Run) -> str:
    (said, *_) = ib.dip_statements(*(asked(name, run, steps=["l.i1"]) for name in ("steadiness", "dips")))
    return said


ALWAYS = {
    "client_pause": replace(STALLED, also=at_work(0, 0)),
    "checkpoint": sampled(redo_file_waits=grown(50, 50), pages_flushed_sync=grown(500, 500)),
    "redo": sampled(redo_waits=grown(100, 100)),
}
"""Cause -> a run in which its evidence is there in the dip, and as much outside of it, where nothing is slow."""


@pytest.mark.parametrize("cause", ALWAYS)
def test_a_dip_is_put_down_to_what_was_otherwise_in_the_dip(cause: str) -> None:
    run, confidence = CASES[cause]
    (words,) = set(asked("dips", run, steps=["l.i1"])["words"])
    assert f"because {words} ({confidence} confidence)" in dips(run)
    assert words not in dips(ALWAYS[cause]), "what is always so explains no dip"
    assert "unexplained" in dips(STALLED), "nor does what is not known"


def limits(run: Run) -> list[str]:
    frame, bases = asked("step_throughput", run), choose(lake_of(run), "demo").bases
    return [line for line in ib.throughput_statements(frame, bases) if line.startswith("Limited by the clients")]


def test_clients_are_called_the_limit_where_they_came_to_it_and_got_the_cpu_for_it() -> None:
    over = Run("a", client_bound=LATE, client_limit_share=1.3)
    assert limits(over) == ["Limited by the clients, not by the server: system.a in cached, qr100."]
    for why, run in {
        "they were below it": replace(over, client_bound=None, client_limit_share=0.9),
        "they got no CPU": replace(over, also=BUSY),
        "the step has no result": replace(over, status="failed", failed_step="qr100", error="server lost"),
    }.items():
        assert limits(run) == [], why


def test_a_redo_log_is_called_full_where_its_age_came_to_the_limit() -> None:
    def said(age: int) -> list[str]:
        run = run_with({**AT_SYNC, "checkpoint_age_bytes": level(age, 90)})
        return [
            line
            for line in ib.checkpoint_statements(asked("checkpoint_limit", run, steps=["l.i1"]))
            if "its limit" in line
        ]

    (full,), (below,) = said(168), said(150)
    assert full.startswith("cached, l.i1: the checkpoint age was at its limit with system.full")
    assert below == "cached, l.i1: no checkpoint age reached its limit (highest: 90 %, system.full)."
