"""Putting tables and charts into a notebook: one for each setup or step of a frame, with headings and sentences.

What is shown here appears in JupyterLab as in a published post.
"""

from __future__ import annotations

import html
import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import polars as pl
from IPython.display import display

from ibench_lib.analysis import frames
from ibench_lib.analysis.run_warnings import KindOfWarning, kinds_of_warnings, runs_warned
from ibench_lib.ask.bases import Bases
from ibench_lib.ask.provenance import derived, names_of
from ibench_lib.base.wording import capital, count, joined
from ibench_lib.show.kit.chart_text import CHART_MIME, PLOTLY_MIME
from ibench_lib.show.kit.drawing import Drawing, drawing_of
from ibench_lib.show.kit.grid import Grid
from ibench_lib.show.kit.html_ids import html_id
from ibench_lib.show.kit.look import themed
from ibench_lib.show.kit.picture_style import notebook_style
from ibench_lib.show.kit.pictures import picture_of
from ibench_lib.show.kit.pieces import ANSWER, Sentence
from ibench_lib.show.kit.pieces import Html as Html
from ibench_lib.show.kit.statements import Statement

if TYPE_CHECKING:
    import plotly.graph_objects as go  # type: ignore[import-untyped]

MOST_OPEN = 8
MOST_OF_SETUPS = 4
"""Results of a step that a page shows unfolded, at most."""

_MOST_KINDS = 3
"""Kinds of warnings that a page shows unfolded, at most."""

_MOST_SAID = 5
"""Sentences on one subject that a page shows unfolded, at most."""


class Asker(Protocol):
    """Who answers questions, as a selection does."""

    @property
    def bases(self) -> Bases:
        """What results are compared with."""

    @property
    def palette(self) -> str:
        """The name of the colours of its tables and charts."""

    def ask(self, name: str) -> pl.DataFrame:
        """The answer of a question of `sql/`, by its name."""


Item: TypeAlias = "Html | Grid | go.Figure | Drawing"


@dataclass(frozen=True)
class Shown:
    """Headings, tables and charts in their order; `answers` names the answers that they were made from."""

    items: tuple[Item, ...]
    answers: tuple[str, ...] = ()

    def _ipython_display_(self) -> None:
        made_from = {ANSWER: list(self.answers)} if self.answers else {}
        for item in self.items:
            if not isinstance(item, Html | Grid):
                # The figure itself, whatever renderer plotly would choose: Lab draws it as a post does.
                figure = vars(item) if isinstance(item, Drawing) else json.loads(item.to_json())
                display(_bundle(figure), raw=True, metadata=made_from)  # type: ignore[no-untyped-call]
            else:
                display(item, metadata=made_from)  # type: ignore[no-untyped-call]


def _bundle(figure: dict[str, Any]) -> dict[str, Any]:
    """The data of an output with a chart: a picture as HTML, and what needs zoom for plotly."""
    picture, figure = picture_of(figure), themed(figure)
    meta = figure["layout"]["meta"]
    if picture is None:
        return {PLOTLY_MIME: figure, "text/plain": meta["title"]}
    head = f'<figure class="picture {meta.get("width", "full")}"><figcaption>{html.escape(meta["title"])}</figcaption>'
    shown = f"{head}{picture}</figure>{notebook_style()}"
    return {CHART_MIME: figure, "text/html": shown, "text/plain": meta["title"]}


@dataclass(frozen=True)
class Section:
    """What one call shows, each part with the answers that it was made from."""

    parts: tuple[Shown | Html, ...]

    def _ipython_display_(self) -> None:
        for part in self.parts:
            display(part)  # type: ignore[no-untyped-call]


def draw(
    post: Asker, *functions: Callable[..., Grid | go.Figure], frame: pl.DataFrame | None = None, **options: Any
) -> Shown:
    """Show tables and charts of the question that they declare (`answers`), with the post's bases and palette.

    Parameters
    ----------
    functions : they show one question; how, the first one says.
    frame : what to show in place of the whole answer; functions that declare no question need it.
    options : those of `each` and `answers`, in place of what the functions declare.
    """
    first: Any = functions[0]
    declared: dict[str, Any] = getattr(first, "shown", {})
    if frame is None:
        frame = post.ask(first.answers)
    is_long = options.pop("long", getattr(first, "long", False))
    if is_long:
        frame = long_steps(post, frame)
    given = {"base": post.bases, "palette": post.palette, "a": post.bases.first, "b": getattr(post, "other", "")}
    asked: dict[str, str] = getattr(first, "asked", {})
    given |= {name: post.ask(question) for name, question in asked.items() if name not in options}
    shown = _SHOWN | declared | options
    words: dict[str, str] = {}
    if is_long and shown["heading"] == "step":  # its rates are asked for anyway
        rates = post.ask("step_throughput")
        words = {step: frames.step_text(rates, step, "{words}") for step in frames.steps_of(rates)}
    return _each(frame, functions, given, words, **shown)


_SHOWN = {"by": "setup", "heading": None, "anchor": "", "nothing": "Nothing to show.", "fold": False, "once": ()}


def each(
    frame: pl.DataFrame,
    *functions: Callable[..., Grid | go.Figure],
    by: str | Sequence[str] = "setup",
    heading: str | None = None,
    anchor: str = "",
    nothing: str = "Nothing to show.",
    fold: bool | str = False,
    once: Sequence[str] = (),
    palette: str = "default",
    **options: Any,
) -> Shown:
    """Show each function's table or chart for each group of a frame.

    Parameters
    ----------
    by : column or columns that make a group, none for the whole frame; groups keep the frame's order.
    heading : one of them, whose every new value gets a heading with the id `<value>.<anchor>`.
    nothing : the sentence for an empty frame.
    fold : fold what is below each heading if there are more than MOST_OPEN results (dbms and repeats), or several
        setups with more than MOST_OF_SETUPS charts and tables: a page with hundreds of panels hides its answers. As
        text: what to say instead of how many charts and tables there are.
    once : columns that are shown; groups of the first column of `by` that are alike in them are shown once, and that
        column then has all of their names.
    palette : the name of the colours of marks.
    options : passed to each function.
    """
    given = {"palette": palette}
    return _each(
        frame, functions, given, {}, by=by, heading=heading, anchor=anchor, nothing=nothing, fold=fold, once=once,
        **options,
    )  # fmt: skip


def _each(
    frame: pl.DataFrame,
    functions: Sequence[Callable[..., Grid | go.Figure]],
    given: Mapping[str, Any],
    words: Mapping[str, str],
    *,
    by: str | Sequence[str],
    heading: str | None,
    anchor: str,
    nothing: str,
    fold: bool | str,
    once: Sequence[str],
    **options: Any,
) -> Shown:
    """As `each`; of `given`, each function gets what it has a parameter for. `words` are those of headings."""
    if frame.is_empty():
        return Shown((sentence(nothing),), names_of(frame))
    names = names_of(frame)
    # Nobody asks a part of it for its answers, and each frame that is made would have to be given their names.
    frame = pl.DataFrame(frame)
    given = {name: pl.DataFrame(each) if isinstance(each, pl.DataFrame) else each for name, each in given.items()}
    parts: dict[str, list[Item]] = {}
    drawings = [(drawing_of(function), _taken(function, given)) for function in functions]
    columns = [by] if isinstance(by, str) else list(by)
    groups = [group for _, group in frame.group_by(columns, maintain_order=True)] if columns else [frame]
    for group in _alike(groups, columns, once) if once else groups:
        value = str(group[heading][0]) if heading else ""
        made = [function(group, **taken, **options) for function, taken in drawings]
        parts.setdefault(value, []).extend(_coloured(item, given["palette"]) for item in made)
    folded = fold and (
        frame.select("dbms", "repeat").n_unique() > MOST_OPEN
        or (frame["setup"].n_unique() > 1 and sum(map(len, parts.values())) > MOST_OF_SETUPS)
    )
    items: list[Item] = []
    for value, below in parts.items():
        head = _heading(value, anchor, words.get(value, value)) if heading else ""
        if folded:
            what = fold if isinstance(fold, str) else _what(below)
            summary = f'{head} <span class="what">{html.escape(what)}</span>'
            items += [Html(f'<details class="fold"><summary>{summary}</summary>'), *below, Html("</details>")]
        else:
            items += [*([Html(head)] if head else []), *below]
    return Shown(tuple(items), names)


def _alike(groups: Sequence[pl.DataFrame], by: Sequence[str], once: Sequence[str]) -> list[pl.DataFrame]:
    """Groups without those that are as an earlier one in the columns `once`: that has the names of all of them."""
    found: dict[tuple[Any, ...], list[pl.DataFrame]] = {}
    for group in groups:
        found.setdefault(tuple(group.select(*by[1:], *once).iter_rows()), []).append(group)
    names = [joined([str(group[by[0]][0]) for group in alike]) for alike in found.values()]
    return [alike[0].with_columns(pl.lit(name).alias(by[0])) for name, alike in zip(names, found.values(), strict=True)]


def _heading(value: str, anchor: str, words: str) -> str:
    """What a part is in words, if they are other ones, before its name: a table of contents has the name only."""
    text = html.escape(value)
    if words != value:
        text = f'<span class="words">{html.escape(capital(words))} · </span><span class="code">{text}</span>'
    return f'<h3 id="{html_id(f"{value}.{anchor}")}">{text}</h3>'


def _coloured(item: Item, palette: str) -> Item:
    return replace(item, palette=palette) if isinstance(item, Grid) else item


def _taken(function: Callable[..., Any], given: Mapping[str, Any]) -> dict[str, Any]:
    parameters = inspect.signature(function).parameters
    return {name: value for name, value in given.items() if name in parameters}


def long_steps(post: Asker, frame: pl.DataFrame) -> pl.DataFrame:
    """The rows of an answer without those of steps that nobody took a second for (`step_throughput`).

    What differs in so short a step is chance. The sentences on throughput name these steps.
    """
    return derived(frames.without_short_steps(frame, post.ask("step_throughput")), frame)


def middle_runs(post: Asker, frame: pl.DataFrame) -> pl.DataFrame:
    """The rows of an answer of one run of each result: the repeat with the median rate (`steadiness`).

    It is the one that the first screen draws. Pages with many panels for each run show these only.
    """
    middle = frames.middle_runs(post.ask("steadiness"), "median_rate")
    return derived(frame.join(middle, on=["step_id", "run_id"], how="semi", maintain_order="left"), frame)


def _what(items: Sequence[Item]) -> str:
    """2 charts and 1 table."""
    charts = sum(not isinstance(item, Html | Grid) for item in items)
    kinds = ((charts, "chart"), (len(items) - charts, "table"))
    return joined([count(number, word) for number, word in kinds if number])


def sentence(text: str, *questions: str) -> Html:
    """One paragraph of plain text, with links to the questions that it rests on."""
    return Html(Sentence(text, sources(*questions), "said", "p"))


def warnings(runs: pl.DataFrame) -> Html:
    """What the runs warn of (`selected_runs`): one line for warnings that differ in their numbers only, all below it.

    A line says which results it is about, and how many of their runs.
    """
    kinds = kinds_of_warnings(runs)
    if not kinds:
        return sentence("No run has a warning.", *names_of(runs))
    lines = Html(*map(_kind_of_warning, kinds))
    links = sources(*names_of(runs))
    if len(kinds) <= _MOST_KINDS:
        return Html(f"<p>Warnings of the runs:{links}</p><ul>", lines, "</ul>")
    summary = f"{len(kinds)} kinds of warnings in {runs_warned(runs)} of {count(len(runs), 'run')}"
    return Html(f'<details class="fold"><summary>{summary}</summary><ul>', lines, f"</ul></details><p>{links}</p>")


def _kind_of_warning(kind: KindOfWarning) -> Html:
    """A line for one kind, which unfolds if it has several warnings."""
    if len(kind.texts) == 1:
        return Html(Sentence(str(kind)))
    each = [Sentence(f"{text} ({dbms})") for text, dbms in kind.found]
    return Html(f"<li><details><summary>{html.escape(str(kind))}</summary><ul>", *each, "</ul></details></li>")


def say(post: Asker, *subjects: Callable[..., list[str]], **options: Any) -> Html:
    """A list of the sentences of functions of statements, each with a link to the query that supports it.

    Of many, all but the first are folded; one that nobody should overlook never is.
    Each is marked with the questions whose answers it takes (`ibench_lib.show.kit.statements.asks`); it gets the
    `options` as well.
    """
    lines: list[Sentence] = []
    folded: list[Sentence] = []
    for subject in subjects:
        questions: tuple[str, ...] = subject.asks  # type: ignore[attr-defined]
        base = {"base": post.bases} if subject.takes_base else {}  # type: ignore[attr-defined]
        links = sources(*questions)
        for text in subject(*map(post.ask, questions), **base, **options):
            loud = "loud" if isinstance(text, Statement) and text.loud else ""
            place = lines if loud or len(lines) < _MOST_SAID else folded
            place.append(Sentence(str(text), links, loud))
    if len(folded) == 1:
        lines, folded = [*lines, *folded], []
    return listed_sentences(lines, folded)


def listed_sentences(lines: Sequence[Sentence], folded: Sequence[Sentence] = ()) -> Html:
    """A list of sentences, and below it a folded one."""
    shown = Html('<ul class="statements">', *lines, "</ul>") if lines else Html()
    if not folded:
        return shown
    summary = f'<details class="fold"><summary>{count(len(folded), "more sentence")}</summary>'
    return Html(shown, summary, listed_sentences(folded), "</details>")


def sources(*questions: str) -> str:
    """Links to the questions that a generated sentence rests on, as HTML to stand at its end; several are numbered."""
    asked = list(dict.fromkeys(questions))
    if len(asked) < 2:
        return "".join(f" {_source(question, 'query')}" for question in asked)
    links = " ".join(_source(question, str(number)) for number, question in enumerate(asked, start=1))
    return f' <span class="sources">queries {links}</span>'


def _source(question: str, text: str) -> str:
    address, name = html.escape(f"#evidence.{question}"), html.escape(question)
    label = f"{text}: the query behind this, {name}"
    return f'<a class="source" href="{address}" aria-label="{label}" title="{name}">{text}</a>'
