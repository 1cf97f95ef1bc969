"""One way to draw a table: text cells with marks in, markup out. A page gets the table itself and draws it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from markupsafe import Markup, escape

from ibench_lib.show.kit import theme
from ibench_lib.show.kit.html_ids import html_id
from ibench_lib.show.kit.theme import RANK_WORDS, WORDS, Mark

GRID_MIME = "application/vnd.ibench.table+json"
"""What a cell's output has of a table next to its HTML: `Grid.data`."""

_BETWEEN = re.compile(r"(?<=[\dx])\s?(?:\[[^\]]{3,40}\]|\([^)]{1,20} to [^)]{1,20}\))(?=[ †‡]*$)")
"""An interval or a range behind a figure, at the end of a cell."""


@dataclass(frozen=True)
class Cell:
    """One cell: its text and, if it stands out, why. The table adds the word of the mark to the text.

    `below` is a mark of its second line alone. The word of the cell's own mark then ends its first line, as that of a
    rank does.
    """

    text: str
    mark: Mark | None = None
    below: Mark | None = None

    @property
    def marks(self) -> set[Mark]:
        """Those that it has."""
        return {mark for mark in (self.mark, self.below) if mark is not None}


@dataclass
class Grid:
    """A table. All text is plain text: it is escaped, never read as HTML or Markdown.

    `words` are those of its marks; empty where the texts of marked cells say it themselves. A note that begins with
    such words and a colon explains them: it is drawn where the table has one of them. `spanners` are heads of several
    columns next to each other, with their places. `left` are the places of columns of words, True: of all. `palette`
    names the colours of marks; a post's tables have those of the post.
    """

    name: str
    title: str
    row_head: str
    columns: Sequence[str]
    rows: list[tuple[str, list[Cell]]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    spanners: Sequence[tuple[str, Sequence[int]]] = ()
    left: bool | Sequence[int] = False
    palette: str = "default"
    words: Mapping[Mark, str] = field(default_factory=lambda: WORDS)

    def __post_init__(self) -> None:
        theme.palette(self.palette)  # a wrong name is an error where the table is made, not where it is drawn

    @property
    def shown_notes(self) -> list[str]:
        """The notes without those that explain marks which the table does not have."""
        return list(filter(self._explains, self.notes))

    @property
    def title_id(self) -> str:
        """The id of the caption."""
        return f"{self._id}-title"

    @property
    def data(self) -> dict[str, Any]:
        """The table as plain values for JSON, of which `grid_of` makes it again."""
        rows = [[head, [[cell.text, cell.mark, cell.below] for cell in cells]] for head, cells in self.rows]
        return {**vars(self), "rows": rows, "words": dict(self.words)}

    def markup(self, notes: Sequence[Markup] | None = None) -> Markup:
        """The table element. `notes` stand below it, each a `span`; None: its own ones."""
        order, heads = self._heads()
        body = Markup("".join(self._row(head, cells, order) for head, cells in self.rows))
        if notes is None:
            notes = [Markup("<span>{}</span>").format(note) for note in self.shown_notes]
        note = Markup('<tr class="grid-notes"><td class="grid-note" colspan="{}">{}</td></tr>')
        below = Markup().join(note.format(1 + len(order), text) for text in notes)
        return Markup(
            '<table class="grid" id="{}" aria-labelledby="{title}"><caption id="{title}">{}</caption>'
            '<thead>{}</thead><tbody class="grid-body">{}</tbody>{}</table>'
        ).format(
            self._id, self.title, heads, body, Markup("<tfoot>{}</tfoot>").format(below) if below else "",
            title=self.title_id,
        )  # fmt: skip

    def html(self) -> str:
        """The table with its style, for a notebook."""
        style = Markup(style_sheet(".ibench-table") + theme.marks_style(".ibench-table "))
        # A table wider than the notebook scrolls, as it does in a post.
        box = '<div class="ibench-table" style="overflow-x: auto" role="region" aria-labelledby="{}" tabindex="0">'
        return Markup(box + "<style>{}</style>{}</div>").format(self.title_id, style, self.markup())

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        return {GRID_MIME: self.data, "text/html": self.html(), "text/plain": self.title}

    @property
    def _id(self) -> str:
        return "table-" + html_id(self.name).replace(".", "-")

    def _heads(self) -> tuple[list[int], Markup]:
        """Places of the columns in their order, those below one spanner next to each other; and the rows of heads."""
        head = Markup('<th class="grid-head grid-{}"{} scope="col">{}</th>')

        def of_column(place: int, rows: str) -> Markup:
            return head.format("left" if self._is_left(place) else "right", rows, self.columns[place])

        if not self.spanners:
            order = list(range(len(self.columns)))
            labels = Markup().join(of_column(place, "") for place in order)
            first = head.format("left", "", self.row_head)
            return order, Markup('<tr class="grid-heads">{}{}</tr>').format(first, labels)
        of = {place: (text, places) for text, places in self.spanners for place in places}
        two_rows = Markup(' rowspan="2"')
        spanner = Markup('<th class="grid-center grid-spanner-cell"{}><span class="grid-spanner">{}</span></th>')
        order, upper, lower = [], [head.format("left", two_rows, self.row_head)], list[Markup]()
        for place in range(len(self.columns)):
            if place not in of:
                order.append(place)
                upper.append(of_column(place, two_rows))
            elif place not in order:
                text, places = of[place]
                order += places
                of_columns = Markup(' colspan="{}" scope="colgroup"').format(len(places))
                upper.append(spanner.format(of_columns if len(places) > 1 else Markup(' scope="col"'), text))
                lower += [of_column(below, "") for below in places]
        rows = '<tr class="grid-heads grid-spanner-row">{}</tr><tr class="grid-heads">{}</tr>'
        return order, Markup(rows).format(Markup().join(upper), Markup().join(lower))

    def _row(self, head: str, cells: Sequence[Cell], order: Sequence[int]) -> str:
        # Not by `Markup.format`: with thousands of cells it would take most of the time of a page.
        drawn = "".join(self._cell(cells[place], self._is_left(place)) for place in order)
        return f'<tr><th scope="row" class="grid-row grid-left grid-name">{escape(head)}</th>{drawn}</tr>'

    def _cell(self, cell: Cell, left: bool) -> str:
        kind = ' class="grid-row grid-left"' if left else ""
        marked = self._marked(cell.mark)
        first, has_second, second = cell.text.partition("\n")
        if not has_second or not (cell.below or cell.mark in RANK_WORDS):
            return f"<td{marked}{kind}>{self._line(cell.text, cell.mark)}</td>"
        lower = self._line(second, cell.below)
        lower = f"<span{self._marked(cell.below)}>{lower}</span>" if cell.below else lower
        return f"<td{marked}{kind}>{self._line(first, cell.mark)}\n{lower}</td>"

    def _marked(self, mark: Mark | None) -> str:
        return f' data-mark="{escape(theme.palette(self.palette).token(mark))}"' if mark else ""

    def _line(self, text: str, mark: Mark | None) -> str:
        """A text with the word of its mark; an interval in it is an element of its own."""
        word = self.words.get(mark, "") if mark else ""
        after = escape(f" {word}") if word else ""
        if between := _BETWEEN.search(text):
            first, last = text[: between.start()], text[between.end() :]
            return f"{escape(first)}<i>{escape(between[0])}</i>{escape(last)}{after}"
        return f"{escape(text)}{after}"

    def _is_left(self, place: int) -> bool:
        return self.left if isinstance(self.left, bool) else place in self.left

    def _explains(self, note: str) -> bool:
        """Whether the note is on something else than marks, or one of the marks that it explains is in the table."""
        explained = {mark for mark, word in self.words.items() if word in note.partition(":")[0].split(", ")}
        return not explained or any(explained & cell.marks for _, cells in self.rows for cell in cells)


def grid_of(data: dict[str, Any]) -> Grid:
    """The table of `Grid.data`."""
    rows = [(head, [Cell(*cell) for cell in cells]) for head, cells in data["rows"]]
    return Grid(**{**data, "rows": rows})


def style_sheet(scope: str) -> str:
    """The style of tables below a CSS selector. A cell without a class is a number's."""
    ink, quiet, rule = theme.paint("ink"), theme.paint("quiet"), theme.paint("rule")
    rules = {
        "table": f"font-family: {theme.FONT}",
        ".grid": (
            f"border-collapse: collapse; border: 0 solid {rule}; border-bottom-width: 1px; color: {ink};"
            "font-size: 14px; font-weight: normal; font-style: normal; line-height: normal"
        ),
        ".grid caption": "caption-side: top; text-align: left; font-size: 15px; font-weight: 600",
        ".grid-heads": f"border-bottom: 1px solid {quiet}",
        ".grid-head": "font-weight: 600; vertical-align: bottom; padding: 5px; overflow-x: hidden",
        ".grid-spanner-cell": "font-weight: 600; padding: 0 4px",
        ".grid-spanner-cell:first-child": "padding-left: 0",
        ".grid-spanner-cell:last-child": "padding-right: 0",
        ".grid-spanner": (
            f"border-bottom: 1px solid {quiet}; vertical-align: bottom; padding: 5px 0; overflow-x: hidden;"
            "display: inline-block; width: 100%"
        ),
        ".grid-spanner-row": "border-bottom-style: hidden",
        ":is(.grid-row, .grid td:not([class]))": (
            f"padding: 5px; border-top: 1px solid {rule}; vertical-align: middle; overflow-x: hidden"
        ),
        ".grid-name": "font-weight: normal; border-right-style: hidden",
        ".grid-body": f"border-top: 2px solid {rule}; border-bottom: 2px solid {rule}",
        ".grid-notes": "border-bottom-style: hidden",
        ".grid-note": "font-size: 13px; padding: 4px 5px; text-align: left",
        ".grid span[data-mark]": "padding: 0 3px; border-radius: 2px",
        ".grid-left": "text-align: left",
        ".grid-center": "text-align: center",
        ".grid td:not([class])": "text-align: right; font-variant-numeric: tabular-nums",
        ".grid-right": "text-align: right; font-variant-numeric: tabular-nums",
    }
    return "\n".join(f"{scope} {selector} {{ {style} }}" for selector, style in rules.items())
