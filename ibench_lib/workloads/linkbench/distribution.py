"""The original's file of distributions: the part that says how many links nodes have."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from ibench_lib.base.text_file import NotReadable, read_text
from ibench_lib.errors import ExperimentError

Array = np.ndarray[Any, Any]
Points = tuple[tuple[int, float], ...]

MOST_BYTES = 16 << 20
_PART = "nlinks"
_MOST_LINKS = (1 << 31) - 1  # as in the original
_HINT = "the file of the original is config/Distribution.dat; an ibench without `distribution` has its main points"


@dataclass(frozen=True, eq=False)
class Distribution:
    """How many % of all nodes have up to so many links: the points of a file, ascending. The last has 100 %."""

    links: Array
    shares: Array

    def of_ranks(self, parts: Array) -> Array:
        """Links of nodes by the part of all nodes whose rank is lower, from 0 (most links) to 1."""
        links: Array = self.links[np.searchsorted(self.shares, 1.0 - parts, side="left")]
        return links


@cache
def distribution_of(points: Points) -> Distribution:
    """The distribution of these points, made once."""
    links, percent = zip(*points, strict=True)
    # Divided one by one, as the original does it: the last digit decides how many links a node at a border has.
    return Distribution(np.array(links, dtype=np.int64), np.array([share / 100 for share in percent]))


def read_points(path: Path) -> Points:
    """The points of the part `nlinks`: links, and how many % of all nodes have up to so many.

    Raises
    ------
    ExperimentError : there is no such file, or it is malformed or cut; with its line.
    """
    try:
        lines = read_text(path, MOST_BYTES).splitlines()
    except FileNotFoundError:
        raise ExperimentError(f"workload.distribution: there is no file {path}", hint=_HINT) from None
    except NotReadable as error:
        raise ExperimentError(f"workload.distribution: {path}: {error}", hint=_HINT) from error
    numbers = [number for number, line in enumerate(lines, start=1) if line.strip() == _PART]
    if len(numbers) != 1:
        where = f"{path}:{numbers[1] if numbers else 1}"
        begins = f"`{_PART}` begins a second time" if numbers else f"no line `{_PART}`, which begins the points"
        raise ExperimentError(f"{where}: {begins}", hint=_HINT)
    points: list[tuple[int, float]] = []
    last = numbers[0]
    for last, words in _points(lines, numbers[0]):
        problem = _problem(words, points)
        if problem is not None:
            raise ExperimentError(f"{path}:{last}: {problem}", hint=_HINT)
        points.append((int(words[0]), float(words[1])))
    if not points or points[-1][1] != 100.0:
        reached = f"{points[-1][1]:g} %" if points else "no point"
        raise ExperimentError(f"{path}:{last}: `{_PART}` ends at {reached}, not at 100 %: the file is cut", hint=_HINT)
    return tuple(points)


def _points(lines: Sequence[str], begin: int) -> Iterator[tuple[int, list[str]]]:
    """Number and words of the lines from `begin` on, up to the next part, whose name is a word of letters."""
    for number, line in enumerate(lines[begin:], start=begin + 1):
        words = line.split()
        if len(words) == 1 and words[0][0].isalpha():
            return
        if words:
            yield number, words


def _problem(words: Sequence[str], points: Sequence[tuple[int, float]]) -> str | None:
    """What is wrong with the words of a line that follows these points."""
    try:
        links, percent = words
        point = int(links), float(percent)
    except ValueError:
        return f"expected a number of links and a percentage, not {' '.join(words)!r:.60}"
    if not 0 <= point[0] <= _MOST_LINKS:
        return f"{point[0]} links: expected 0 to {_MOST_LINKS}"
    if not 0 <= point[1] <= 100:
        return f"{percent} %: expected 0 to 100"
    if points and (point[0] <= points[-1][0] or point[1] < points[-1][1]):
        return "links and percentages must rise from line to line"
    return None
