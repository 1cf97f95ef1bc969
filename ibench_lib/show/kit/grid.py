"""One way to draw a table: text cells with marks in, a themed great_tables object out."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import polars as pl

from ibench_lib.base.later import later
from ibench_lib.show.kit import theme
from ibench_lib.show.kit.html_ids import html_id
from ibench_lib.show.kit.theme import GLYPHS, MARKS, Mark

if TYPE_CHECKING:
    import great_tables as gt
    from great_tables._text import Html
else:
    gt = later("great_tables")  # a summary in a terminal has cells, and draws none


@dataclass(frozen=True)
class Cell:
    """One cell: its text and, if it stands out, why. The mark's glyph is added to the text."""

    text: str
    mark: Mark | None = None

    @property
    def shown(self) -> str:
        """The text with the glyph of its mark."""
        glyph = GLYPHS.get(self.mark) if self.mark else None
        return f"{self.text} {glyph}" if glyph else self.text


@dataclass
class Grid:
    """A table before it is drawn. All text is plain text: it is escaped, never read as HTML or Markdown.

    A note that begins with the glyph of a mark explains marks: it is drawn where the table has one of them.
    """

    name: str
    title: str
    row_head: str
    columns: Sequence[str]
    rows: list[tuple[str, list[Cell]]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    spanners: Sequence[tuple[str, Sequence[int]]] = ()
    left: bool = False

    def draw(self, palette: str) -> gt.GT:
        """The table as a GT object, in the colours of the named palette."""
        colours = theme.palette(palette)
        ids = [f"c{position}" for position in range(len(self.columns))]
        data: dict[str, list[str]] = {"row": [head for head, _ in self.rows]}
        for position, column in enumerate(ids):
            data[column] = [cells[position].shown for _, cells in self.rows]
        labels: dict[str, Any] = {name: _text(label) for name, label in zip(ids, self.columns, strict=True)}
        table = (
            gt.GT(pl.DataFrame(data, schema=dict.fromkeys(data, pl.String)), rowname_col="row", id=_css_id(self.name))
            .tab_header(_text(self.title))
            .tab_stubhead(_text(self.row_head))
            .cols_label(**labels)
            .cols_align("left" if self.left else "right", columns=ids)
        )
        for number, (text, positions) in enumerate(self.spanners):
            # Two spanners may have one text, but not one id.
            again = text in [earlier for earlier, _ in self.spanners[:number]]
            name = f"{text}, {number}" if again else None
            table = table.tab_spanner(_text(text), columns=[ids[p] for p in positions], id=name)
        for position, column in enumerate(ids):
            for mark in MARKS:
                marked = [row for row, (_, cells) in enumerate(self.rows) if cells[position].mark == mark]
                if marked:
                    fill, ink = colours.paints(mark)
                    where = gt.loc.body(columns=column, rows=marked)
                    table = table.tab_style([gt.style.fill(fill), gt.style.text(color=ink)], where)
        for note in filter(self._explains, self.notes):
            table = table.tab_source_note(_text(note))
        return _themed(table)

    def _explains(self, note: str) -> bool:
        """Whether the note is on something else than marks, or one of the marks that it explains is in the table."""
        if not note.startswith(tuple(GLYPHS.values())):
            return True
        shown = {glyph for glyph in GLYPHS.values() if glyph in note}
        return any(cell.shown.endswith(tuple(shown)) for _, cells in self.rows for cell in cells)


def _text(text: str) -> Html:
    # Escaped by us: in some places great_tables reads {{...}} as a unit, and what is around it as HTML.
    return gt.html(html.escape(text))


def _css_id(text: str) -> str:
    # great_tables scopes its style sheet with `#<id>`, where a dot would begin a class name.
    return "table-" + html_id(text).replace(".", "-")


def _themed(table: gt.GT) -> gt.GT:
    return table.tab_options(
        table_font_names=[name.strip(" '") for name in theme.FONT.split(",")],
        table_font_size="14px",
        table_font_color=theme.INK,
        heading_align="left",
        heading_title_font_size="15px",
        heading_title_font_weight="600",
        heading_border_bottom_style="hidden",
        table_border_top_style="hidden",
        table_border_bottom_color=theme.RULE,
        table_border_bottom_width="1px",
        column_labels_font_weight="600",
        column_labels_border_top_style="hidden",
        column_labels_border_bottom_color=theme.QUIET,
        column_labels_border_bottom_width="1px",
        table_body_hlines_color=theme.RULE,
        table_body_border_bottom_color=theme.RULE,
        stub_border_style="hidden",
        stub_font_weight="normal",
        source_notes_font_size="13px",
        source_notes_border_bottom_style="hidden",
        data_row_padding="5px",
        table_font_style="normal",
    )
