"""A table as a reader sees it, and what its tests share."""

import csv
import re
from html.parser import HTMLParser

from ibench_lib.show.kit.grid import Grid
from tests.places import GOLDEN

CELLS = ("caption", "td", "th")


class Parsed(HTMLParser):
    """Title and rows of a table as lists of cell texts, and every tag that occurs."""

    def __init__(self, table: Grid) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.tags: set[str] = set()
        self.scopes: list[str | None] = []
        self._cell = False
        self.feed(re.sub(r"<style>.*?</style>", "", table.html(), flags=re.DOTALL))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        if tag == "tr":
            self.rows.append([])
        if tag == "th":
            self.scopes.append(dict(attrs).get("scope"))
        if tag == "caption":
            self.rows.append([])
        if tag in CELLS:
            self._cell = True
            self.rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        if tag in CELLS:
            self._cell = False
            self.rows[-1][-1] = self.rows[-1][-1].strip()

    def handle_data(self, data: str) -> None:
        if self._cell:
            self.rows[-1][-1] += data

    def of(self, head: str) -> list[str]:
        (row,) = (row for row in self.rows if row and row[0] == head)
        return row[1:]


def golden(name: str) -> list[dict[str, str]]:
    with open(GOLDEN / name, encoding="utf-8") as file:
        return list(csv.DictReader(file))
