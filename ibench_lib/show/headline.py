"""The first screen of a post: what was tested, and for each step what won, by how much, and whether it is noise."""

from __future__ import annotations

import html
import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import polars as pl

from ibench_lib.analysis.against import Place, against_base
from ibench_lib.analysis.costs import cost_ratios, crowded
from ibench_lib.analysis.frames import (
    by_position,
    listed,
    measured,
    preparing_steps,
    rate_label,
    repeats,
    rows_of,
    step_text,
    steps_of,
    without_short_steps,
)
from ibench_lib.analysis.frames import short_names as short_names
from ibench_lib.analysis.run_warnings import kinds_of_warnings, runs_warned
from ibench_lib.analysis.verdicts import Ratio
from ibench_lib.ask.bases import Bases
from ibench_lib.ask.provenance import names_of
from ibench_lib.ask.selection import Selection
from ibench_lib.base.wording import NOT_MEASURED, capital, count, joined
from ibench_lib.metrics import Better
from ibench_lib.show.checks.sentences import failed_check_statements
from ibench_lib.show.configurations.legend import legend, option_words
from ibench_lib.show.configurations.sentences import same_server_statements
from ibench_lib.show.costs.reasons import reasons_said
from ibench_lib.show.kit.display import Html, Shown, listed_sentences, say, sentence, sources
from ibench_lib.show.kit.pieces import TLDR, TLDR_REST, Piece, Sentence, Strip
from ibench_lib.show.kit.sparklines import sparklines
from ibench_lib.show.kit.statements import Statement, columns_of, results, without_short
from ibench_lib.show.kit.strips import (
    RATE_WORDS,
    StripRow,
    Words,
    arrows_said,
    begun,
    below_each_other,
    coloured,
    finding,
    heat,
    listed_places,
    marks_said,
    strips,
)
from ibench_lib.show.kit.table_cells import relative_text
from ibench_lib.show.kit.what_was_run import QUESTIONS, clients_said, of_each, setups_said, what_was_run
from ibench_lib.show.kit.wording import detectable_said, lasted, scale_text, smallest_said
from ibench_lib.show.made_from.sentences import client_statements, host_statements

_MOST_CHANGES = 4
_MOST_COUNTED = 4
_MOST_BUILDS = 3
_MOST_STRIPS = 8
_MOST_SAID = 5
_WITH = " (with "
_NO_COST = "No cost of an operation was captured that could explain"
_OTHER_COSTS = "The costs of an operation that were captured do not show the cause of"
_INDENT = "\u2003"


def headline(post: Selection, *, steps: Sequence[str] = ()) -> Shown:
    """What was tested, a strip for each step (`step_throughput`), and sentences on what strips do not show.

    A strip has a row for each dbms: its throughput relative to its base, with its interval. Only differences beyond
    noise are filled, and the sentences name the costs that differ with them (`step_metrics`). Steps that nobody took a
    second for have neither. If nothing is compared, there are rates over time with their dips in place of strips
    (`one_second`, `steadiness`, `dips`). `steps`: those to show; empty: all whose throughput is a result.
    """
    if post.runs.is_empty():
        return _nothing(post)
    frame = post.ask("step_throughput")
    metrics = post.ask("step_metrics")
    answers = (*names_of(frame), *names_of(metrics))
    rate, both = sources(*names_of(frame)), sources(*answers)
    twins = _twins(post)
    words = _option_words(post, frame, twins)
    strips = strips_of(
        frame, post.bases, post.palette, steps=steps, last=preparing_steps(frame), words=words, twins=twins
    )
    statements = [
        Sentence(text, both if _WITH in text or text.startswith((_NO_COST, _OTHER_COSTS)) else rate)
        for text in headline_statements(frame, post.bases, metrics, steps, drawn=_has_intervals(strips))
    ]
    sentences = listed_sentences(statements[:_MOST_SAID], statements[_MOST_SAID:])
    if not strips:  # with nothing to compare it with, a result is its rate over time
        done = without_short(results(_of_steps(frame, steps).filter(pl.col("step_status") == "complete")))[0]
        strips, more = _over_time(post, steps, done)
        answers = (*answers, *more)
    return _screen(post, _of_steps(frame, steps), strips, sentences, answers)


def opening(
    post: Selection,
    *subjects: Callable[..., list[str]],
    question: str = "",
    column: str = "",
    label: str = "",
    better: Better = "higher",
    steps: Sequence[str] = (),
    of_whole_steps: bool = False,
    over_time: bool = False,
    pictures: Html | None = None,
    **options: Any,
) -> Shown:
    """The first screen of a post with a question of its own: what was tested, strips of a figure, and sentences.

    Parameters
    ----------
    subjects, options : functions of statements and their options, as for `say`.
    question, column, label, better : what the strips show, relative to the base: a column of an answer that has a row
        for each run and step, what it is called if it is no rate, and its better direction. Without a question there
        are no strips.
    steps : those to show in strips and reservations; empty: all.
    of_whole_steps : whether the figure is of all that a step did; then steps that nobody took a second for have none.
    over_time : whether there are pictures of the rate over time with its dips (`one_second`, `steadiness`, `dips`).
    pictures : others, made from answers that the subjects take, too.
    """
    if post.runs.is_empty():
        return _nothing(post)
    rates = post.ask("step_throughput")
    strips, answers = pictures or Html(), names_of(rates)
    if question:
        frame = post.ask(question)
        answers = (*answers, *names_of(frame))
        if of_whole_steps:
            frame = without_short_steps(frame, rates)
        if "duration_s" not in frame.columns:  # of no row is then known that its step was short
            frame = frame.with_columns(duration_s=pl.lit(None, pl.Float64))
        # Next to pictures over time stand medians of their seconds, which are something else.
        figure = Figure(column, label, better, behind=" on average" if over_time else "")
        twins = _twins(post)
        words = _option_words(post, frame, twins)
        last = preparing_steps(rates)
        drawn = strips_of(frame, post.bases, post.palette, figure, steps, last, words, twins, rates)
        strips = Html(strips, drawn)
    if over_time:
        drawn, more = _over_time(post, steps)
        strips = Html(strips, drawn)
        answers = (*answers, *more)
    return _screen(post, _of_steps(rates, steps), strips, say(post, *subjects, **options), answers)


def _twins(post: Selection) -> dict[str, str]:
    """The dbms that the server ran as an earlier one in all setups that they have (`same_servers`), and that one."""
    pairs = Counter((name, first) for first, *others in post.ask("same_servers")["dbms"] for name in others)
    setups = dict(post.runs.group_by("dbms").agg(pl.col("setup").n_unique()).iter_rows())
    return {name: first for (name, first), where in pairs.items() if where == setups[name]}


def _option_words(post: Selection, frame: pl.DataFrame, twins: Mapping[str, str]) -> dict[str, str]:
    """What tells configurations apart in words (`config_diff`, `_twins`), where there are several."""
    if not by_position(frame)[1:]:
        return {}
    words = option_words(post.ask("config_diff"), post.bases)
    builds = post.bases.builds
    return words | {
        name: f"ran as {first.removeprefix(f'{builds.get(name)}.')}" for name, first in twins.items() if name in words
    }


def _over_time(post: Selection, steps: Sequence[str], only: pl.DataFrame | None = None) -> tuple[Html, tuple[str, ...]]:
    """Pictures of the rate over time, and the names of the answers that they are made from.

    `only`: rows of the runs and steps to draw; None draws all of `steps`.
    """
    seconds, steady, dips = post.ask("one_second"), post.ask("steadiness"), post.ask("dips")
    names = (*names_of(seconds), *names_of(steady), *names_of(dips))
    if only is not None:
        steady = steady.join(only, on=["run_id", "step_id"], how="semi", maintain_order="left")
    drawn = sparklines(_of_steps(seconds, steps), _of_steps(steady, steps), _of_steps(dips, steps), post.palette)
    return drawn, names


def _nothing(post: Selection) -> Shown:
    return Shown((sentence("There is no run yet, so there is nothing to show."),), names_of(post.runs))


def _has_intervals(strips: Html) -> bool:
    """Whether there are strips, and not a heat map."""
    return any(isinstance(piece, Strip) for piece in strips.pieces)


def _screen(post: Selection, rates: pl.DataFrame, strips: Html, sentences: Html, answers: Sequence[str]) -> Shown:
    """What was tested and its reservations (`step_throughput`), then what was found; made from `answers`, too."""
    options = post.ask("config_diff") if _has_intervals(strips) else None
    named = "" if options is None else legend(options, post.bases)
    if options is not None and named:
        answers = (*answers, *names_of(options))
    data = post.ask("data_and_cache")
    first = first_screen(
        _tested(post.runs, rates, data),
        badges(post.runs, rates, post.excluded),
        TLDR,
        attentions(post),
        strips,
        named,
        *([TLDR_REST] if strips else []),
        sentences,
        ran(post),
    )
    return Shown((first,), (*names_of(post.runs), *names_of(data), *answers))


def first_screen(tested: str, *parts: Piece | Html) -> Html:
    """A headline of these parts, which begins with what was tested."""
    said = Sentence(tested, kind="tested", element="p")
    return Html('<div class="headline">', said, *parts, "</div>", headline=True)


def ran(post: Selection) -> Html:
    """The strip of what was run, which ends every first screen."""
    return what_was_run(*map(post.ask, QUESTIONS))


def _of_steps(frame: pl.DataFrame, steps: Sequence[str]) -> pl.DataFrame:
    return frame.filter(pl.col("step").is_in(list(steps))) if steps else frame


def headline_statements(
    frame: pl.DataFrame,
    bases: Bases,
    metrics: pl.DataFrame | None = None,
    steps: Sequence[str] = (),
    *,
    drawn: bool = False,
) -> list[str]:
    """For each step what is faster and clearly slower than its base; then the steps in which nothing is.

    With a single dbms its rates are said. Steps that nobody took a second for are only named.

    Parameters
    ----------
    frame : `step_throughput`.
    metrics : `step_metrics`; with them sentences name the costs that differ as well.
    steps : those to tell of; empty: all. The noise is that of all.
    drawn : whether strips show the ratios with their intervals; of differences, only their costs are then said.
    """
    costs = {} if metrics is None else cost_ratios(metrics, bases)
    sentences, unexplained = list[str](), list[str]()
    even: dict[tuple[str, str], dict[str, list[Ratio]]] = {}
    named = short_names(by_position(frame), bases.builds)
    to_base = against_base(frame, bases, ["throughput"])
    several = frame["setup"].n_unique() > 1
    long, short = without_short(_of_steps(frame, steps))
    for setup, step, rows in columns_of(results(long)):
        ratios = {
            name: to_base[place]
            for name in by_position(rows)
            if (place := (setup, step, "throughput", name)) in to_base
        }
        where = f"Setup {setup}, {step}" if several else step
        clear = [name for name, one in ratios.items() if one.is_clear]
        if clear:
            rest = len(ratios) - len(clear)
            more = f" {count(rest, 'other')}: no difference found." if rest else ""
            crowd: list[str] = []
            if metrics is not None:
                crowd = crowded(metrics.filter(pl.col("setup") == setup), step)
            changes = [
                (change, _why({name: ratios[name] for name in change.names}, setup, step, costs, crowd, bases))
                for change in _changes(clear, ratios, bases, named)
            ]
            without = [change.than for change, why in changes if not why]
            at = f"setup {setup}, {step}" if several else step
            unexplained += [at] if len(without) == len(changes) else [f"{at} ({than})" for than in without]
            if drawn:
                sentences += [f"{where}: {change.without_figures}{_WITH}{why})." for change, why in changes if why]
            else:
                texts = [f"{change.text}{f'{_WITH}{why})' if why else ''}" for change, why in changes]
                sentences.append(f"{where}, {rate_label(rows, step)}: {'; '.join(texts)}.{more}")
        elif ratios:
            even.setdefault((setup, _why_even(list(ratios.values()))), {})[step] = list(ratios.values())
        elif len(named) == 1:
            ((name, label),) = named.items()
            values, unit = measured(rows, name, step), rate_label(rows, step)
            sentences += [f"{where}: {sum(values) / len(values):,.0f} {unit} with {label}."] if values else []
    if metrics is not None and unexplained:
        at_end = len(sentences) if any(_WITH in text for text in sentences) else 0
        what = "differences" if len(unexplained) > 1 else "difference"
        said = _OTHER_COSTS if costs else _NO_COST
        sentences.insert(at_end, f"{said} the {what} in {listed_places(unexplained)}.")
    not_known: dict[str, list[str]] = {}
    for (setup, why), of_steps in even.items():
        limits = smallest_said({step: detectable_said(ratios) for step, ratios in of_steps.items()})
        if limits:
            sentences.append(f"{f'Setup {setup}, ' if several else ''}{joined(list(of_steps))}: {why}{limits}.")
        else:
            not_known.setdefault(why, []).append(f"{joined(list(of_steps))}{f' in setup {setup}' if several else ''}")
    if not sentences and len(not_known) == 1:
        return [*(f"{why[0].upper()}{why[1:]}." for why in not_known), *short]
    return [*sentences, *(f"{'; '.join(where)}: {why}." for why, where in not_known.items()), *short]


def _why(
    rates: Mapping[str, Ratio],
    setup: str,
    step: str,
    costs: Mapping[Place, Ratio],
    crowd: Sequence[str],
    bases: Bases,
) -> str:
    not_known = [name for name in rates if name in crowd or bases.of(name) in crowd]
    return reasons_said(setup, step, rates, costs, not_known)


@dataclass(frozen=True)
class _Change:
    """What of one step clearly differs from one base in one direction: the largest difference first."""

    than: str
    items: list[tuple[str, str]]
    """Short name and ratio."""
    names: list[str]

    @property
    def text(self) -> str:
        """Such as: faster than base: a22 1.51x [1.29, 1.75], a20 1.50x [1.29, 1.75]."""
        return f"{self.than}: {', '.join([f'{name} {ratio}' for name, ratio in self._said] + self._more)}"

    @property
    def without_figures(self) -> str:
        """Such as: a22 and a20 are faster than base."""
        names = [name for name, _ in self._said] + [more.removeprefix("and ") for more in self._more]
        return f"{joined(names)} {'is' if len(self.items) == 1 else 'are'} {self.than}"

    @property
    def _said(self) -> list[tuple[str, str]]:
        return self.items[:_MOST_CHANGES]

    @property
    def _more(self) -> list[str]:
        more = len(self.items) - _MOST_CHANGES
        return [f"and {more} more"] if more > 0 else []


def _changes(clear: list[str], ratios: dict[str, Ratio], bases: Bases, named: Mapping[str, str]) -> list[_Change]:
    changes = []
    for base, others in bases.groups(sorted(clear, key=lambda name: -abs(math.log(ratios[name].value)))).items():
        for verdict, word in (("better", "faster"), ("worse", "slower")):
            names = [name for name in others if ratios[name].verdict == verdict]
            of_base = {name: named[name].removeprefix(f"{bases.builds.get(base)}.") for name in names}
            items = [(of_base[name], relative_text(ratios[name])) for name in names]
            changes += [_Change(f"{word} than {named.get(base, base)}", items, names)] if items else []
    return changes


def _why_even(ratios: list[Ratio]) -> str:
    if any(ratio.p is not None for ratio in ratios):
        return "no difference found"
    if all(ratio.low is None for ratio in ratios):
        return "one run of each, so a difference may be noise"
    return "too few repeats to tell a difference from noise"


def _tested(runs: pl.DataFrame, rates: pl.DataFrame, data: pl.DataFrame) -> str:
    builds = listed(runs["build"])
    servers = joined(builds) if len(builds) <= _MOST_BUILDS else count(len(builds), "build")
    configurations = listed(runs["config"])
    most = repeats(runs)
    facts = [
        f"{servers}, {count(len(configurations), 'configuration')}",
        f"{count(most, 'run') if most > 1 else 'one run'}{of_each(runs)}",
        setups_said(runs, data),
        *clients_said(runs, rates),
    ]
    return f"{'; '.join(facts)}."


def attentions(post: Selection) -> Html:
    """What must stand next to a verdict: failed checks, other hosts or clients, one server twice; empty without."""
    subjects: tuple[Callable[..., list[str]], ...] = (
        failed_check_statements,
        host_statements,
        client_statements,
        same_server_statements,
    )
    sentences = [
        Sentence(text, sources(*subject.asks), "loud")  # type: ignore[attr-defined]
        for subject in subjects
        for text in subject(*map(post.ask, subject.asks))  # type: ignore[attr-defined]
        if isinstance(text, Statement) and text.loud
    ]
    return listed_sentences(sentences)


def badges(runs: pl.DataFrame, frame: pl.DataFrame, excluded: Mapping[str, str]) -> str:
    """What a reader must know before any number: a few words, each with the whole story as its title."""
    reservations: list[tuple[str, str]] = []
    broken = len(runs.filter(pl.col("status") != "complete"))
    if excluded:
        whys = "; ".join(dict.fromkeys(excluded.values()))
        reservations.append((f"{count(len(excluded), 'run')} excluded: {whys}", ", ".join(excluded)))
    if broken:
        reservations.append(
            (f"{broken} of {count(len(runs), 'run')} not complete", "Where a step has no figures, its table says why.")
        )
    for origin, what in NOT_MEASURED.items():
        if len(runs.filter(origin=origin)):
            reservations.append((what, "Not measured here."))
    if repeats(runs) == 1:
        reservations.append((f"one run{of_each(runs)}", "The noise is unknown."))
    scales = [scale_text(scale) for scale in listed(runs["scale"]) if scale != 1]
    if scales:
        why = "Rows, durations and memory are scaled down to this fraction of scale 1."
        reservations.append((f"rows, seconds and memory at scale {joined(scales)}", why))
    warned = runs_warned(runs)
    if warned:
        what = f"warnings in {warned} of {count(len(runs), 'run')}: {_warned_of(runs)}"
        reservations.append((what, "They are listed below the table of runs."))
    reservations += _taken(runs, frame)
    done = frame.filter(pl.col("step_status") == "complete")
    for column, text, why in (
        (
            pl.col("client_bound").is_not_null(),
            "client-bound",
            "In these steps the clients, not the server, limit the rate.",
        ),
        (
            pl.col("sla_failed").fill_null(False),
            "target rate missed",
            "In these steps, some results did less work than others.",
        ),
    ):
        steps = steps_of(done.filter(column))
        if steps:
            reservations.append((f"{text}: {joined(steps)}", why))
    items = (f'<li title="{html.escape(why)}">{html.escape(text)}</li>' for text, why in reservations)
    return f'<ul class="badges" aria-label="Reservations">{"".join(items)}</ul>' if reservations else ""


def _warned_of(runs: pl.DataFrame) -> str:
    """What most runs with a warning are warned of, of which result if it is one, and how many other kinds there are."""
    kinds = sorted(kinds_of_warnings(runs), key=lambda kind: -kind.runs)
    first, *others = dict.fromkeys(kind.subject for kind in kinds)
    warned = {name for kind in kinds if kind.subject == first for _, name in kind.found}
    named = short_names(listed(runs["dbms"]), dict(runs.select("dbms", "build").iter_rows()))
    whose = f" ({named[warned.pop()]})" if len(warned) == 1 < len(named) else ""
    more = f", and {count(len(others), 'other kind')}" if others else ""
    return f"{first}{whose}{more}"


def _taken(runs: pl.DataFrame, frame: pl.DataFrame) -> list[tuple[str, str]]:
    """The CPU that others had in the steps that the post shows, those of `frame`; empty if it was not much in any."""
    busy = runs.select("run_id", "taken").explode("taken").unnest("taken").drop_nulls("share")
    busy = busy.filter(pl.col("step").is_in(frame["step"].unique().to_list())).sort("share", descending=True)
    if busy.is_empty():
        return []
    most = f"{'' if busy['step'].n_unique() == 1 else 'most in '}{busy['step'][0]}"
    where = f"in {busy['run_id'].n_unique()} of {count(len(runs), 'run')}"
    return [
        (
            f"{busy['whose'][0]} had up to {100 * busy['share'][0]:.0f} % of the CPUs {where} ({most})",
            "The warnings say what others had in each step, and who they were.",
        )
    ]


@dataclass(frozen=True)
class Figure:
    """What strips show: a column, what it is called if it is no rate, and its better direction.

    `of`: a column with the last words of what it is called, which steps may have different ones of. `behind`: what is
    said behind all that. `words`: which side of 1x a clear difference is on.
    """

    column: str = "throughput"
    label: str = ""
    better: Better = "higher"
    of: str = ""
    behind: str = ""
    words: Words = StripRow.words


def strips_of(
    frame: pl.DataFrame,
    bases: Bases,
    palette: str,
    figure: Figure = Figure(),
    steps: Sequence[str] = (),
    last: Collection[str] = (),
    words: Mapping[str, str] = MappingProxyType({}),
    twins: Mapping[str, str] = MappingProxyType({}),
    kinds: pl.DataFrame | None = None,
) -> Html:
    """The strips of all steps in which something is compared, or of `steps`, on one axis; empty if none is.

    More than a screen has room for are a heat map, without intervals.
    Those of `last`, which only prepare what others measure, come after the others, and of a figure with a label those
    in which something differs come first. `words` are those that stand behind the name of a dbms. `twins` are names of
    dbms that the server ran as another one, with that one's. `kinds` (`step_throughput`) has the kinds of steps, which
    their titles say in words, where the frame has not.
    """
    ratios = against_base(frame, bases, [figure.column])
    kinds = frame if kinds is None else kinds
    named = short_names(by_position(frame), bases.builds)
    if bases.chain:
        words = {name: f"/ {named.get(bases.of(name), bases.of(name))}" for name in named}
    labels = {name: _label(name, label, bases, words.get(name, "")) for name, label in named.items()}
    several = frame["setup"].n_unique() > 1
    titled: list[tuple[str, list[StripRow]]] = []
    places_of: list[tuple[str, list[StripRow]]] = []
    in_words: list[tuple[str, list[StripRow]]] = []
    measuring: list[StripRow] = []
    others: list[str] = []
    of_bases, at_last = False, set[str]()
    # The noise is that of all steps, as in the tables.
    places = list(columns_of(results(without_short(_of_steps(frame, steps))[0])))
    for setup, step, rows in sorted(places, key=lambda place: place[1] in last):
        names = by_position(rows)
        if any((setup, step, figure.column, name) in ratios for name in names):
            of_step = [
                replace(
                    _row(rows, (setup, step, figure.column, name), bases, ratios, labels[name], figure),
                    name=name if bases.by_build else named[name],
                    base=named.get(bases.of(name), bases.of(name)),
                    twin=twins.get(name, "") if bases.by_build else named.get(twins.get(name, ""), ""),
                )
                for name in bases.ordered(names)
                if bases.by_build or name != bases.first
            ]
            of_bases |= any((setup, step, figure.column, name) in ratios for name in names if name in bases.names)
            last_words = f" {rows[figure.of][0]}" if figure.of else ""
            before = f"setup {setup}, " if several else ""
            label = f", {figure.label}{last_words}" if figure.label else ""
            rate = (label or f", {rate_label(rows, step)}{last_words}") + figure.behind
            name = step_text(kinds, step)
            text = f"{before}{name}"
            title = text if name == step and not before else capital(text)
            titled.append((f"{title}{rate}{lasted(rows)}", of_step))
            at_last |= {titled[-1][0]} if step in last else set()
            measuring += [] if step in last else of_step
            others += [f"{before}{step}"] if step in last else []
            places_of.append((f"{before}{step}{label}", of_step))
            in_words.append((f"{before}{step_text(kinds, step, '{words} ({step})')}{label}", of_step))
    if not titled:
        return Html()
    if figure.label:  # of one question, what differs comes first
        titled.sort(key=lambda one: (one[0] in at_last, not any(row.mark for row in one[1])))
    whose = str(bases) if bases.chain else named.get(bases.first, bases.first)
    if bases.by_build:
        # Setups may have builds of their own; then no base has another one next to it.
        whose = "the base of its own build" + (f", and of each base to {bases.first}" if of_bases else "")
    many = len(titled) > _MOST_STRIPS
    shown = [row for _, rows in titled for row in rows]
    known = any(row.found is not None and row.found.low is not None for row in shown)
    if known:
        titled = [(title, [_without_noise(row) for row in rows]) for title, rows in titled]
    words_of = RATE_WORDS if figure.column == "throughput" else figure.words
    what = f"Each {'figure' if many else 'dot'}: the ratio to {whose}"
    note: str | Html = f"{what}, with its 95 % interval. {marks_said(shown)}"
    if not known:
        note = f"{what}. One run of each: the noise is unknown.{'' if many else arrows_said(shown)}"
    elif many:
        below = html.escape(_below_one(measuring, named.values(), others))
        note = Html(f'<p class="key">{html.escape(what)}. {coloured(palette, words_of, shown)}{below}</p>')
    if many and not bases.chain:  # columns have no room for options
        short = {labels[name]: _label(name, label, bases) for name, label in named.items()}
        places_of = [(title, [replace(row, label=short[row.label]) for row in rows]) for title, rows in places_of]
    pictures = heat(places_of, figure.label or "Relative rates", palette) if many else strips(titled, palette)
    text = begun(finding(in_words), {str(code) for setup, step, _ in places for code in (setup, step)})
    return Html(Sentence(text, kind="finding", element="p"), below_each_other(pictures, note))


def _below_one(rows: Sequence[StripRow], names: Iterable[str], others: Sequence[str]) -> str:
    """How many of the ratios of each name are below 1x: none may be clear, and still nearly all of them.

    They are not independent, so no test of signs can tell what such a count is worth. `others` are steps of the same
    picture that only prepare and do not count.
    """
    said = []
    for name in names:
        values = [row.found.value for row in rows if row.found and row.name == name]
        said += [f"{name} in {sum(value < 1 for value in values)} of {len(values)}"] if values else []
    if not 0 < len(said) <= _MOST_COUNTED:
        return ""
    without = ""
    if others:
        without = f", without {joined(others) if len(others) <= _MOST_COUNTED else f'the {len(others)} that prepare'}"
    return f" Below 1x{without}: {joined(said)}. This alone shows nothing: the steps of a run share its host's speed."


def _without_noise(row: StripRow) -> StripRow:
    """The row; where others have an interval and its ratio has none, its words say why."""
    return replace(row, status="noise unknown") if row.found is not None and row.found.low is None else row


def _label(name: str, label: str, bases: Bases, words: str = "") -> str:
    """The name of a configuration, then what tells it from others, or in a chain what it is compared with.

    With a base for each build, the base of a build stands above its other configurations, which are indented.
    """
    behind = f" · {words}" if words else ""
    if not bases.by_build:
        return f"{label} (base)" if name in bases.names else label + behind
    build = bases.builds.get(name, "")
    config = label.removeprefix(f"{build}.")
    return f"{build}: {config}" if name in bases.names else f"{_INDENT}{config}{behind}"


def _row(
    rows: pl.DataFrame, place: Place, bases: Bases, ratios: dict[Place, Ratio], label: str, figure: Figure
) -> StripRow:
    _, step, _, name = place
    if name == bases.first:
        return StripRow(label, None, "1x")
    ratio = ratios.get(place)
    statuses = sorted({row["step_status"] for row in rows_of(rows, name, step)} - {"complete"})
    status = "" if ratio else joined(statuses) or "no base"
    row = StripRow(label, ratio, status, figure.better, figure.words)
    if figure.column != "throughput":
        return row
    return replace(row, words=RATE_WORDS, at_target=all(_at_target(rows, one, step) for one in (name, bases.of(name))))


def _at_target(rows: pl.DataFrame, name: str, step: str) -> bool:
    """Whether all that a dbms could reach in a step was a target rate, and each of its runs did."""
    mine = rows_of(rows, name, step)
    return bool(mine) and all(row.get("paced") and row["sla_failed"] is False for row in mine)
