"""The data behind a table as a file inside the page: CSV, packed where it is long, left out where it is too long."""

from __future__ import annotations

import base64
import gzip
import html
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import polars as pl

from ibench_lib.base.mask import NOTHING, Mask
from ibench_lib.base.wording import count
from ibench_lib.show.kit.pieces import Html, SavedFile, Sentence

PLAIN_BYTES = 50_000
"""A longer CSV is packed with gzip."""

MOST_PACKED_BYTES = 1_000_000
"""Of one file. Some browsers refuse to save a data: address of more than 2 MB."""

MOST_TOGETHER_BYTES = 3_000_000
"""Of all files of a page: what is short comes first. A page that gets too large lets go of more."""

_THREADS = 2
"""Most of the work is polars' and zlib's, which let go of Python meanwhile."""

_SAMPLE = 2_000
_AT_BEST = 30
"""gzip makes no series of ours smaller than this part of its CSV."""


def csv_text(frame: pl.DataFrame, mask: Mask = NOTHING) -> bytes:
    """A frame as CSV (UTF-8). NULL is nothing, an empty text is `""`; lists and structs are JSON.

    `mask` takes paths of this machine out of texts: why a file could not be read may name one.
    """
    columns = [
        pl.when(pl.col(name).is_not_null())
        .then(pl.struct(pl.col(name).alias("v")).struct.json_encode().str.slice(5).str.head(-1))
        .alias(name)
        if dtype.is_nested()
        else pl.col(name)
        for name, dtype in frame.schema.items()
    ]
    return _masked(frame.select(columns), mask).write_csv().encode()


def _masked(frame: pl.DataFrame, mask: Mask) -> pl.DataFrame:
    for column in frame.select(pl.col(pl.String)).iter_columns():
        texts = column.unique() if len(column) > _SAMPLE else column
        known = {text: mask.paths(text) for text in set(texts.to_list()) - {None}}
        other = {text: masked for text, masked in known.items() if masked != text}
        if other:
            frame = frame.with_columns(column.replace(other))
    return frame


@dataclass(frozen=True)
class Download:
    """A file of a page. `packed` is None where it is too long; `csv_bytes` is then an estimate."""

    name: str
    rows: int
    columns: int
    csv_bytes: int
    packed: bytes | None

    @property
    def says(self) -> str:
        """What the link says, and what stands in its place where there is none."""
        what = f"{self.name}.csv, {count(self.rows, 'row')}, {_size(self.csv_bytes)}"
        if self.packed is None:
            return f"{what}: left out because the page would be too large. The SQL and the runs above reproduce it."
        return f"{what}, packed {_size(len(self.packed))}" if self.is_packed else what

    @property
    def is_packed(self) -> bool:
        """Whether the file is compressed, because the CSV is large."""
        return self.csv_bytes > PLAIN_BYTES

    @property
    def html(self) -> Html:
        """A link that saves the file, or a sentence."""
        if self.packed is None:
            return Html(Sentence(self.says, kind="said", element="p"))
        kind, end = ("application/gzip", "csv.gz") if self.is_packed else ("text/csv;charset=utf-8", "csv")
        data = base64.b64encode(self.packed).decode()
        file = html.escape(f"{self.name}.{end}")
        address = f"data:{kind};base64,{data}"
        link = f'<a class="data" download="{file}" href="{address}">Save {html.escape(self.says)}</a>'
        return Html("<p>", SavedFile(self.says, link), "</p>")


def downloads(frames: list[tuple[str, pl.DataFrame]], mask: Mask = NOTHING) -> list[Download]:
    """A file for each (name, frame), in their order; the shortest ones get their place first."""
    with ThreadPoolExecutor(_THREADS) as pool:
        made = list(pool.map(lambda named: _download(named[0], named[1], mask), frames))
    room = MOST_TOGETHER_BYTES
    for position in sorted(range(len(made)), key=lambda at: len(made[at].packed or b"")):
        file = made[position]
        room -= len(file.packed or b"")
        if room < 0:
            made[position] = Download(file.name, file.rows, file.columns, file.csv_bytes, None)
    return made


def _download(name: str, frame: pl.DataFrame, mask: Mask) -> Download:
    rows, columns = frame.shape
    if rows > _SAMPLE:
        estimate = len(csv_text(frame.head(_SAMPLE))) * rows // _SAMPLE
        if estimate > _AT_BEST * MOST_PACKED_BYTES:
            return Download(name, rows, columns, estimate, None)
    text = csv_text(frame, mask)
    packed = gzip.compress(text, 6, mtime=0) if len(text) > PLAIN_BYTES else text
    return Download(name, rows, columns, len(text), packed if len(packed) <= MOST_PACKED_BYTES else None)


def _size(amount: int) -> str:
    """Such as 310 bytes, 4.2 kB, 1.3 MB."""
    if amount < 1_000:
        return f"{amount} bytes"
    return f"{amount / 1e3:.1f} kB" if amount < 1e6 else f"{amount / 1e6:.1f} MB"
