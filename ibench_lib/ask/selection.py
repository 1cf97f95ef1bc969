"""What one notebook is about: some runs, some of their steps, and the base to compare with."""

from __future__ import annotations

import html
import inspect
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import partial
from typing import Any

import duckdb
import polars as pl

from ibench_lib.ask import kept
from ibench_lib.ask.ahead import Ahead, begun_ahead
from ibench_lib.ask.bases import Bases, bases, chosen_bases
from ibench_lib.ask.provenance import answer_of
from ibench_lib.ask.shared import ask_alone
from ibench_lib.base import interactive
from ibench_lib.base.wording import NOT_MEASURED, PROTOCOLS, count, suggestion
from ibench_lib.errors import ParameterError
from ibench_lib.paths import workspace
from ibench_lib.store import catalogue, reader
from ibench_lib.store.narrow import narrowed
from ibench_lib.store.state import forget_state


@dataclass(frozen=True)
class AskedQuestion:
    """A question that was asked of a selection, with what it took and its answer.

    `name` is the question, with a number where it was asked before with other parameters.
    """

    name: str
    question: str
    parameters: dict[str, Any]
    answer: pl.DataFrame


@dataclass(frozen=True)
class _Known:
    """What selections of one lake have found out: connections by their runs, answers by question and parameters."""

    narrowed: dict[tuple[str, ...], duckdb.DuckDBPyConnection] = field(default_factory=dict)
    answers: dict[tuple[str, str], pl.DataFrame] = field(default_factory=dict)


@dataclass(frozen=True, repr=False)
class Selection:
    """Part of a lake. `ask` answers any question of `ibench_lib/sql/` for it, and `asked` remembers what was.

    `bases` are what its dbms are compared with. `excluded` are the runs that would belong to it, with the reason why
    they do not. `palette` names the colours of its tables and charts. `q` has the questions as methods:
    `chosen.q.step_throughput()` is `chosen.ask("step_throughput")`.
    """

    _lake: duckdb.DuckDBPyConnection
    run_ids: list[str]
    steps: list[str]
    bases: Bases
    points: int
    asked: list[AskedQuestion] = field(default_factory=list, repr=False)
    excluded: Mapping[str, str] = field(default_factory=dict)
    palette: str = "default"
    ahead: Ahead | None = field(default=None, repr=False, compare=False)
    # Goes on to what is made of a selection by `replace`, which has the same lake.
    known: _Known = field(default_factory=_Known, repr=False, compare=False)
    # No property: Tab completes what an attribute has, but runs no code to find out.
    q: Questions = field(init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "q", Questions(self))

    @property
    def lake(self) -> duckdb.DuckDBPyConnection:
        """The connection. Whoever has it may change what it answers, so no further answer is kept for other posts."""
        forget_state(self._lake)
        return self._lake

    @property
    def base(self) -> str:
        """The first base; empty where there is no run."""
        return self.bases.first

    @property
    def _own(self) -> dict[str, Any]:
        """The parameters of questions that a selection has."""
        mine = {"runs": self.run_ids, "steps": self.steps, "points": self.points}
        return mine | {"base": self.base, "bases": list(self.bases.names), "chain": list(self.bases.chain)}

    def __repr__(self) -> str:
        steps = f", steps {', '.join(self.steps)}" if self.steps else ""
        return f"<{type(self).__name__} of {count(len(self.run_ids), 'run')}{steps}, base {str(self.bases) or 'none'}>"

    def _repr_html_(self) -> str:
        """What was chosen, dbms by setups, each with its repeats. Not through `ask`: a post would take it as asked."""
        if not self.run_ids:
            return "<p>A selection without any run.</p>"
        values = {"runs": self.run_ids}
        runs = self.looked_up("selected_runs", values).sort("dbms_position")
        names = [html.escape(name) for name in runs["experiment"].unique(maintain_order=True)]
        steps = f"; steps {html.escape(', '.join(self.steps))}" if self.steps else ""
        line = (
            f"<p><b>{', '.join(names)}</b>: {count(len(runs), 'run')}{steps}; base: {html.escape(str(self.bases))}</p>"
        )
        setups = runs["setup"].unique().sort().to_list()
        rows = []
        for dbms in runs["dbms"].unique(maintain_order=True):
            cells = [_repeats(runs.filter(dbms=dbms, setup=setup)) for setup in setups]
            mark = " (base)" if dbms in self.bases.names else ""
            rows.append(f"<tr><th>{html.escape(dbms)}{mark}</th>{''.join(cells)}</tr>")
        head = "".join(f"<th>{html.escape(setup)}</th>" for setup in setups)
        return f"{line}<table><thead><tr><th>dbms</th>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"

    @property
    def runs(self) -> pl.DataFrame:
        """The chosen runs (`selected_runs`)."""
        return self.ask("selected_runs")

    def nothing(self, said: str) -> str:
        """The sentence for an empty answer: `said`, unless there is no run at all."""
        return said if self.run_ids else "There is no run yet."

    def _given_for(self, name: str) -> dict[str, Any]:
        """Those of the parameters of a question that a selection has."""
        wanted = catalogue.parameters_of(name)
        return {key: value for key, value in self._own.items() if key in wanted}

    def remember(self, name: str, answer: pl.DataFrame) -> None:
        """Let `ask` give this answer, which somebody has worked out in another way, for the question of that name."""
        self.known.answers[name, repr(self._given_for(name))] = answer

    def ask(self, name: str, **others: Any) -> pl.DataFrame:
        """Ask a question for this selection; `others` are parameters that a selection does not have."""
        values = self._given_for(name) | others
        earlier = [one for one in self.asked if (one.question, one.parameters) == (name, values)]
        if earlier:
            return earlier[0].answer
        key = name, repr(values)
        frame = self.known.answers.get(key)
        if frame is None:
            frame = kept.asked_once(self._lake, name, values, partial(self._worked_out, name, values))
        self.known.answers[key] = frame
        before = sum(one.question == name for one in self.asked)
        title = f"{name}-{before + 1}" if before else name
        self.asked.append(AskedQuestion(title, name, values, answer_of(frame, title)))
        return self.asked[-1].answer

    def _worked_out(self, name: str, values: dict[str, Any]) -> pl.DataFrame:
        frame = self.ahead.take(name, values) if self.ahead is not None else None
        if frame is None and _named_runs(values) is not None:
            frame = ask_alone(self._lake, name, values)
        return frame if frame is not None else self._question(name, values)

    def looked_up(self, name: str, values: Mapping[str, Any]) -> pl.DataFrame:
        """The answer of a question with exactly these parameters, which does not count as asked."""
        return kept.asked_once(self._lake, name, values, partial(self._question, name, values))

    def _question(self, name: str, values: Mapping[str, Any]) -> pl.DataFrame:
        return reader.question(self._connection_for(values), name, **values)

    def _connection_for(self, values: Mapping[str, Any]) -> duckdb.DuckDBPyConnection:
        """The connection to ask with these parameters: narrowed to the files of their runs, if they name any."""
        runs = _named_runs(values)
        if runs is None:
            return self._lake  # the question says what is wrong, if it has runs at all
        if runs not in self.known.narrowed:
            self.known.narrowed[runs] = narrowed(self._lake, runs)
        return self.known.narrowed[runs]


def _named_runs(values: Mapping[str, Any]) -> tuple[str, ...] | None:
    """The runs that parameters name; None where they name none."""
    given = values.get("runs")
    return tuple(given) if isinstance(given, list | tuple) and all(isinstance(run, str) for run in given) else None


class Questions:
    """The questions of a selection as methods, which Tab completes and whose help lists the columns of the answer."""

    def __init__(self, selection: Selection) -> None:
        self._selection = selection

    def __getattr__(self, name: str) -> Callable[..., pl.DataFrame]:
        known = catalogue.questions()
        if name not in known:
            raise AttributeError(f"no question {name!r:.80}{suggestion(name, sorted(known))}")
        selection = self._selection

        def ask(**others: Any) -> pl.DataFrame:
            return selection.ask(name, **others)

        others = sorted(catalogue.parameters_of(name) - selection._own.keys())
        parameters = [inspect.Parameter(other, inspect.Parameter.KEYWORD_ONLY) for other in others]
        ask.__name__ = ask.__qualname__ = name
        ask.__doc__ = reader.documentation(name)
        ask.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        return ask

    def __dir__(self) -> list[str]:
        return sorted(catalogue.questions())


def _repeats(runs: pl.DataFrame) -> str:
    """A cell of the table: the numbers of the repeats, with the status of those that did not complete."""
    statuses = runs.sort("repeat").select("repeat", "status").rows()
    repeats = ", ".join(f"r{repeat}" if status == "complete" else f"r{repeat} {status}" for repeat, status in statuses)
    return f"<td>{html.escape(repeats)}</td>"


def choose(
    lake: duckdb.DuckDBPyConnection,
    experiment: str = "",
    *,
    runs: str | Sequence[str] = (),
    dbms: str | Sequence[str] = (),
    setups: str | Sequence[str] = (),
    steps: str | Sequence[str] = (),
    repeats: int | Sequence[int] = (),
    exclude: str | Sequence[str] = (),
    base: str = "",
    points: int = 500,
    palette: str = "default",
) -> Selection:
    """Choose what to show. One name or number may stand in place of a list.

    Parameters
    ----------
    experiment : name, or a glob for several; of each cell the latest run is taken.
    runs : ids of runs to take as well, whatever experiment they are of and whether they are the latest.
    dbms : globs on `<build>.<config>`; empty: all.
    setups, steps : names; empty: all.
    repeats : which repeats of the experiment's cells; empty: all.
    exclude : ids of runs to leave out, or globs; those that `ibench runs exclude` has excluded are left out as well.
    base : dbms to compare with; or a configuration: each dbms is compared with that of its own build. Empty: the
        first dbms in the order of the experiment file; with several builds that have several configurations, each
        build's dbms with the configuration of the first. "previous": each dbms is compared with the one before it.
    points : how many points a line of a chart may have, 2 to 2000.
    palette : "default", or "classic": green, red, yellow.

    Raises
    ------
    ParameterError : a run, setup, step, repeat, base that is not there, a glob that fits nothing, `points` out of
        range; an experiment without any run whose name is much like that of one with runs, and of no experiment file.
        Another experiment without any run is no error, nor is a lake without any: there is nothing to show yet.
        If the lake has runs of others, a warning names these.
    """
    interactive.complete(r"\.ask\(\s*['\"](\w*)", lambda: sorted(catalogue.questions()))
    runs, dbms, setups, steps, exclude = map(_list, (runs, dbms, setups, steps, exclude))
    dbms = list(map(_plain, dbms))
    repeats = [repeats] if isinstance(repeats, int) else repeats
    if not 2 <= points <= 2000:
        raise ParameterError(f"points {points!r} is out of range", hint="use 2 to 2000")
    known = kept.asked_once(lake, "known_runs", {}, partial(reader.question, lake, "known_runs"))
    if known.is_empty():
        return Selection(lake, [], list(steps), bases(base), points, palette=palette)
    _check("run", runs, known["run_id"], "in the lake")
    of_experiment = _fits(known["experiment"], [experiment]) & known["latest"]
    if experiment and not of_experiment.any():
        there = sorted(set(known["experiment"].drop_nulls()))
        near = suggestion(experiment, there)
        problem = f"experiment {experiment!r:.80} has no run in the lake{near}"
        if "did you mean" in near and experiment not in workspace().experiment_names():
            raise ParameterError(problem, hint="`ibench runs` lists the runs; `ibench run` makes some")
        warnings.warn(problem, stacklevel=2)
    if of_experiment.any():
        numbers = known.filter(of_experiment)["repeat"].cast(pl.String)
        _check("repeat", map(str, repeats), numbers, f"in any run of {experiment}")
    if repeats:
        of_experiment &= known["repeat"].is_in(list(repeats))
    of_experiment |= _fits(known["experiment"], [experiment]) & known["excluded"].is_not_null()
    candidates = known.filter(of_experiment | known["run_id"].is_in(list(runs)))
    left = [glob for glob in exclude if not _fits(known["run_id"], [glob]).any()]
    _check("run", left, known["run_id"], "in the lake")
    here = pl.when(_fits(candidates["run_id"], exclude)).then(pl.lit("excluded by this post"))
    candidates = candidates.with_columns(here.otherwise(pl.col("excluded")).alias("excluded"))
    without = {
        row["run_id"]: row["excluded"]
        for row in candidates.filter(pl.col("excluded").is_not_null()).iter_rows(named=True)
        if (not dbms or any(fnmatchcase(row["dbms"], glob) for glob in dbms))
        and (not setups or row["setup"] in setups)
        and (not repeats or row["repeat"] in repeats)
    }
    candidates = candidates.filter(pl.col("excluded").is_null())
    if candidates.is_empty():
        return Selection(lake, [], list(steps), bases(base), points, excluded=without, palette=palette)
    what = experiment if experiment and not runs else "the selection"
    _check(
        "dbms",
        [glob for glob in dbms if not _fits(candidates["dbms"], [glob]).any()],
        candidates["dbms"],
        f"in any run of {what}",
    )
    if dbms:
        candidates = candidates.filter(_fits(candidates["dbms"], dbms))
    _check("setup", setups, candidates["setup"], f"in any run of {what}")
    if setups:
        candidates = candidates.filter(pl.col("setup").is_in(list(setups)))
    everything = Selection(lake, candidates["run_id"].to_list(), [], Bases(), points)
    cells = everything.runs.sort("dbms_position")
    _check("step", steps, everything.ask("steps")["step"], f"in any run of {what}")
    if base not in cells["dbms"]:
        base = next((name for name in cells["dbms"] if _plain(name) == _plain(base)), base)
    several = chosen_bases(cells.select("dbms", "build", "config").unique(maintain_order=True).rows(), base)
    if several is None:
        _check("base", [base], pl.concat([cells["dbms"], cells["config"]]), f"in any run of {what}")
    chosen = replace(
        everything, steps=list(steps), bases=several or Bases(), asked=[], excluded=without, palette=palette
    )
    return replace(chosen, ahead=begun_ahead(lake, chosen._own))


def chosen(parameters: Mapping[str, Any]) -> Selection:
    """Choose from the workspace's lake what a notebook is about: `ib.chosen(globals())`.

    Of `parameters`, all variables of the notebook, those count that `choose` has a parameter for.
    """
    taken = inspect.signature(choose).parameters.keys() - {"lake"}
    return choose(reader.unshared_lake(), **{name: parameters[name] for name in taken & parameters.keys()})


def _plain(name: str) -> str:
    """The name of a dbms without "(imported)", "(published)" and its protocol, which it ends in where it is shown."""
    for addition in (*NOT_MEASURED, *PROTOCOLS):
        name = name.removesuffix(f" ({addition})")
    return name


def _list(given: str | Sequence[str]) -> Sequence[str]:
    return [given] if isinstance(given, str) else given


def has_run(lake: duckdb.DuckDBPyConnection, experiment: str, runs: Sequence[str]) -> bool:
    """Whether the lake has a run of the experiment, a name or a glob, or one of the runs."""
    known = reader.question(lake, "known_runs")
    return bool((_fits(known["experiment"], [experiment]) | known["run_id"].is_in(list(runs))).any())


def measured_experiment(lake: duckdb.DuckDBPyConnection, name: str | None = None) -> str:
    """The experiment of that name, by default the one with the newest run.

    Raises
    ------
    ParameterError : it has no run in the lake, or there is no run at all.
    """
    chosen = name or newest(lake)
    if not chosen:
        raise ParameterError("there is no run yet")
    if not has_run(lake, chosen, ()):
        near = suggestion(chosen, experiments(lake)["experiment"].to_list())
        raise ParameterError(f"experiment {chosen!r:.80} has no run in the lake{near}")
    return chosen


def experiments(lake: duckdb.DuckDBPyConnection) -> pl.DataFrame:
    """The experiments in the lake, the one with the newest run first (`known_experiments`)."""
    return reader.question(lake, "known_experiments")


def newest(lake: duckdb.DuckDBPyConnection) -> str:
    """The name of the experiment with the newest run; empty when there is no run, and then chooses nothing."""
    return str(next(iter(experiments(lake)["experiment"]), ""))


def _fits(names: pl.Series, globs: Sequence[str]) -> pl.Series:
    return pl.Series([any(fnmatchcase(name, glob) for glob in globs) for name in names], dtype=pl.Boolean)


def _check(what: str, wanted: Iterable[str], there: pl.Series, where: str) -> None:
    known = there.unique(maintain_order=True).to_list()
    for name in wanted:
        if name not in known:
            raise ParameterError(f"{what} {name!r:.80} is not {where}{suggestion(str(name), known)}")
