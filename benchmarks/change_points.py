"""How often changes are reported that are not there, and how often those that are: `ibench changes` and its peers.

    python -m benchmarks.change_points                          simulate, write docs/benchmarks/change_points.md
    python -m benchmarks.change_points --quick                  a 200th of the series, print only
    python -m benchmarks.change_points --share 0.2              a fifth of the series, write the page
    python -m benchmarks.change_points --peers <python>         also otava and PELT, from that interpreter's packages

otava 0.8 needs an older numpy than ibench, so the peers run in an environment of their own (packages apache-otava and
ruptures): this module is its own program there, and reads series from stdin. Seeds are fixed.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from ibench_lib.stats.long_series import Step
    from ibench_lib.stats.short_series import Boundary

EQUAL, CHANGED, QUICK = 1000, 300, 0.005
SEED = 17
ROUNDS, NIGHTS = 3, 120
RELEASES = (6, 12, 20)
STEPS = (0.02, 0.05, 0.1, 0.2)
LONG_STEPS = (0.05, 0.1)
TIERS = {"tier 1": ("differs", "level", "edge"), "tier 2": ("level",)}
PEERS = ("otava", "PELT")
MOST_REPORTS = 0.05
"""Share of series without a change that may have a report."""
ALONE, REFERENCE = "without a reference", "with a reference"
PLACE = "place alone"
"""A finder that knows that there is one change, and only looks for its place."""
NEAR = 3
"""Nights by which a change may be placed wrongly; a release has to be the exact one."""

Values = NDArray[np.float64]
Noise = Callable[[np.random.Generator, int, int], Values]
Report = tuple[int, int]
"""The place of a change, and 1 for a level that rises, -1 for one that falls, 0 where the finder does not say it."""
Finder = Callable[[list[Values]], list[list[Report]]]


def gaussian(random: np.random.Generator, rows: int, runs: int) -> Values:
    return random.normal(0, 0.02, (rows, runs))


def restarts(random: np.random.Generator, rows: int, runs: int) -> Values:
    return gaussian(random, rows, runs) + np.where(random.random((rows, runs)) < 0.3, math.log(0.93), 0)


def outliers(random: np.random.Generator, rows: int, runs: int) -> Values:
    return gaussian(random, rows, runs) + np.where(random.random((rows, runs)) < 0.05, math.log(0.85), 0)


def host(random: np.random.Generator, many: int, drift: float = 0.0) -> Values:
    found = np.zeros(many)
    for cell in range(1, many):
        found[cell] = 0.6 * found[cell - 1] + random.normal(0, 0.02)
    return found + np.linspace(0, math.log1p(-drift), many)


def drifting(random: np.random.Generator, rows: int, runs: int) -> Values:
    """Shuffled rounds on a host that gets 5 % slower and remembers."""
    moving = host(random, rows * runs, 0.05)
    order = np.array([random.permutation(rows) for _ in range(runs)])
    values = np.empty((rows, runs))
    for number in range(runs):
        values[order[number], number] = moving[number * rows : (number + 1) * rows]
    return values + random.normal(0, 0.01, (rows, runs))


def layout(random: np.random.Generator, rows: int, runs: int) -> Values:
    return gaussian(random, rows, runs) + random.normal(0, 0.015, (rows, 1))


SHORT_NOISES: dict[str, Noise] = {
    "gaussian 2 %": gaussian,
    "restart: 30 % of runs 7 % slower": restarts,
    "5 % outliers of 15 %": outliers,
    "host drift and AR(1), shuffled": drifting,
    "layout sd 1.5 %": layout,
}
_REMEMBERS = ("AR(1) 0.6", "drift 5 %")
LONG_NOISES = ("gaussian 2 %", "AR(1) 0.6", "outliers 4 %", "drift 5 %", "restart 7 %")


def nights(random: np.random.Generator, noise: str) -> tuple[Values, Values]:
    """A candidate and a reference in the same nights."""
    if noise in ("AR(1) 0.6", "drift 5 %"):
        shared = host(random, NIGHTS) if noise == "AR(1) 0.6" else np.linspace(0, math.log(0.95), NIGHTS)
        return shared + random.normal(0, 0.01, NIGHTS), shared + random.normal(0, 0.01, NIGHTS)
    if noise == "outliers 4 %":
        pair = random.normal(0, 0.02, (2, NIGHTS)) + np.where(random.random((2, NIGHTS)) < 0.04, math.log(0.85), 0)
    else:
        kind = gaussian if noise == "gaussian 2 %" else restarts
        pair = kind(random, 2, NIGHTS)
    return pair[0], pair[1]


def ours_short(series: list[Values]) -> dict[str, list[list[Report]]]:
    """What each tier reports."""
    from ibench_lib.stats.short_series import short_changes

    found = [short_changes(values, seed=seed) for seed, values in enumerate(series)]
    return {
        tier: [[_report(of) for of in one.boundaries if of.kind in kinds] for one in found]
        for tier, kinds in TIERS.items()
    }


def places_alone(series: list[Values]) -> list[list[Report]]:
    """The best place of each series for one change, whether or not there is any: the limit of what can be precise."""
    found: list[list[Report]] = []
    for values in series:
        means, releases = values.mean(axis=1), len(values)
        gains = [at * (releases - at) * (means[at:].mean() - means[:at].mean()) ** 2 for at in range(1, releases)]
        found.append([(int(np.argmax(gains)) + 1, 0)])
    return found


def ours_long(with_reference: bool) -> Callable[[list[tuple[Values, Values]]], list[list[Report]]]:
    from ibench_lib.stats.long_series import long_changes

    def find(series: list[tuple[Values, Values]]) -> list[list[Report]]:
        found = (
            long_changes(values, reference if with_reference else None, seed=seed)
            for seed, (values, reference) in enumerate(series)
        )
        return [[_report(step) for step in one.steps] for one in found]

    return find


def _report(found: Boundary | Step) -> Report:
    return found.at, 1 if found.difference.value > 0 else -1


def of_peer(python: str, peer: str) -> Finder:
    """A peer in another environment; it gets a series' values as a list, medians where there are repeats."""

    def find(series: list[Values]) -> list[list[Report]]:
        flat = [np.exp(np.median(values, axis=1) if values.ndim == 2 else values).tolist() for values in series]
        program = [python, str(Path(__file__).resolve()), "--as-peer", peer]
        done = subprocess.run(program, input=json.dumps(flat), capture_output=True, text=True, check=True)
        return [[(at, 0) for at in of] for of in json.loads(done.stdout)]

    return find


def as_peer(peer: str) -> None:
    """Read series from stdin, write the places of changes to stdout. Runs where the peers are installed."""
    found = []
    for values in json.load(sys.stdin):
        if peer == "PELT":
            import ruptures  # type: ignore[import-not-found]

            logs = np.log(np.array(values))
            sd = max(float(np.median(np.abs(np.diff(logs)))) / 0.954, 1e-6)
            model = ruptures.Pelt(model="l2", min_size=1, jump=1).fit(logs)
            found.append([int(at) for at in model.predict(pen=2 * sd**2 * math.log(len(logs)))[:-1]])
        else:
            from otava.analysis import compute_change_points  # type: ignore[import-not-found]

            points, _ = compute_change_points(list(values))
            found.append([int(point.index) for point in points])
    json.dump(found, sys.stdout)


@dataclass(frozen=True)
class Rates:
    """Share of series with a report; recall and precision, 0 where nothing changed; reports, and those of a rise."""

    reported: float
    recall: float
    precision: float
    reports: int
    rises: int

    @property
    def f1(self) -> float:
        """The harmonic mean of recall and precision."""
        both = self.recall + self.precision
        return 2 * self.recall * self.precision / both if both else 0.0


def rates(found: list[list[Report]], truth: int | None, near: int) -> Rates:
    """What reports are worth, given the place of the only change, and by how much they may miss it."""
    reported = sum(bool(of) for of in found) / len(found)
    every = [report for of in found for report in of]
    rises = sum(way > 0 for _, way in every)
    if truth is None:
        return Rates(reported, 0.0, 0.0, len(every), rises)
    hits = sum(any(abs(at - truth) <= near for at, _ in of) for of in found)
    return Rates(reported, hits / len(found), hits / max(len(every), 1), len(every), rises)


Cells = dict[tuple[str, int, float, str], Rates]
"""By noise, releases or rounds or nights, change (0: none), and finder."""


def simulated(share: float, python: str | None) -> tuple[Cells, Cells, Cells]:
    """What every finder reports: on releases without a change, on releases with one, and on nights."""
    equal, changed = math.ceil(EQUAL * share), math.ceil(CHANGED * share)
    peers = {peer: of_peer(python, peer) for peer in PEERS} if python else {}

    def answers_to(series: list[Values]) -> dict[str, list[list[Report]]]:
        return ours_short(series) | {peer: find(series) for peer, find in peers.items()}

    alike: Cells = {}
    for name, noise in SHORT_NOISES.items():
        for releases in RELEASES:
            random = np.random.default_rng([SEED, releases])
            series = [noise(random, releases, ROUNDS) for _ in range(equal)]
            alike |= {(name, releases, 0.0, of): rates(found, None, 0) for of, found in answers_to(series).items()}
    stepped: Cells = {}
    for name, noise in SHORT_NOISES.items():
        for rounds in (3, 5):
            for step in STEPS:
                random = np.random.default_rng([SEED, rounds])
                series = [noise(random, 12, rounds) for _ in range(changed)]
                for values in series:
                    values[6:] += math.log1p(-step)
                answers = answers_to(series) | {PLACE: places_alone(series)}
                stepped |= {(name, rounds, step, of): rates(found, 6, 0) for of, found in answers.items()}
    nightly: Cells = {}
    for name in LONG_NOISES:
        for step in (0.0, *LONG_STEPS):
            random = np.random.default_rng([SEED, NIGHTS])
            pairs = [nights(random, name) for _ in range(changed if step else equal)]
            for values, _ in pairs:
                values[60:] += math.log1p(-step)
            answers = {ALONE: ours_long(False)(pairs), REFERENCE: ours_long(True)(pairs)}
            answers |= {peer: find([values for values, _ in pairs]) for peer, find in peers.items()}
            truth = 60 if step else None
            nightly |= {(name, NIGHTS, step, of): rates(answer, truth, NEAR) for of, answer in answers.items()}
    return alike, stepped, nightly


def report(share: float, python: str | None) -> str:
    """The section of docs/benchmarks/change_points.md."""
    equal, changed = math.ceil(EQUAL * share), math.ceil(CHANGED * share)
    part = f" --share {share:g}" if share < 1 else ""
    alike, stepped, nightly = simulated(share, python)
    lines = [
        "# What `ibench changes` finds",
        "",
        f"Simulated with `python -m benchmarks.change_points{part}`, seed {SEED}:",
        f"{equal:,} series without and {changed:,} with a change per figure. Tier 1 says that builds differ, tier 2",
        "that the level has changed permanently.",
        *([f"Peers, with defaults, on medians of the repeats: {versions(python)}."] if python else _NO_PEERS),
        "",
        *goals(alike, stepped, nightly),
        "",
        f"Share of release series with a report and no change, {ROUNDS} rounds. With layout, builds do differ, but not",
        "permanently.",
        "",
        *_table(["noise", "releases"], alike, lambda place: [place[0], str(place[1])]),
        "",
        "Recall / precision at the exact one of 12 releases, with a change in the middle. *Place alone* knows that",
        "there is one change and only says where: where even that is wrong in some series, nothing can be precise.",
        "",
        *_table(
            ["noise", "rounds", "change"], stepped,
            lambda place: [place[0], str(place[1]), f"{100 * place[2]:.0f} %"],
        ),
        "",
        f"Series of {NIGHTS} nights: share with a report if nothing changed, else recall / precision within {NEAR}",
        f"nights. `ibench changes` {ALONE} and {REFERENCE}:",
        "",
        *_table(
            ["noise", "change"], nightly,
            lambda place: [place[0], f"{100 * place[2]:.0f} %" if place[2] else "none"],
        ),
    ]  # fmt: skip
    return "\n".join(lines)


def goals(alike: Cells, stepped: Cells, nightly: Cells) -> list[str]:
    """A table of what the design aims at, whether it is reached in every cell, and the worst one."""
    of_tier = {place: found for place, found in (alike | stepped).items() if place[3] == "tier 2"}
    ours = {place: found for place, found in nightly.items() if place[3] in (ALONE, REFERENCE)}
    used = {place: found for place, found in nightly.items() if place[3] == REFERENCE}
    rows = [
        _at_most("reports without a change, tier 2: at most 5 %", _where(of_tier, step=0.0)),
        _at_most("reports without a change, nights: at most 5 %", _where(ours, step=0.0)),
        # Where restarts make 30 % of the runs slow, three rounds cannot do it.
        _at_least("tier 2, change of 10 %: 0.95 / 0.95 (restart: 5 rounds)", 0.95, 0.95, {
            place: found for place, found in _where(of_tier, step=0.1).items()
            if place[1] == 5 or not place[0].startswith("restart")
        }),
        _at_least("tier 2, change of 5 %, 5 rounds: 0.70 / 0.95", 0.70, 0.95, {
            place: found for place, found in _where(of_tier, step=0.05).items() if place[1] == 5
        }),
        _at_least("nights with a reference, change of 10 %: 0.90 / 0.90", 0.90, 0.90, _where(used, step=0.1)),
        *_against_otava(used, nightly),
        _balanced([found for place, found in alike.items() if place[3] == "tier 1"] + [*_where(ours, 0.0).values()]),
    ]  # fmt: skip
    return ["| goal | | worst |", "|---|---|---|", *map(_row, rows)]


def _where(cells: Cells, step: float) -> Cells:
    return {place: found for place, found in cells.items() if place[2] == step}


def _at_most(goal: str, cells: Cells) -> list[str]:
    worst = max(cells, key=lambda place: cells[place].reported)
    missed = sum(found.reported > MOST_REPORTS for found in cells.values())
    return _goal(goal, missed, len(cells), f"{_pct(cells[worst])}, {_named(worst)}")


def _at_least(goal: str, recall: float, precision: float, cells: Cells) -> list[str]:
    short = {place: min(found.recall - recall, found.precision - precision) for place, found in cells.items()}
    worst = min(short, key=lambda place: short[place])
    missed = sum(by < 0 for by in short.values())
    return _goal(goal, missed, len(cells), f"{_both(cells[worst])}, {_named(worst)}")


def _against_otava(used: Cells, nightly: Cells) -> list[list[str]]:
    gains = {
        place: found.f1 - nightly[(*place[:3], "otava")].f1
        for place, found in _where(used, step=0.05).items() if (*place[:3], "otava") in nightly
    }  # fmt: skip
    rows = []
    for goal, remembers in (
        ("nights, change of 5 %, independent noise: F1 at least otava's less 0.05", False),
        ("nights, change of 5 %, other noise: F1 above otava's", True),
    ):
        mine = {place: gain for place, gain in gains.items() if (place[0] in _REMEMBERS) == remembers}
        if mine:
            worst = min(mine, key=lambda place: mine[place])
            missed = sum(gain <= 0 if remembers else gain < -0.05 for gain in mine.values())
            rows.append(_goal(goal, missed, len(mine), f"{mine[worst]:+.2f}, {_named(worst)}"))
    return rows


def _balanced(found: Sequence[Rates]) -> list[str]:
    reports, rises = sum(one.reports for one in found), sum(one.rises for one in found)
    share = rises / reports if reports else math.nan
    what = f"{100 * share:.0f} % of {reports:,}"
    return _goal("of reports without a change, 40 to 60 % are improvements", int(not 0.4 <= share <= 0.6), 1, what)


def _goal(goal: str, missed: int, cells: int, worst: str) -> list[str]:
    verdict = "reached" if not missed else "missed" if cells == 1 else f"missed in {missed} of {cells}"
    return [goal, verdict, worst]


def _named(place: tuple[str, int, float, str]) -> str:
    noise, number, _, finder = place
    what = f", {finder}" if finder in (ALONE, REFERENCE) else f", {number} {'rounds' if place[2] else 'releases'}"
    return f"{noise}{what}"


def _table(
    heads: list[str],
    cells: Cells,
    named: Callable[[tuple[str, int, float, str]], list[str]],
) -> list[str]:
    finders = list(dict.fromkeys(place[3] for place in cells))
    rows: dict[tuple[str, ...], list[str]] = {}
    for place, found in cells.items():
        rows.setdefault(tuple(named(place)), []).append(_both(found) if place[2] else _pct(found))
    lines = [_row([*heads, *finders]), "|---" * (len(heads) + len(finders)) + "|"]
    return [*lines, *(_row([*names, *values]) for names, values in rows.items())]


def versions(python: str) -> str:
    """Names and versions of the peers."""
    program = "from importlib.metadata import version; print(version('apache-otava'), version('ruptures'))"
    done = subprocess.run([python, "-c", program], capture_output=True, text=True, check=True)
    otava, ruptures = done.stdout.split()
    return f"otava {otava}, and PELT of ruptures {ruptures}"


_NO_PEERS = ["The peers were not installed where this was run."]


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _both(found: Rates) -> str:
    return f"{found.recall:.2f} / {found.precision:.2f}"


def _pct(found: Rates) -> str:
    return f"{100 * found.reported:.1f} %"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a 200th of the series; print only")
    parser.add_argument("--share", type=float, default=1.0, help="that part of the series; writes the page")
    parser.add_argument("--peers", help="an interpreter with apache-otava and ruptures")
    parser.add_argument("--as-peer", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.as_peer:
        as_peer(chosen.as_peer)
        return
    from benchmarks.performance_page import write_section

    text = report(QUICK if chosen.quick else chosen.share, chosen.peers)
    print(text)
    if not chosen.quick:
        write_section("change_points", text)


if __name__ == "__main__":
    main()
