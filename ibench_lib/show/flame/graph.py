"""A flame graph as a piece of a page: a figure that the page's script draws, a table for all others, files to save."""

from __future__ import annotations

import base64
import gzip
import html
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ibench_lib.analysis.explain import MOST_UNKNOWN
from ibench_lib.analysis.flame.changes import Change, changes_of_functions, changes_of_nodes, why_untested
from ibench_lib.analysis.flame.sides import CUT_OFF, MOST_CUT, NOT_TOLD_APART, Side, Stack, alike
from ibench_lib.analysis.flame.trie import MOST_NODES, SMALL, Trie, trie_of
from ibench_lib.analysis.symbols import KERNEL, is_unknown
from ibench_lib.analysis.symbols import Stack as Named
from ibench_lib.base.wording import count, joined
from ibench_lib.show.flame import exports
from ibench_lib.show.kit import theme
from ibench_lib.show.kit.grid import Cell, Grid
from ibench_lib.show.kit.html_ids import html_id
from ibench_lib.show.kit.pieces import FLAME_GRAPH, Html, Piece, SavedFile
from ibench_lib.show.kit.theme import CHANGE_WORDS, Mark
from ibench_lib.stats.profile_costs import LEAST_SAMPLES

MOST_BYTES = 900_000
"""Of a graph with its files, which with its table makes at most 1 MB; the longest files are left out if need be."""
MOST_FUNCTIONS = 50
_PLAIN_BYTES = 50_000
_ALL = 10**9
_TESTED = (
    "more, less: CPU in B; the interval of the change of own CPU excludes 0, with all functions judged "
    f"together. These come first. A function with fewer than {LEAST_SAMPLES} samples of its own, on both sides, has no "
    "interval."
)
_NO_FUNCTION = {CUT_OFF, SMALL, NOT_TOLD_APART}
_STEPS = 10**8
"""The CPU per operation of a side in the smallest units that a page keeps."""


@dataclass(frozen=True)
class Graph:
    """One side, or the difference of two. `where` says of what, such as `l.i0, cached`; `called` says it in words.

    `trie` is what is drawn; `whole` has a node for every function. `tested` are nodes of `trie` whose change is known
    to be noise or not, `functions` the same of what functions use themselves; `untested` says why there are none.
    """

    sides: tuple[Side, ...]
    where: str
    trie: Trie
    whole: Trie
    tested: Mapping[int, Change]
    functions: Mapping[str, Change]
    untested: str = ""
    called: str = ""

    @property
    def in_us(self) -> bool:
        """Whether values are CPU microseconds per operation; else they are samples."""
        return all(side.us for side in self.sides)

    @property
    def unit(self) -> str:
        """The unit of its values."""
        return "us/op" if self.in_us else "samples"

    @property
    def name(self) -> str:
        """Its name as a file and as an id in a page."""
        return html_id(f"flame.{self.where}.{'.'.join(side.short for side in self.sides)}")

    @property
    def title(self) -> str:
        """Its heading in a page."""
        whose = " and ".join(side.short for side in self.sides)
        return f"Where the server's CPU goes in {self.called or self.where}: {whose}"


def graph_of(sides: Sequence[Side], where: str, most_nodes: int = MOST_NODES, called: str = "") -> Graph:
    """The graph of one side, or of A and B."""
    sides = alike(sides)
    weighed = _weighed(sides)
    whole = trie_of(weighed, _ALL)
    trie = whole if len(whole.names) <= most_nodes else trie_of(weighed, most_nodes)
    if len(sides) == 1:
        return Graph(tuple(sides), where, trie, whole, {}, {}, called=called)
    functions = changes_of_functions(sides, whole)
    nodes, untested = changes_of_nodes(sides, trie), why_untested(sides)
    return Graph(tuple(sides), where, trie, whole, nodes, functions, untested, called)


def _weighed(sides: Sequence[Side]) -> list[dict[Stack, tuple[int, float]]]:
    if all(side.us for side in sides):
        return [side.paths for side in sides]
    return [{path: (samples, 0.0) for path, (samples, _) in side.paths.items()} for side in sides]


def markup(graph: Graph, palette: str = "default") -> Html:
    """The figure with what is to be known of its sides."""
    colours = theme.palette(palette)
    sides = (("more", colours.paints("bad")), ("less", colours.paints("good")))
    style = ";".join(f"--{name}:{fill};--{name}-ink:{ink}" for name, (fill, ink) in sides)
    told = "".join(f"<p>{html.escape(line)}</p>" for line in facts(graph))
    title = html.escape(graph.title)
    return Html(
        f'<figure class="flame" id="{graph.name}" style="{style}"><figcaption>{title}</figcaption>'
        f'<div class="facts">{told}</div><div class="drawn" data-title="{title}"></div>'
        f'<script type="application/gzip">{content(graph)}</script></figure>',
        FLAME_GRAPH,
    )


def facts(graph: Graph) -> list[str]:
    """What each side is made of, and what it cannot tell."""
    lines = []
    for letter, side in zip("AB", graph.sides, strict=False):
        name = side.name if len(graph.sides) == 1 else f"{letter}: {side.name}"
        us = "" if not side.us else f"{side.us:,.2f} us/op of the server's CPU; "
        made_of = f"{count(side.runs, 'run')}, {count(len(side.recordings), 'recording')}, {side.samples:,} samples"
        lines.append(
            f"{name}: {us}{made_of}. {100 * side.unnamed:.1f} % of CPU without a name, "
            f"{100 * side.cut:.1f} % of stacks cut."
        )
    nameless = [letter for letter, side in zip("AB", graph.sides, strict=False) if not side.stands]
    if nameless:
        much = f"more than {100 * MOST_UNKNOWN:.0f} % of CPU has no name"
        lines.append(
            f"In {joined(nameless)}, {much}, so only functions with a name on both sides are shown; "
            f"{NOT_TOLD_APART} stands for all others."
            if len(graph.sides) > 1
            else f"More than {100 * MOST_UNKNOWN:.0f} % of the CPU has no function name, so little can be said about "
            "functions here."
        )
    cut = [letter for letter, side in zip("AB", graph.sides, strict=False) if side.cut > MOST_CUT]
    if cut:
        whose = f"In {joined(cut)}, more" if len(graph.sides) > 1 else "More"
        lines.append(
            f"{whose} than {100 * MOST_CUT:.0f} % of stacks are cut. They stand under {CUT_OFF}, because their "
            "callers are not known."
        )
    if not graph.in_us:
        lines.append("The CPU per operation is not known, so all figures here are numbers of samples.")
    elif graph.untested:
        lines.append(f"No change is coloured: {graph.untested}.")
    return lines


def content(graph: Graph) -> str:
    """The tree for the page's script: JSON, packed with gzip, in base64.

    `names`; by node its name `n` and how far before it its caller is `p`; by side own samples `s` and own microseconds
    `u` in units of `scale`; `kernel` are the names at which stacks enter the kernel, `unnamed` those that name nothing.
    `tested` by node, and `functions` by name: the interval of a change, and 1 if it is clear.
    """
    trie = graph.trie
    names = list(dict.fromkeys(trie.names))
    number = {name: at for at, name in enumerate(names)}
    is_whole = len(trie.names) == len(graph.whole.names)
    scale = [(side.us or 0.0) / _STEPS for side in graph.sides]
    document = {
        "unit": graph.unit,
        "sides": [{"name": side.name, "short": side.short, "samples": side.samples} for side in graph.sides],
        "names": names,
        "kernel": [at for at, name in enumerate(names) if Named("", (name,)).subsystem == KERNEL],
        "unnamed": [at for at, name in enumerate(names) if is_unknown(name) or name in _NO_FUNCTION],
        "n": [number[name] for name in trie.names],
        "p": [at - above for at, above in enumerate(trie.parent)],
        "s": [[own[side] for own in trie.own] for side in range(len(graph.sides))],
        "u": [
            [round(own[side] / scale[side]) if graph.in_us else 0 for own in trie.own_us]
            for side in range(len(graph.sides))
        ],
        "scale": scale,
        "tested": {str(at): _interval(change) for at, change in graph.tested.items()},
        # Where small nodes are summed up, the tree does not have all that functions use.
        "functions": {str(number[name]): _interval(change) for name, change in graph.functions.items() if is_whole},
        "isUntested": bool(graph.untested),
    }
    text = json.dumps(document, separators=(",", ":"), allow_nan=False)
    return base64.b64encode(gzip.compress(text.encode(), 9, mtime=0)).decode()


def _interval(change: Change) -> list[float]:
    return [float(f"{change.low:.4g}"), float(f"{change.high:.4g}"), int(change.clear)]


def functions_table(graph: Graph) -> Grid:
    """The functions with the most CPU of their own, or with the largest change of it."""
    own, whole, samples = _by_function(graph)
    two = len(graph.sides) == 2
    spec = ",.3f" if graph.in_us else ",.0f"

    def place(name: str) -> tuple[bool, float, str]:
        change = graph.functions.get(name)
        is_clear = change is not None and change.clear
        return not is_clear, -(abs(own[name][1] - own[name][0]) if two else own[name][0]), name

    top = sorted(own, key=place)[:MOST_FUNCTIONS]
    what = "whose own CPU changes most" if two else "that use the most CPU themselves"
    if two:
        columns = ["A", "B", "B - A", "interval", "A", "B", "B - A", "A", "B"]
        callees = f"with callees, {graph.unit}"
        spanners = [(f"own, {graph.unit}", [0, 1, 2, 3]), (callees, [4, 5, 6]), ("samples", [7, 8])]
    else:
        columns = [graph.unit, "%", graph.unit, "%", "samples"]
        spanners = [("own", [0, 1]), ("with callees", [2, 3])]
    title = f"The {len(top)} functions {what} in {graph.where}" + ("" if two else f": {graph.sides[0].short}")
    grid = Grid(f"functions.{graph.name}", title, "function", columns, spanners=spanners, words=CHANGE_WORDS)
    totals = graph.trie.totals_us[0] if graph.in_us else [float(one) for one in graph.trie.totals[0]]
    for name in top:
        cells: list[Cell] = []
        for values in (own[name], whole[name]):
            cells += [Cell(format(value, spec)) for value in values]
            if not two:
                cells.append(Cell(_share(values[0], totals[0])))
                continue
            change = graph.functions.get(name) if values is own[name] else None
            mark: Mark | None = None if change is None or not change.clear else "bad" if change.low > 0 else "good"
            cells.append(Cell(format(values[1] - values[0], f"+{spec}"), mark))
            if values is own[name]:
                cells.append(Cell(f"{change.low:+{spec}} to {change.high:+{spec}}" if change else "-"))
        cells += [Cell(f"{number:,}") for number in samples[name]]
        grid.rows.append((name, cells))
    if two:
        grid.notes.append(f"A is {graph.sides[0].name}; B is {graph.sides[1].name}.")
        said = f"No change is marked: {graph.untested}." if graph.untested else _TESTED
        grid.notes.append(said)
    grid.notes.append("With callees: the sum over all stacks that contain the function; each stack counts once.")
    return grid


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
    named = []
    letters = "AB" if len(graph.sides) > 1 else " "
    for letter, side in zip(letters, graph.sides, strict=False):
        name = html_id(f"{letter} {side.name} {step}".strip())
        named += [(f"{name}.folded", exports.folded(side)), (f"{name}.pb.gz", exports.pprof(side))]
    both = html_id(" ".join([*(side.name for side in graph.sides), step]))
    if len(graph.sides) > 1:
        named.insert(2, (f"{both}.folded", exports.folded_both(*graph.sides)))
    named.append((f"{both}.speedscope.json", exports.speedscope(graph.sides)))
    return named


def links(named: Iterable[tuple[str, bytes]], room: int = MOST_BYTES) -> Html:
    """Links that save files, in their order, the longest left out where together they need more than `room` bytes."""
    packed = []
    for name, plain in named:
        zipped = len(plain) > _PLAIN_BYTES and not name.endswith(".gz")
        body = gzip.compress(plain, 9, mtime=0) if zipped else plain
        packed.append((f"{name}.gz" if zipped else name, base64.b64encode(body).decode()))
    lines: dict[str, Piece] = {}
    for name, data in sorted(packed, key=lambda one: len(one[1])):
        room -= len(data)
        says = f"{name}, {len(data) * 3 / 4e3:,.1f} kB"
        said = html.escape(says)
        kind = "application/gzip" if name.endswith(".gz") else "text/plain;charset=utf-8"
        link = f'<a class="data" download="{html.escape(name)}" href="data:{kind};base64,{data}">Save {said}</a>'
        left_out = f'<span class="said">{said}: left out because it is too long here.</span>'
        lines[name] = SavedFile(says, link) if room >= 0 else left_out
    items = (Html("<li>", lines[name], "</li>") for name, _ in packed)
    head = "<p>For other tools (folded stacks, pprof, speedscope), with whole names:</p><ul>"
    return Html(head, *items, "</ul>")
