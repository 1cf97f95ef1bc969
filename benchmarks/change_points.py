"""How often changes are reported that are not there, and how often those that are: `ibench changes` and its peers.

    python -m benchmarks.change_points                          simulate, write docs/performance.md
    python -m benchmarks.change_points --quick                  a twentieth of the series, print only
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
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

EQUAL, CHANGED, QUICK = 1000, 300, 0.05
SEED = 17
ROUNDS, NIGHTS = 3, 120
RELEASES = (6, 12, 20)
STEPS = (0.02, 0.05, 0.1, 0.2)
NEAR = 3
"""Nights by which a change may be placed wrongly; a release has to be the exact one."""

Values = NDArray[np.float64]
Noise = Callable[[np.random.Generator, int, int], Values]
Finder = Callable[[list[Values]], list[list[int]]]


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


def ours_short(kinds: Sequence[str]) -> Finder:
    from ibench_lib.stats.short_series import short_changes

    def find(series: list[Values]) -> list[list[int]]:
        found = [short_changes(values, seed=seed) for seed, values in enumerate(series)]
        return [[of.at for of in one.boundaries if of.kind in kinds] for one in found]

    return find


def ours_long(with_reference: bool) -> Callable[[list[tuple[Values, Values]]], list[list[int]]]:
    from ibench_lib.stats.long_series import long_changes

    def find(series: list[tuple[Values, Values]]) -> list[list[int]]:
        found = (
            long_changes(values, reference if with_reference else None, seed=seed)
            for seed, (values, reference) in enumerate(series)
        )
        return [[step.at for step in one.steps] for one in found]

    return find


def of_peer(python: str, peer: str) -> Finder:
    """A peer in another environment; it gets a series' values as a list, medians where there are repeats."""

    def find(series: list[Values]) -> list[list[int]]:
        flat = [np.exp(np.median(values, axis=1) if values.ndim == 2 else values).tolist() for values in series]
        program = [python, str(Path(__file__).resolve()), "--as-peer", peer]
        done = subprocess.run(program, input=json.dumps(flat), capture_output=True, text=True, check=True)
        answer: list[list[int]] = json.loads(done.stdout)
        return answer

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


def rates(found: list[list[int]], truth: int | None, near: int) -> tuple[float, float, float]:
    """Share of series with a report, recall, and precision."""
    reported = sum(bool(of) for of in found) / len(found)
    if truth is None:
        return reported, 0.0, 0.0
    hits = sum(any(abs(at - truth) <= near for at in of) for of in found)
    right = sum(min(1, sum(abs(at - truth) <= near for at in of)) for of in found)
    return reported, hits / len(found), right / max(sum(map(len, found)), 1)


def report(share: float, python: str | None) -> str:
    """The section of docs/performance.md."""
    equal, changed = math.ceil(EQUAL * share), math.ceil(CHANGED * share)
    peers = ["otava", "PELT"] if python else []
    finders: dict[str, Finder] = {"tier 1": ours_short(("differs", "level", "edge")), "tier 2": ours_short(("level",))}
    finders |= {peer: of_peer(python, peer) for peer in peers if python}
    lines = [
        "# What `ibench changes` finds",
        "",
        f"Simulated with `python -m benchmarks.change_points`: {equal:,} series without and {changed:,} with a change",
        f"per figure, seed {SEED}. Tier 1 says that builds differ, tier 2 that the level has changed for good.",
        *([f"Peers get medians of the repeats: {', '.join(peers)}, with defaults."] if peers else _NO_PEERS),
        "",
        f"Share of release series with a report and no change, {ROUNDS} rounds; the goal of tier 2 is 5 %. With",
        "layout, builds do differ, but not for good.",
        "",
        _row(["noise", "releases", *finders]),
        "|---" * (2 + len(finders)) + "|",
    ]
    for name, noise in SHORT_NOISES.items():
        for releases in RELEASES:
            random = np.random.default_rng([SEED, releases])
            series = [noise(random, releases, ROUNDS) for _ in range(equal)]
            cells = [_pct(rates(find(series), None, 0)[0]) for find in finders.values()]
            lines.append(_row([name, str(releases), *cells]))
    lines += ["", "Recall / precision at the exact one of 12 releases, with a change in the middle:", ""]
    lines += [_row(["noise", "rounds", "change", *finders]), "|---" * (3 + len(finders)) + "|"]
    for name, noise in SHORT_NOISES.items():
        for rounds in (3, 5):
            for step in STEPS:
                random = np.random.default_rng([SEED, rounds])
                series = [noise(random, 12, rounds) for _ in range(changed)]
                for values in series:
                    values[6:] += math.log1p(-step)
                cells = [_both(rates(find(series), 6, 0)) for find in finders.values()]
                lines.append(_row([name, str(rounds), f"{100 * step:.0f} %", *cells]))
    lines += ["", f"Series of {NIGHTS} nights: share with a report if nothing changed, else recall / precision within"]
    lines += [f"{NEAR} nights:"]
    lines += ["", _row(["noise", "change", "ours, no reference", "ours, with reference", *peers])]
    lines.append("|---" * (4 + len(peers)) + "|")
    for long_noise in LONG_NOISES:
        for step in (0.0, 0.05, 0.1):
            random = np.random.default_rng([SEED, NIGHTS])
            pairs = [nights(random, long_noise) for _ in range(changed if step else math.ceil(equal / 4))]
            for values, _ in pairs:
                values[60:] += math.log1p(-step)
            answers = [ours_long(False)(pairs), ours_long(True)(pairs)]
            answers += [of_peer(python, peer)([values for values, _ in pairs]) for peer in peers if python]
            found = [rates(answer, 60 if step else None, NEAR) for answer in answers]
            cells = [_both(one) if step else _pct(one[0]) for one in found]
            lines.append(_row([long_noise, f"{100 * step:.0f} %" if step else "none", *cells]))
    return "\n".join(lines)


_NO_PEERS = ["The peers were not installed where this was run."]


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _both(found: tuple[float, float, float]) -> str:
    return f"{found[1]:.2f} / {found[2]:.2f}"


def _pct(share: float) -> str:
    return f"{100 * share:.1f} %"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a twentieth of the series; print only")
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
