"""A side of a flame graph: the recordings of one build in one step, and what their stacks can tell."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any

import polars as pl

from ibench_lib.analysis.explain import MOST_UNKNOWN
from ibench_lib.analysis.symbols import UNKNOWN, is_unknown, stack_of

CUT_OFF = "(cut off)"
"""Stands in a stack for the callers that perf could not find."""

NOT_TOLD_APART = "(names are missing)"
"""Stands in a stack for the callees that have no name on one of two sides."""

MOST_CUT = 0.20
"""If a larger share of stacks has no callers, a graph says so."""

Stack = tuple[str, ...]
"""Thread group and functions, outermost first."""

_STARTS = {
    "start_thread", "clone", "clone3", "__clone", "__clone3", "thread_start", "_start", "__libc_start_main",
    "__libc_start_call_main",
}  # fmt: skip
# Where the libraries have no symbols: what starts a thread of C, and one of C++, is in these.
_SYSTEM = ("libc.so", "libc-", "libpthread", "ld-linux", "libstdc++")
# MariaDB, and MySQL before 8.0, name none of their threads: what a thread does is known by its outer functions.
_DOES = {
    "handle_one_connection": "connections",
    "do_handle_one_connection": "connections",
    "threadpool_process_request": "connections",
    "buf_flush_page_cleaner": "page cleaner",
    "buf_flush_page_cleaner_thread": "page cleaner",
    "buf_flush_page_cleaner_coordinator": "page cleaner",
    "buf_flush_page_cleaner_worker": "page cleaner",
    "srv_purge_coordinator_thread": "purge",
    "srv_worker_thread": "purge",
    "purge_coordinator_callback": "purge",
    "purge_worker_callback": "purge",
    "log_writer": "redo log",
    "log_flusher": "redo log",
    "log_write_notifier": "redo log",
    "log_flush_notifier": "redo log",
    "log_checkpointer": "redo log",
    "io_handler_thread": "I/O",
    "fil_aio_wait": "I/O",
    "srv_master_thread": "master",
    "srv_master_callback": "master",
}
_OUTER = 8
"""So many functions from a thread's start may tell what it does."""
_NUMBER = re.compile(r"[-_/:]?\d+$")  # as in `profile_stacks.thread_group`


@dataclass(frozen=True)
class Recording:
    """What perf sampled at one time of one run: stacks as they were stored, and how many samples each has.

    `us_per_sample` is what a sample stands for, in microseconds of the server's CPU per operation, as a part of the
    mean over the runs of its side; None where the CPU per operation is not known.
    """

    run_id: str
    tick: int
    us_per_sample: float | None
    stacks: dict[str, int]


@dataclass(frozen=True)
class Side:
    """The recordings of a build in one step.

    Attributes
    ----------
    name : such as `mariadb-10.11.5.cy10a, 2026-11-22`.
    short : the name without the date.
    frequency, seconds : of the recordings; None where they are not known.
    known : names of thread groups and functions that graphs show; None for all.
    us : the server's CPU per operation in microseconds, the mean over the runs; None where it is not known.
    """

    name: str
    short: str
    recordings: tuple[Recording, ...]
    frequency: float | None = None
    seconds: float | None = None
    known: frozenset[str] | None = None

    @cached_property
    def raw(self) -> Counter[str]:
        """The stacks of all recordings, as they were stored."""
        stacks: Counter[str] = Counter()
        for recording in self.recordings:
            stacks.update(recording.stacks)
        return stacks

    @property
    def samples(self) -> int:
        """How many samples all recordings have together."""
        return self.raw.total()

    @property
    def runs(self) -> int:
        """How many runs were recorded."""
        return len({recording.run_id for recording in self.recordings})

    @cached_property
    def us(self) -> float | None:
        """CPU time of all samples in microseconds per operation; None where a recording does not know it."""
        if not self.recordings or any(one.us_per_sample is None for one in self.recordings):
            return None
        return sum((one.us_per_sample or 0.0) * sum(one.stacks.values()) for one in self.recordings)

    @cached_property
    def paths(self) -> dict[Stack, tuple[int, float]]:
        """The stacks as graphs show them: samples, and microseconds per operation (0 where these are not known)."""
        costs: dict[Stack, tuple[int, float]] = {}
        for recording in self.recordings:
            for stack, samples in recording.stacks.items():
                path = path_of(stack, self.known)
                before, us = costs.get(path, (0, 0.0))
                costs[path] = before + samples, us + samples * (recording.us_per_sample or 0.0)
        return costs

    @cached_property
    def by_run(self) -> list[tuple[float, dict[Stack, int]]]:
        """Of each run the CPU per operation in microseconds (0 if not known), and the stacks as graphs show them."""
        costs: dict[str, float] = {}
        stacks: dict[str, Counter[Stack]] = {}
        for one in self.recordings:
            of_run = stacks.setdefault(one.run_id, Counter())
            for stack, samples in one.stacks.items():
                of_run[path_of(stack, self.known)] += samples
            worth = (one.us_per_sample or 0.0) * sum(one.stacks.values()) * self.runs
            costs[one.run_id] = costs.get(one.run_id, 0.0) + worth
        return [(costs[run_id], dict(paths)) for run_id, paths in stacks.items()]

    @property
    def names(self) -> frozenset[str]:
        """Thread groups, and functions that have a name."""
        return frozenset(name for path in self.paths for name in path if not is_unknown(name))

    @property
    def stands(self) -> bool:
        """Whether enough functions have names to tell all of them apart."""
        return self.unnamed <= MOST_UNKNOWN

    @cached_property
    def unnamed(self) -> float:
        """The share of samples whose function has no name, 0 to 1."""
        return self._share(lambda stack: is_unknown(stack.rpartition(";")[2]))

    @cached_property
    def cut(self) -> float:
        """The share of samples whose stack does not reach the start of its thread, 0 to 1."""
        return self._share(lambda stack: is_cut(stack.split(";")))

    def _share(self, holds: Callable[[str], bool]) -> float:
        return sum(samples for stack, samples in self.raw.items() if holds(stack)) / max(self.samples, 1)


def is_cut(frames: Sequence[str]) -> bool:
    """Whether a stack, the thread's name first, does not reach the start of its thread."""
    if len(frames) < 2:
        return True
    outermost = frames[1]
    if is_unknown(outermost):
        return not outermost.removeprefix(f"{UNKNOWN} (").startswith(_SYSTEM)
    return outermost.partition("@")[0] not in _STARTS


@cache
def path_of(stack: str, known: frozenset[str] | None = None) -> Stack:
    """A stack as a graph shows it: what its thread does, `(cut off)` where its callers are missing, its functions.

    Functions that are not `known` are left out, and `NOT_TOLD_APART` stands for them at the end of a stack.
    """
    whole = stack_of(stack)
    functions: tuple[str, ...] = whole.functions
    does = (_DOES[name] for name in functions[:_OUTER] if name in _DOES)
    group = next((name for name in does if known is None or name in known), _NUMBER.sub("", whole.thread))
    if known is not None:
        shown = [name for name in functions if name in known]
        once = [name for at, name in enumerate(shown) if not at or shown[at - 1] != name]
        functions = (*once, *([NOT_TOLD_APART] if functions and functions[-1] not in known else []))
    return (group, *([CUT_OFF] if is_cut(stack.split(";")) else []), *functions)


def alike(sides: Sequence[Side]) -> list[Side]:
    """The sides with the names that all of them have, if many are missing on one: others cannot be compared."""
    if len(sides) < 2 or all(side.stands for side in sides):
        return list(sides)
    known = frozenset.intersection(*(side.names for side in sides))
    return [replace(side, known=known) for side in sides]


def side_of(stacks: pl.DataFrame, profiled: pl.DataFrame) -> Side | None:
    """The side of the runs of one dbms in one step and setup (`stacks`, `profiled`); None without any sample.

    Where some runs completed the step, the others are left out; and where the CPU per operation of some is known, those
    are that cannot be weighed with them.
    """
    used: list[dict[str, Any]] = [row for row in profiled.to_dicts() if row["samples"]]
    for holds in (lambda row: row["step_status"] == "complete", lambda row: row["scpupq"] is not None):
        used = [row for row in used if holds(row)] or used
    if not used:
        return None
    worth = {row["run_id"]: row["scpupq"] and row["scpupq"] / row["samples"] / len(used) for row in used}
    by_tick: dict[tuple[str, int], dict[str, int]] = {}
    for run_id, tick, stack, samples in stacks.select("run_id", "tick", "stack", "samples").iter_rows():
        if run_id in worth:
            by_tick.setdefault((run_id, tick), {})[stack] = samples
    recordings = tuple(Recording(*key, worth[key[0]], of) for key, of in sorted(by_tick.items()))
    name = str(used[0]["dbms"])
    seconds = sum(row["seconds"] or 0.0 for row in used) or None
    return Side(_dated(name, used), name, recordings, _frequency(used), seconds)


def dip_sides(stacks: pl.DataFrame, profiled: pl.DataFrame, recorded: pl.DataFrame) -> tuple[Side, Side]:
    """The recordings of one dbms in one step and setup that are outside dips, and those that overlap them.

    Takes the rows of `stacks`, `profiled` and `dip_recordings`. A sample stands for the CPU of its side's recordings,
    divided by the operations that were done in them; this is not known if none was done.
    """
    rows = profiled.to_dicts()
    name = str(rows[0]["dbms"])
    sides = []
    for what, mine in (
        ("outside dips", recorded.filter(pl.col("dip_s") == 0)),
        ("in dips", recorded.filter(pl.col("dip_s") > 0)),
    ):
        sums = mine.group_by("run_id").agg(
            # Of what is not known anywhere, the sum is not known.
            *(pl.when(pl.col(of).is_not_null().all()).then(pl.col(of).sum()).alias(of) for of in ("cpu_s", "done")),
            pl.col("samples").sum(),
        )
        worth = {
            row["run_id"]: 1e6 * row["cpu_s"] / row["done"] / row["samples"] / len(sums)
            if row["cpu_s"] is not None and row["done"]
            else None
            for row in sums.to_dicts()
        }
        by_tick: dict[tuple[str, int], dict[str, int]] = {}
        of_side = stacks.join(mine.select("run_id", "tick"), on=["run_id", "tick"], how="semi")
        for run_id, tick, stack, samples in of_side.select("run_id", "tick", "stack", "samples").iter_rows():
            by_tick.setdefault((run_id, tick), {})[stack] = samples
        recordings = tuple(Recording(*key, worth[key[0]], of) for key, of in sorted(by_tick.items()))
        seconds, in_dips = (sum(mine[of].drop_nulls().to_list()) for of in ("seconds", "dip_s"))
        part = f" ({in_dips:.1f} of {seconds:.0f} s)" if in_dips else ""
        dated = _dated(f"{name} {what}{part}", rows)
        sides.append(Side(dated, f"{name} {what}", recordings, _frequency(rows), seconds or None))
    return sides[0], sides[1]


def _dated(name: str, profiled: Sequence[dict[str, Any]]) -> str:
    """A name with the day on which the first of its runs began."""
    days = sorted({f"{row['begun']:%Y-%m-%d}" for row in profiled if row["begun"] is not None})
    return f"{name}, {days[0]}" if days else name


def _frequency(profiled: Sequence[dict[str, Any]]) -> float | None:
    frequencies = {row["frequency"] for row in profiled}
    return frequencies.pop() if len(frequencies) == 1 else None
