"""A flame graph as a piece of a page: a figure that the page's script draws, a table for all others, files to save."""

from __future__ import annotations

import base64
import gzip
import html
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from great_tables import GT

from ibench_lib.ask.symbols import KERNEL, UNKNOWN
from ibench_lib.ask.symbols import Stack as Named
from ibench_lib.show import theme
from ibench_lib.show.flame import exports
from ibench_lib.show.flame.sides import CUT_OFF, MOST_MISSING, Side, Stack
from ibench_lib.show.flame.trie import MOST_NODES, NOT_TOLD_APART, SMALL, Trie, trie_of
from ibench_lib.show.grid import Cell, Grid
from ibench_lib.show.html_ids import html_id
from ibench_lib.show.wording import count

MOST_BYTES = 1_000_000
"""Of a graph with its files; the longest files are left out where they do not fit."""
MOST_FUNCTIONS = 50
_PLAIN_BYTES = 50_000
_ALL = 10**9
_NO_FUNCTION = {CUT_OFF, SMALL, NOT_TOLD_APART}
_STEPS = 10**8
"""The CPU per operation of a side in the smallest units that a page keeps."""


@dataclass(frozen=True)
class Graph:
    """One side, or the difference of two. `where` says of what, such as `l.i0, cached`.

    `trie` is what is drawn; `whole` has a node for every function. `tested` are nodes of `trie` with the interval of
    their change (B - A, us/op) and whether it excludes 0 with all other comparisons of the graph in mind; `untested`
    says why there are none.
    """

    sides: tuple[Side, ...]
    where: str
    trie: Trie
    whole: Trie
    tested: Mapping[int, tuple[float, float, bool]]
    untested: str = ""

    @property
    def in_us(self) -> bool:
        """Whether values are CPU microseconds per operation; else they are samples."""
        return all(side.us is not None for side in self.sides)

    @property
    def unit(self) -> str:
        return "us/op" if self.in_us else "samples"

    @property
    def name(self) -> str:
        return html_id(f"flame.{self.where}.{'.'.join(side.short for side in self.sides)}")

    @property
    def title(self) -> str:
        if len(self.sides) == 1:
            return f"Where the server's CPU goes in {self.where}: {self.sides[0].short}"
        return f"Where the server's CPU goes in {self.where}: {self.sides[0].short} and {self.sides[1].short}"


def graph_of(sides: Sequence[Side], where: str, most_nodes: int = MOST_NODES) -> Graph:
    """The graph of one side, or of A and B."""
    weighed, missing = _weighed(sides), not all(side.stands for side in sides)
    trie, whole = (trie_of(weighed, most, missing=missing) for most in (most_nodes, _ALL))
    return Graph(tuple(sides), where, trie, whole, {}, "" if len(sides) == 1 else "intervals are not computed")


def _weighed(sides: Sequence[Side]) -> list[dict[Stack, tuple[int, float]]]:
    if all(side.us is not None for side in sides):
        return [side.paths for side in sides]
    return [{path: (samples, 0.0) for path, (samples, _) in side.paths.items()} for side in sides]


def markup(graph: Graph, palette: str = "default") -> str:
    """The figure with what is to be known of its sides."""
    colours = theme.palette(palette)
    style = ";".join(
        f"--{name}:{fill};--{name}-ink:{ink}" for name, (fill, ink) in (("more", colours.bad), ("less", colours.good))
    )
    told = "".join(f"<p>{html.escape(line)}</p>" for line in facts(graph))
    title = html.escape(graph.title)
    return (
        f'<figure class="flame" id="{graph.name}" style="{style}"><figcaption>{title}</figcaption>'
        f'<div class="facts">{told}</div><div class="drawn" data-title="{title}"></div>'
        f'<script type="application/gzip">{content(graph)}</script></figure>'
    )


def facts(graph: Graph) -> list[str]:
    """What each side is made of, and what it cannot tell."""
    lines = []
    for letter, side in zip("AB", graph.sides, strict=False):
        name = side.name if len(graph.sides) == 1 else f"{letter}: {side.name}"
        us = "" if side.us is None else f"{side.us:,.2f} us/op of the server's CPU; "
        made_of = f"{count(side.runs, 'run')}, {count(len(side.recordings), 'recording')}, {side.samples:,} samples"
        lines.append(
            f"{name}: {us}{made_of}. {100 * side.unnamed:.1f} % of CPU without a name, "
            f"{100 * side.cut:.1f} % of stacks cut."
        )
    which = [letter for letter, side in zip("AB", graph.sides, strict=False) if not side.stands]
    if which:
        whose = f"Of {' and '.join(which)}" if len(graph.sides) > 1 else "Here"
        lines.append(
            f"{whose}, more than {100 * MOST_MISSING:.0f} % of CPU has no name, so functions are shown down to where "
            "names are missing, and are not told apart below that."
        )
    if any(side.cut > MOST_MISSING for side in graph.sides):
        lines.append(
            f"More than {100 * MOST_MISSING:.0f} % of stacks are cut. They stand under (cut off), as nobody knows "
            "what called them."
        )
    if not graph.in_us:
        lines.append("The CPU per operation is not known, so everything here counts samples.")
    if len(graph.sides) > 1 and graph.untested:
        lines.append(f"No change is coloured: {graph.untested}.")
    return lines


def content(graph: Graph) -> str:
    """The tree for the page's script: JSON, packed with gzip, in base64.

    `names`; by node its name `n` and how far before it its caller is `p`; by side own samples `s` and own microseconds
    `u` in units of `scale`; `kernel` are the names at which stacks enter the kernel, `unnamed` those that name nothing.
    """
    trie = graph.trie
    names = list(dict.fromkeys(trie.names))
    number = {name: at for at, name in enumerate(names)}
    scale = [(side.us or 0.0) / _STEPS for side in graph.sides]
    document = {
        "unit": graph.unit,
        "sides": [{"name": side.name, "short": side.short, "samples": side.samples} for side in graph.sides],
        "names": names,
        "kernel": [at for at, name in enumerate(names) if Named("", (name,)).subsystem == KERNEL],
        "unnamed": [at for at, name in enumerate(names) if name.startswith(UNKNOWN) or name in _NO_FUNCTION],
        "n": [number[name] for name in trie.names],
        "p": [at - above for at, above in enumerate(trie.parent)],
        "s": [[own[side] for own in trie.own] for side in range(len(graph.sides))],
        "u": [
            [round(own[side] / scale[side]) if graph.in_us else 0 for own in trie.own_us]
            for side in range(len(graph.sides))
        ],
        "scale": scale,
        "tested": {str(at): [low, high, int(beyond)] for at, (low, high, beyond) in graph.tested.items()},
        "untested": graph.untested,
    }
    text = json.dumps(document, separators=(",", ":"), allow_nan=False)
    return base64.b64encode(gzip.compress(text.encode(), 9, mtime=0)).decode()


def functions_table(graph: Graph, palette: str = "default") -> GT:
    """The functions with the most CPU of their own, or with the largest change of it."""
    own, whole, samples = _by_function(graph)
    two = len(graph.sides) == 2
    spec = ",.3f" if graph.in_us else ",.0f"
    top = sorted(own, key=lambda name: (-(abs(own[name][1] - own[name][0]) if two else own[name][0]), name))
    top = top[:MOST_FUNCTIONS]
    what = "change most in CPU of their own" if two else "use most CPU of their own"
    if two:
        columns = ["A", "B", "B - A", "A", "B", "B - A", "A", "B"]
        spanners = [(f"own, {graph.unit}", [0, 1, 2]), (f"with callees, {graph.unit}", [3, 4, 5]), ("samples", [6, 7])]
    else:
        columns = [graph.unit, "%", graph.unit, "%", "samples"]
        spanners = [("own", [0, 1]), ("with callees", [2, 3])]
    title = f"The {len(top)} functions that {what} in {graph.where}" + ("" if two else f": {graph.sides[0].short}")
    grid = Grid(f"functions.{graph.name}", title, "function", columns, spanners=spanners)
    totals = graph.trie.totals_us[0] if graph.in_us else [float(one) for one in graph.trie.totals[0]]
    for name in top:
        cells: list[str] = []
        for values in (own[name], whole[name]):
            cells += [format(value, spec) for value in values]
            cells.append(format(values[1] - values[0], f"+{spec}") if two else _share(values[0], totals[0]))
        cells += [f"{number:,}" for number in samples[name]]
        grid.rows.append((name, [Cell(text) for text in cells]))
    if two:
        grid.notes.append(f"A is {graph.sides[0].name}; B is {graph.sides[1].name}. No change in this table is tested.")
    grid.notes.append("With callees: of all stacks that the function is in, each counted once.")
    return grid.draw(palette)


def _share(value: float, of: float) -> str:
    return f"{100 * value / of:.1f}" if of else "-"


def _by_function(graph: Graph) -> tuple[dict[str, list[float]], dict[str, list[float]], dict[str, list[int]]]:
    """By name and side: own CPU, CPU with callees, and samples of the stacks that the function is in."""
    trie, sides = graph.whole, range(len(graph.sides))
    own: dict[str, list[float]] = {}
    whole: dict[str, list[float]] = {}
    samples: dict[str, list[int]] = {}
    values = trie.own_us if graph.in_us else trie.own
    groups = {at for at, above in enumerate(trie.parent) if above == 0}
    for at in range(1, len(trie.names)):
        if not any(trie.own[at]):
            continue
        seen: set[str] = set()
        step = at
        while step > 0:
            if step not in groups and trie.names[step] not in _NO_FUNCTION:
                seen.add(trie.names[step])
            step = trie.parent[step]
        if trie.names[at] in seen:
            mine = own.setdefault(trie.names[at], [0.0 for _ in sides])
            for side in sides:
                mine[side] += values[at][side]
        for name in seen:
            of_name = whole.setdefault(name, [0.0 for _ in sides])
            counted = samples.setdefault(name, [0 for _ in sides])
            for side in sides:
                of_name[side] += values[at][side]
                counted[side] += trie.own[at][side]
    return own, whole, samples


def files(graph: Graph, step: str) -> list[tuple[str, bytes]]:
    """Name and content of the files of a graph, for other tools."""
    found = []
    letters = "AB" if len(graph.sides) > 1 else " "
    for letter, side in zip(letters, graph.sides, strict=False):
        name = html_id(f"{letter} {side.name} {step}".strip())
        found += [(f"{name}.folded", exports.folded(side)), (f"{name}.pb.gz", exports.pprof(side))]
    both = html_id(" ".join([*(side.name for side in graph.sides), step]))
    if len(graph.sides) > 1:
        found.insert(2, (f"{both}.folded", exports.folded_both(*graph.sides)))
    found.append((f"{both}.speedscope.json", exports.speedscope(graph.sides)))
    return found


def links(named: Iterable[tuple[str, bytes]], room: int = MOST_BYTES) -> str:
    """Links that save files, in their order, the longest left out where together they need more than `room` bytes."""
    packed = []
    for name, plain in named:
        zipped = len(plain) > _PLAIN_BYTES and not name.endswith(".gz")
        body = gzip.compress(plain, 9, mtime=0) if zipped else plain
        packed.append((f"{name}.gz" if zipped else name, base64.b64encode(body).decode()))
    lines = {}
    for name, data in sorted(packed, key=lambda one: len(one[1])):
        room -= len(data)
        said = html.escape(f"{name}, {len(data) * 3 / 4e3:,.1f} kB")
        kind = "application/gzip" if name.endswith(".gz") else "text/plain;charset=utf-8"
        link = f'<a class="data" download="{html.escape(name)}" href="data:{kind};base64,{data}">Save {said}</a>'
        lines[name] = link if room >= 0 else f'<span class="said">{said}: left out because it is too long here.</span>'
    items = "".join(f"<li>{lines[name]}</li>" for name, _ in packed)
    return f"<p>For other tools (folded stacks, pprof, speedscope), with whole names:</p><ul>{items}</ul>"
