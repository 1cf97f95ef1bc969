"""The first screen of a comparison of two dbms: rates and tail latency of each step, and what may explain them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

import polars as pl

from ibench_lib.analysis.comparison import DIFFERENT, UNJUDGED, Comparison, compared
from ibench_lib.analysis.frames import rate_label, short_names, step_text
from ibench_lib.ask.pair import Pair
from ibench_lib.ask.provenance import names_of
from ibench_lib.base.wording import capital, count, joined
from ibench_lib.show.compare.comparison import long_values
from ibench_lib.show.headline import attentions, badges, first_screen, ran
from ibench_lib.show.kit.display import Shown, listed_sentences, sentence, sources
from ibench_lib.show.kit.pieces import TLDR, TLDR_REST, Sentence
from ibench_lib.show.kit.strips import (
    RATE_WORDS,
    StripRow,
    begun,
    below_each_other,
    finding,
    marks_said,
    strips,
)
from ibench_lib.show.kit.what_was_run import clients_said, setups_said
from ibench_lib.show.kit.wording import change_text, lasted, smallest_said

_MOST_REASONS = 3
_WHY = ("cost", "lag")
_TAIL = "response_p99_ms"

_COSTS = "Costs are drawn only if they differ."


def pair_headline(chosen: Pair) -> Shown:
    """What was compared, a strip for each step (`metric_values`), and the changes that would be found where none is.

    A strip has the rates of the step, the 99th percentile of its main operation, and those costs that differ beyond
    noise: the largest differences. Verdicts are those of the tables.
    """
    if not chosen.base or not chosen.other:
        return Shown((sentence(chosen.nothing(""), "selected_runs"),))
    rates = chosen.ask("step_throughput")
    values, short = long_values(chosen.values(), rates)
    several = values["setup"].n_unique() > 1
    link = sources("metric_values")
    titled: list[tuple[str, list[StripRow]]] = []
    rates_of: list[tuple[str, list[StripRow]]] = []
    judged = False
    steps_of: dict[str, list[str]] = {}
    for (setup, step), frame in values.group_by("setup", "step", maintain_order=True):
        # The metrics of a table are judged together, here as there.
        of_step, of_responses = (
            compared(frame.filter(which), chosen.base, chosen.other)
            for which in (pl.col("operation").is_null(), pl.col("operation").is_not_null())
        )
        main, reasons = _main(of_step, of_responses), _reasons(of_step)
        where = f"{setup}, {step}" if several else str(step)
        if sum(one.metric.group == "rate" for one in main) == 1:  # what it counts depends on the step
            main[0] = replace(main[0], metric=replace(main[0].metric, label=rate_label(rates, str(step))))
        rows = [_row(one) for one in (*main, *reasons) if one.ratio]
        judged |= any(row.found is not None and row.found.low is not None for row in rows)
        if rows:
            before, name = f"setup {setup}, " if several else "", step_text(rates, str(step))
            title = name if name == step and not before else capital(f"{before}{name}")
            of_step_rates = rates.filter(setup=setup, step=step)
            titled.append((f"{title}{lasted(of_step_rates)}", rows))
            of_main = rows[: sum(one.ratio is not None for one in main)]
            of_rates = of_main[: sum(one.ratio is not None and one.metric.group == "rate" for one in main)]
            in_words = f"{before}{step_text(rates, str(step), '{words} ({step})')}"
            rates_of.append((in_words, of_rates if any(row.mark for row in of_rates) else of_main))
            if not any(one.verdict in DIFFERENT for one in main):
                steps_of.setdefault(f"{_no_difference(main)}.", []).append(where)
    if not titled:
        nothing = "No step is complete for both A and B, so there is nothing to compare."
        return Shown((sentence(nothing, "metric_values"),))
    texts = [f"{joined(steps)}: {text}" for text, steps in steps_of.items()]
    sentences = [Sentence(text, link) for text in texts]
    sentences += [Sentence(text, sources("step_throughput")) for text in short]
    sides = f"Each dot: B / A ({chosen.other} / {chosen.base})"
    whose = "all that were chosen" if chosen.neighbours else "these two alone"
    marks = marks_said(row for _, rows in titled for row in rows)
    pooled = "" if chosen.neighbours else " (a post of more results pools the noise of all, so its intervals differ)"
    key = f"{sides}, with its 95 % interval from the noise of {whose}{pooled}. {marks} {_COSTS}"
    if not judged:
        key = f"{sides}. One side has only one run: the noise is unknown."
    codes = {str(code) for place in values.select("setup", "step").unique().iter_rows() for code in place}
    screen = first_screen(
        tested(chosen),
        badges(chosen.runs, rates, chosen.excluded),
        TLDR,
        attentions(chosen),
        pair_finding(chosen, rates_of, codes),
        below_each_other(strips(titled, chosen.palette), key),
        TLDR_REST,
        listed_sentences(sentences),
        ran(chosen),
    )
    answers = (*names_of(chosen.runs), *names_of(rates), "metric_values")
    return Shown((screen,), answers)


def pair_finding(chosen: Pair, titled: Sequence[tuple[str, Sequence[StripRow]]], codes: Collection[str]) -> Sentence:
    """What strips of a pair show in one sentence: with which of the two, and than with which. Rows are metrics."""
    sides = [chosen.base, chosen.other]
    named = short_names(sides, dict(chosen.runs.select("dbms", "build").iter_rows()))
    rows_of = [(title, [replace(row, base=named[chosen.base]) for row in rows]) for title, rows in titled]
    other = named[chosen.other].replace("{", "{{").replace("}", "}}")
    text = finding(rows_of, f"{{names}} {{figure}} with {other}{{than}}")
    return Sentence(begun(text, codes), kind="finding", element="p")


def _row(one: Comparison) -> StripRow:
    row = StripRow(one.label, one.ratio, "", one.metric.better)
    return replace(row, words=RATE_WORDS, at_target=one.at_target) if one.metric.group == "rate" else row


def _main(of_step: list[Comparison], of_responses: list[Comparison]) -> list[Comparison]:
    """The rates of a step, and the tail latency of the operation that its tables have first."""
    tails = [one for one in of_responses if one.metric.name == _TAIL and one.ratio]
    # Of a paced step, the time from when a statement was due tells what a user would have met.
    first = [one for one in tails if one.operation == tails[0].operation][-1:]
    return [*(one for one in of_step if one.metric.group == "rate"), *first]


def _reasons(of_step: list[Comparison]) -> list[Comparison]:
    """The costs and lags that clearly differ most."""
    differing = [
        one for one in of_step
        if one.metric.group in _WHY and one.metric.better != "neither" and one.verdict in DIFFERENT and one.ratio
    ]  # fmt: skip
    return sorted(differing, key=lambda one: -one.size)[:_MOST_REASONS]


def _no_difference(main: list[Comparison]) -> str:
    what = joined([one.label for one in main]) or "rates"
    judged = [one for one in main if one.verdict is not None and one.verdict not in UNJUDGED]
    if not judged:
        return "too few runs to tell a difference from noise"
    known = [one.detectable for one in judged if one.detectable is not None]
    limit = smallest_said({"": change_text(max(known))}) if known else ""
    return f"no difference found in {what}{limit}"


def tested(chosen: Pair) -> str:
    """What A and B are, with their runs and setups, in one line."""
    runs = chosen.runs
    sides = [
        f"{side} is {name} ({count(len(runs.filter(pl.col('dbms') == name)), 'run')})"
        for side, name in (("A", chosen.base), ("B", chosen.other))
    ]
    of = [setups_said(runs, chosen.ask("data_and_cache")), *clients_said(runs, chosen.ask("step_throughput"))]
    return f"{'; '.join([*sides, *of])}."
