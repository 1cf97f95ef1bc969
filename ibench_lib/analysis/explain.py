"""Why one of two dbms is slower in a step: what can be taken apart exactly, what is bounded, and what cannot be said.

The rate is the CPU in use over the CPU per operation, exactly. The CPU per operation is divided over server, clients
and the rest of the host, and the server's over its functions and subsystems, by the samples of perf.
"""

from __future__ import annotations

import dataclasses
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from statistics import fmean
from typing import Any

import polars as pl

from ibench_lib.analysis.explanation import SAME, Explanation, Function, Part, Quality, Surroundings, Term
from ibench_lib.analysis.symbols import NO_NAME, coarse, is_unknown, stack_of
from ibench_lib.ask.pair import Pair
from ibench_lib.base.wording import count
from ibench_lib.errors import ParameterError
from ibench_lib.stats.noise import Difference, judged_together, noise_of
from ibench_lib.stats.profile_costs import LEAST_RUNS, PartCost, RunProfile, part_costs

LITTLE_TOLERANCE = 0.02
"""How far the mean number of statements in flight may be from what Little's law says, as a share."""

SAMPLED_TOLERANCE = 0.05
"""How far the CPU that the samples stand for may be from that of the process, as a share."""

RECORDED_TOLERANCE = 0.10
"""How far the CPU per statement in the recordings may be from that of the whole step, as a share."""

MOST_UNKNOWN = 0.20
"""Above this share of samples without a name functions say little: only subsystems are shown."""

_SETTINGS = 8
"""Variables that a note names."""

OTHERS = 0.10
"""From this share of the host's CPU on, what neither the server nor the clients used is mentioned."""

_RATE = (("throughput", "rate", "/s"), ("cpus_used", "CPU in use", "CPUs"), ("cpu_us", "CPU per operation", "us"))
_CPU: tuple[tuple[str, str, Quality, str], ...] = (
    ("server_user_us", "server, user mode", "exact", "the server's process"),
    ("server_system_us", "server, kernel", "exact", "the server's process"),
    ("clients_us", "clients", "exact", "the clients' processes"),
    ("other_us", "everything else on the host", "by difference", "the host's CPU less server and clients"),
)
_PROCESSOR = (
    ("ipq", "instructions per operation", ""),
    ("cpi", "cycles per instruction", ""),
    ("clock_ghz", "clock", "GHz"),
)
_RESPONSE: tuple[tuple[str, str, Quality, str], ...] = (
    ("response_us", "response time", "exact", "sent to answered, by the clients"),
    ("server_us", "server CPU", "upper bound", "background threads are in it"),
    ("queued_us", "waiting for a CPU", "upper bound", "threads that were ready to run, background threads too"),
    ("read_us", "storage reads", "upper bound", "time of the device, for all that waited"),
    ("flush_us", "storage flushes", "upper bound", "time of the device, for all that waited"),
    ("wait_us", "locks and files", "upper bound", "performance_schema times uncontended locks as well"),
    ("think_us", "between statements", "by difference", "connections / rate less the response time; no part of it"),
)
_OVERLAPPING = ("server_us", "queued_us", "read_us", "flush_us")
"""What the rest is taken from. Waits are left out: those for files are the device's time once more."""


def explain(chosen: Pair, step: str, setup: str = "") -> Explanation:
    """Explain the difference of a pair in one step; `setup` may be empty if both sides have only one in common.

    Raises
    ------
    ParameterError : there are no two dbms, or no run of a side completed the step in a setup that both have.
    """
    if not chosen.base or not chosen.other:
        raise ParameterError(chosen.nothing("there are no two dbms to explain").rstrip("."))
    setup = setup or _common_setup(chosen, step)
    # Of all steps, as the noise is: asked once.
    figures = chosen.ask("explain_steps", steps=[]).filter((pl.col("step") == step) & (pl.col("setup") == setup))
    done = figures.filter(pl.col("step_status") == "complete")
    sides = [done.filter(pl.col("dbms") == name).to_dicts() for name in (chosen.base, chosen.other)]
    for name, rows in zip((chosen.base, chosen.other), sides, strict=True):
        if not rows:
            raise ParameterError(f"no run of {name} completed {step} in {setup}")
    cannot, notes = _cautions(figures, sides, (chosen.base, chosen.other))
    mixed = [why for why in (_mixed_hosts(sides), _mixed_clients(sides)) if why]
    cannot += mixed
    usable = min(map(len, sides)) >= LEAST_RUNS and not mixed
    ids = [[row["run_id"] for row in rows] for rows in sides]
    every = chosen.with_neighbours("explain_steps")
    every = every.filter((pl.col("setup") == setup) & (pl.col("step_status") == "complete"))

    def difference(name: str) -> Difference | None:
        """The logarithm of B / A, with the noise of all dbms in all steps, as in the tables of posts."""
        return chosen.differences(every.filter(pl.col(name) > 0), name).get(step) if usable else None

    rate = _terms(_RATE, sides, difference)
    if rate and rate[0].difference is None and usable:
        few = _counted(sides, (chosen.base, chosen.other))
        cannot.append(f"whether rate and CPU differ by more than noise: {few} are too few; 3 of each are needed")
    if not rate:
        cannot.append(
            "whether CPU in use or CPU per operation changed the rate: the host's CPU was not captured over the step"
        )
    response, why = _response(sides, usable)
    cannot += [why] if why else []
    processor = _terms(_PROCESSOR, sides, difference)
    if not processor:
        cannot.append(_no_counters(chosen, sides))
    notes += _settings(chosen, setup)
    profile = _profile(chosen, step, ids, usable, cannot, notes)
    return Explanation(
        chosen.base, chosen.other, setup, step, (tuple(ids[0]), tuple(ids[1])), sides[0][0]["rate_label"] or "ops/s",
        rate, _parts(_CPU, sides, usable), processor, response, *profile, tuple(cannot), tuple(notes),
    )  # fmt: skip


def explained_steps(chosen: Pair) -> list[tuple[str, str]]:
    """(setup, step) of those that both sides completed in a run, in the order of the steps."""
    if not chosen.base or not chosen.other:
        return []
    return _of_both(chosen.ask("explain_steps"))


def _of_both(figures: pl.DataFrame) -> list[tuple[str, str]]:
    done = figures.filter(pl.col("step_status") == "complete")
    both = done.group_by("setup", "step", maintain_order=True).agg(pl.col("dbms").n_unique())
    return both.filter(pl.col("dbms") == 2).select("setup", "step").rows()


def profiled_run(cost: float, stacks: Sequence[tuple[str, int]], parts: Callable[[str], Sequence[str]]) -> RunProfile:
    """One run's profile: stacks with their samples, and the parts that each stack counts for."""
    counts: Counter[str] = Counter()
    for stack, samples in stacks:
        for part in parts(stack):
            counts[part] += samples
    return RunProfile(cost, sum(samples for _, samples in stacks), counts)


def _common_setup(chosen: Pair, step: str) -> str:
    setups = [setup for setup, name in _of_both(chosen.ask("explain_steps", steps=[])) if name == step]
    if not setups:
        raise ParameterError(f"no setup has a complete {step:.80} of both {chosen.base} and {chosen.other}")
    if len(setups) > 1:
        raise ParameterError(f"{step} was run in several setups: {', '.join(setups)}", hint="name one with --setup")
    return setups[0]


def _counted(sides: Sequence[Sequence[Mapping[str, Any]]], names: Sequence[str]) -> str:
    return " and ".join(f"{count(len(rows), 'run')} of {name}" for name, rows in zip(names, sides, strict=True))


def _cautions(
    figures: pl.DataFrame, sides: Sequence[Sequence[Mapping[str, Any]]], names: Sequence[str]
) -> tuple[list[str], list[str]]:
    """What cannot be said for want of runs, and what to know of those that there are."""
    cannot, notes = [], []
    if min(map(len, sides)) < LEAST_RUNS:
        few = _counted(sides, names)
        cannot.append(f"whether anything here is more than noise: there are only {few}; intervals need 3 runs of each")
    for name in names:
        broken = figures.filter((pl.col("dbms") == name) & (pl.col("step_status") != "complete"))
        if len(broken):
            verb = "is" if len(broken) == 1 else "are"
            notes.append(f"{count(len(broken), 'run')} of {name} did not complete the step and {verb} left out")
    rows = [row for side in sides for row in side]
    if any(row["paced"] for row in rows):
        cannot.append(
            "why the rate differs: the clients had a target rate, so only the costs say something about the server"
        )
    elif any(row["others_paced"] for row in rows):
        notes.append(
            "the CPU per operation includes that of the other operations, which have a target rate of their own"
        )
    if any(row["client_bound"] for row in rows):
        notes.append("the clients limited the step in at least one run, so the server could have done more")
    for name, side in zip(names, sides, strict=True):
        shares = [row["other_us"] / row["cpu_us"] for row in side if row["other_us"] is not None and row["cpu_us"]]
        if shares and max(shares) > OTHERS:
            notes.append(
                f"in runs of {name}, other processes used up to {100 * max(shares):.0f} % of the CPU in use: this can "
                "lower the rate; it affects the server's own CPU per operation less"
            )
    return cannot, notes


def _settings(chosen: Pair, setup: str) -> list[str]:
    """Which of InnoDB's variables differ that both servers have: more than what the names of the two say may differ."""
    mine = (pl.col("setup") == setup) & pl.col("fact").str.starts_with("innodb_") & (pl.col("fact") != "innodb_version")
    differing = []
    for row in chosen.facts("variable").filter(mine).sort("fact").to_dicts():
        sides = [row["base_values"], row["dbms_values"]]
        if any(None in side for side in sides):
            continue
        if {*map(_plain, sides[0])} != {*map(_plain, sides[1])}:
            a, b = (" or ".join(side) or "(empty)" for side in sides)
            differing.append(f"{row['fact'].removeprefix('innodb_')} ({a}; {b})")
    if not differing:
        return []
    more = f" and {len(differing) - _SETTINGS} more, which `ibench compare` lists" if len(differing) > _SETTINGS else ""
    return [f"variables of InnoDB that both have and that differ (A; B): {', '.join(differing[:_SETTINGS])}{more}"]


def _plain(value: str) -> str | float:
    """A value as the server means it: 80 is 80.000000, and innodb is INNODB."""
    try:
        return float(value)
    except ValueError:
        return value.casefold()


def _mixed_clients(sides: Sequence[Sequence[Mapping[str, Any]]]) -> str:
    cores = sorted({row["client_core"] for side in sides for row in side})
    if len(cores) < 2:
        return ""
    return (
        "which part of the difference is due to the server and which to the clients: the runs had different ones "
        f"({'; '.join(cores)})"
    )


def _mixed_hosts(sides: Sequence[Sequence[Mapping[str, Any]]]) -> str:
    hosts = sorted({row["host_class"] or "an unknown host" for side in sides for row in side})
    if len(hosts) < 2:
        return ""
    return (
        "which part of the difference is due to the server and which to the hosts: the runs are from different hosts "
        f"({'; '.join(hosts)})"
    )


def _no_counters(chosen: Pair, sides: Sequence[Sequence[Mapping[str, Any]]]) -> str:
    reasons = list(dict.fromkeys(row["counters_reason"] for side in sides for row in side if row["counters_reason"]))
    why = "; ".join(reasons) or "they were not counted over the step"
    return f"whether the server runs more instructions or slower ones: {why}"


def _terms(
    wanted: Sequence[tuple[str, str, str]],
    sides: Sequence[Sequence[Mapping[str, Any]]],
    difference: Callable[[str], Difference | None],
) -> tuple[Term, ...]:
    """The terms, of the runs that have all of them; none unless both sides have such a run."""
    whole = [[row for row in rows if all(row[name] for name, *_ in wanted)] for rows in sides]
    if not all(whole):
        return ()
    terms = []
    for name, label, unit in wanted:
        values = [tuple(float(row[name]) for row in rows) for rows in whole]
        means = [fmean(map(math.log, side)) for side in values]
        a, b = (math.exp(mean) for mean in means)
        by_run = (values[0], values[1])
        terms.append(Term(name, label, unit, a, b, means[1] - means[0], by_run, difference=difference(name)))
    return judged_together(terms)


def _parts(
    wanted: Sequence[tuple[str, str, Quality, str]], sides: Sequence[Sequence[Mapping[str, Any]]], usable: bool
) -> tuple[Part, ...]:
    """Parts with a figure on a side. A run without one is left out of that side's mean."""
    parts = []
    for name, label, quality, where in wanted:
        known = [[row for row in rows if row[name] is not None] for rows in sides]
        if any(known):
            values = [[(row["repeat"], float(row[name])) for row in rows] for rows in known]
            means = [fmean(value for _, value in side) if side else None for side in values]
            difference = _of_sum(values, usable)
            parts.append(Part(name, label, means[0], means[1], quality, where, difference=difference))
    return judged_together(parts)


def _of_sum(values: Sequence[Sequence[tuple[int, float]]], usable: bool) -> Difference | None:
    """The difference of means, judged on the scale of A's mean."""
    scale = abs(fmean(value for _, value in values[0])) if values[0] else 0.0
    if not scale:
        return None
    difference = _difference([[(repeat, value / scale) for repeat, value in side] for side in values], usable)
    return (
        dataclasses.replace(difference, value=difference.value * scale, se=difference.se * scale)
        if difference
        else None
    )


def _difference(sides: Sequence[Sequence[tuple[int, float]]], usable: bool) -> Difference | None:
    if not usable or min(map(len, sides)) < LEAST_RUNS:
        return None
    return noise_of({"a": dict(sides[0]), "b": dict(sides[1])}).difference("b", "a")


def _response(sides: Sequence[Sequence[Mapping[str, Any]]], usable: bool) -> tuple[tuple[Part, ...], str]:
    """The parts of the response time, or why there is no such table."""
    off = []
    for row in (row for side in sides for row in side):
        if row["in_flight"] is None or not row["statements_per_s"] or row["response_us"] is None:
            return (), "what a statement waits for: statements in flight were not counted"
        expected = row["statements_per_s"] * row["response_us"] / 1e6
        off.append(abs(row["in_flight"] / expected - 1) if expected else math.inf)
        if row["in_flight"] > row["connections"] * (1 + LITTLE_TOLERANCE):
            off.append(row["in_flight"] / row["connections"] - 1)
    if max(off) > LITTLE_TOLERANCE:
        return (), (
            f"what a statement waits for: the number of statements in flight differs by {100 * max(off):.0f} % from "
            "what Little's law gives for this rate and response time"
        )
    rest = [
        [
            {**row, "rest_us": max(0.0, row["response_us"] - math.fsum(row[name] or 0.0 for name in _OVERLAPPING))}
            for row in side
        ]
        for side in sides
    ]  # fmt: skip
    last = _RESPONSE[-1]
    where = "the response time less server CPU, waiting for a CPU, reads and flushes, which overlap"
    remaining: tuple[str, str, Quality, str] = ("rest_us", "rest, at least", "lower bound", where)
    return _parts((*_RESPONSE[:-1], remaining, last), rest, usable), ""


_Profile = tuple[
    tuple[Function, ...],
    tuple[Function, ...],
    tuple[PartCost, ...],
    PartCost | None,
    tuple[int, int],
    tuple[float, float],
]
_NOTHING: _Profile = ((), (), (), None, (0, 0), (0.0, 0.0))


def _profile(
    chosen: Pair, step: str, ids: Sequence[Sequence[str]], usable: bool, cannot: list[str], notes: list[str]
) -> _Profile:
    """Functions and subsystems, where there are profiles of both sides that can be believed."""
    mine = pl.col("run_id").is_in([*ids[0], *ids[1]]) & (pl.col("step") == step)
    profiled = {row["run_id"]: row for row in chosen.ask("profiled").filter(mine).to_dicts()}
    with_samples = [[run for run in side if run in profiled and profiled[run]["samples"]] for side in ids]
    for name, side, has_samples in zip((chosen.base, chosen.other), ids, with_samples, strict=True):
        if not has_samples:
            reasons = dict.fromkeys(profiled[run]["reason"] for run in side if run in profiled)
            cannot.append(
                f"which functions take the time of {name}: {'; '.join(filter(None, reasons)) or 'no profile'}"
            )
    if not all(with_samples):
        return _NOTHING
    used = [[run for run in side if profiled[run]["scpupq"] is not None] for side in with_samples]
    if not all(used):
        cannot.append("what functions cost: the CPU of the server's process was not captured over the step")
        return _NOTHING
    _check_samples(chosen.ask("profile_checks").filter(mine), profiled, notes)
    if usable and min(map(len, used)) < LEAST_RUNS:
        cannot.append("whether functions differ by more than noise: one side has only one run with a profile")
    stacks = chosen.ask("stacks").filter(mine)
    by_run = {
        run: [(stack, samples) for stack, samples in stacks.filter(run_id=run).select("stack", "samples").iter_rows()]
        for side in used
        for run in side
    }

    def costs(parts: Callable[[str], Sequence[str]]) -> list[PartCost]:
        sides = [[profiled_run(profiled[run]["scpupq"], by_run[run], parts) for run in side] for side in used]
        costs = part_costs(*sides)
        return costs if usable else [dataclasses.replace(one, difference=None) for one in costs]

    samples = [sum(profiled[run]["samples"] for run in side) for side in used]
    unknown = [_share_unknown(side, by_run) for side in used]
    (server,) = costs(lambda stack: ("server",))
    about = server, (samples[0], samples[1]), (unknown[0], unknown[1])
    if max(unknown) > MOST_UNKNOWN:
        place = unknown.index(max(unknown))
        cannot.append(
            f"which functions differ: {100 * unknown[place]:.0f} % of the CPU samples of "
            f"{(chosen.base, chosen.other)[place]} have no function name; install the build's debug "
            "symbols, or use a build that is not stripped"
        )
        return (), (), tuple(costs(lambda stack: (coarse(stack_of(stack).subsystem),))), *about
    subsystems = costs(lambda stack: (stack_of(stack).subsystem,))
    inclusive = costs(lambda stack: tuple(set(stack_of(stack).functions)))
    alone = costs(lambda stack: (stack_of(stack).leaf,))
    nearby = _Neighbourhood(inclusive, subsystems, [stack for run in by_run.values() for stack in run])
    return (
        _functions(alone, nearby),
        _functions(inclusive, nearby),
        tuple(subsystems),
        *about,
    )


def _check_samples(checks: pl.DataFrame, profiled: Mapping[str, Mapping[str, Any]], notes: list[str]) -> None:
    """Note it where samples do not stand for the CPU of the process, or recordings not for the step."""
    off = [row["sampled"] for row in profiled.values() if row["sampled"] is not None]
    worst = max(off, key=lambda share: abs(share - 1), default=1.0)
    if abs(worst - 1) > SAMPLED_TOLERANCE:
        notes.append(
            f"the samples of one run account for {100 * worst:.0f} % of the CPU that its server used while perf "
            "recorded"
        )
    shares = [row["recorded_us"] / row["step_us"] for row in checks.to_dicts() if row["recorded_us"] and row["step_us"]]
    worst = max(shares, key=lambda share: abs(share - 1), default=1.0)
    if abs(worst - 1) > RECORDED_TOLERANCE:
        ends = dict.fromkeys(f"{100 * end:.0f}" for end in (min(shares), max(shares)))
        notes.append(
            f"while perf recorded, the server's CPU per statement was {' to '.join(ends)} % of that of the step"
            f"{', depending on the run' if len(ends) > 1 else ''}: the profile may not be representative of the rest "
            "of the step"
        )


def _share_unknown(runs: Sequence[str], by_run: Mapping[str, Sequence[tuple[str, int]]]) -> float:
    stacks = [stack for run in runs for stack in by_run[run]]
    unknown = sum(samples for stack, samples in stacks if stack_of(stack).subsystem == NO_NAME)
    return unknown / max(1, sum(samples for _, samples in stacks))


class _Neighbourhood:
    """What is around each function: its nearest caller and its part of the server, with what these cost."""

    def __init__(
        self, inclusive: Sequence[PartCost], subsystems: Sequence[PartCost], stacks: Sequence[tuple[str, int]]
    ) -> None:
        self._of_function = {one.name: one for one in inclusive}
        self._of_subsystem = {one.name: one for one in subsystems}
        self._callers: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self._owners: defaultdict[str, Counter[str]] = defaultdict(Counter)
        whole: Counter[str] = Counter()
        for text, samples in stacks:
            whole[text] += samples
        for text, samples in whole.items():
            stack = stack_of(text)
            for name, caller in zip(stack.functions, ("", *stack.functions), strict=False):
                self._callers[name][caller] += samples
            self._owners[stack.leaf][stack.subsystem] += samples

    def function(self, cost: PartCost) -> Function:
        """A function that has this cost."""
        (caller, _), *_ = self._callers[cost.name].most_common(1)
        own = self._owners.get(cost.name)
        subsystem = own.most_common(1)[0][0] if own else stack_of(f";{cost.name}").subsystem
        parts = (self._of_function.get(caller), self._of_subsystem.get(subsystem))
        around = _around(cost, tuple(zip(("its caller", "its part of the server"), parts, strict=True)))
        return Function(cost, subsystem, caller, around)


def _functions(costs: Sequence[PartCost], nearby: _Neighbourhood) -> tuple[Function, ...]:
    """Functions with a name, with their subsystem and nearest caller; what has only moved comes last."""
    functions = [nearby.function(cost) for cost in costs if not is_unknown(cost.name)]
    return tuple(sorted(functions, key=lambda one: (not one.cost.is_clear, one.moved)))


def _around(cost: PartCost, candidates: Sequence[tuple[str, PartCost | None]]) -> Surroundings | None:
    """What says that a clear change is one of who does the work, or what leaves it open.

    The work moved if what is around the function is known to cost the same (`Surroundings`): an interval that includes
    0 but is wide shows nothing.
    """
    if not cost.is_clear:
        return None
    within, open_ = SAME * abs(cost.change), None
    for what, one in candidates:
        if one is None or one.interval is None or one.name == cost.name or is_unknown(one.name):
            continue
        low, high = one.interval
        if -within < low and high < within:
            return Surroundings(what, one, within, True)
        # What has no samples on a side may only have another name there.
        if one.is_clear and one.change * cost.change > 0 and one.samples_a and one.samples_b:
            return None
        open_ = open_ or Surroundings(what, one, within, False)
    return open_
