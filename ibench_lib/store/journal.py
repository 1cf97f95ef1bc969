"""The journal of a run that is being written: what was captured, on disk within a second, readable after any death.

One Arrow IPC stream per table and generation, `journal/<table>.<generation>.arrows`. About once a second all rows that
have come in are written as one flush, one batch per table. Flushes are numbered through the run, and each batch says
how many its flush has: a stream that ends between two batches reads as whole, only the numbers tell that one is gone.
Sealing a generation into Parquet makes its streams superfluous; the manifest says up to which generation that is so.

Rows survive the death of the runner, not that of the machine: nothing is forced to disk while a benchmark measures.
"""

from __future__ import annotations

import re
import zlib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from ibench_lib.base.later import later
from ibench_lib.schema import TABLES

if TYPE_CHECKING:
    import pyarrow as pa
else:
    pa = later("pyarrow")

FOLDER = "journal"
_STREAM = re.compile(r"([a-z][a-z0-9_]*)\.([0-9]+)\.arrows")


class JournalWriter:
    """Writes the streams of one generation. A stream is begun when its table has rows for the first time."""

    def __init__(self, directory: Path, generation: int) -> None:
        self.generation = generation
        self._directory = directory
        self._streams: dict[str, tuple[pa.OSFile, pa.RecordBatchStreamWriter]] = {}

    def write(self, flush: int, batches: dict[str, pa.RecordBatch]) -> None:
        """Write one flush. A batch that was written is taken out of `batches`, so that what is left is not on disk.

        Raises
        ------
        OSError : among others a full disk. The streams of the tables that are left must not be written to again.
        """
        of = len(batches)
        for number, name in enumerate(list(batches)):
            if name not in self._streams:
                file = pa.OSFile(str(self._directory / f"{name}.{self.generation}.arrows"), "wb")
                self._streams[name] = (file, pa.ipc.new_stream(file, TABLES[name].arrow_schema))
            numbers = {"flush": str(flush), "batch": str(number), "of": str(of), "crc32": _crc(batches[name])}
            self._streams[name][1].write_batch(batches[name], custom_metadata=numbers)
            del batches[name]

    def close(self) -> None:
        """End all streams."""
        for file, stream in self._streams.values():
            try:
                stream.close()
            except OSError:
                pass  # a full disk has no room for the end mark either; the numbers do without it
            finally:
                file.close()
        self._streams.clear()


@dataclass
class Journal:
    """What a journal holds: batches per table in the order written, and sentences on what it lacks.

    `damage`: what cannot be read. `gaps`: flushes of which something is not there. `generation` is the latest one that
    has a stream.
    """

    batches: dict[str, list[pa.RecordBatch]] = field(default_factory=dict)
    damage: list[str] = field(default_factory=list)
    gaps: list[str] = field(default_factory=list)
    generation: int = 0

    @property
    def problems(self) -> list[str]:
        """All of it."""
        return self.damage + self.gaps

    def tables(self) -> dict[str, pa.Table]:
        """The rows of each table that has any."""
        return {name: pa.Table.from_batches(batches) for name, batches in self.batches.items() if batches}


@dataclass
class Stream:
    """What one stream holds: its batches with the numbers of each. `damage` and `cut` say what is missing, and why."""

    generation: int
    table: str
    batches: list[tuple[pa.RecordBatch, Mapping[str, str]]] = field(default_factory=list)
    damage: list[str] = field(default_factory=list)
    cut: str | None = None


def read_journal(directory: Path, *, after: int = 0, up_to: int | None = None) -> Journal:
    """Read every batch that is whole, of all generations later than `after`, and not later than `up_to`."""
    return joined(read_streams(directory, after=after, up_to=up_to))


def read_streams(directory: Path, *, after: int = 0, up_to: int | None = None) -> list[Stream]:
    """Each stream as far as it can be read, in the order in which they were begun."""
    return [
        _read_stream(path, generation, name)
        for generation, name, path in _streams(directory)
        if generation > after and (up_to is None or generation <= up_to)
    ]


def joined(streams: Sequence[Stream], *, after: int = 0, whole_flushes: bool = False) -> Journal:
    """What the streams of generations later than `after` hold together.

    With `whole_flushes` the last flushes that lack a batch are left out: what remains is what was known at one moment,
    although the streams were read one after another while they were written. A stream may be cut there.
    """
    journal = Journal()
    seen: dict[int, set[int]] = defaultdict(set)
    sizes: dict[int, int] = {}
    flushes: dict[str, list[int]] = defaultdict(list)
    for stream in (stream for stream in streams if stream.generation > after):
        journal.generation = stream.generation
        journal.damage += stream.damage
        if stream.cut and not whole_flushes:
            journal.damage.append(stream.cut)
        for batch, numbers in stream.batches:
            flush = int(numbers["flush"])
            seen[flush].add(int(numbers["batch"]))
            sizes[flush] = int(numbers["of"])
            journal.batches.setdefault(stream.table, []).append(batch)
            flushes[stream.table].append(flush)
    if not seen:
        return journal
    last = max(seen)
    while whole_flushes and last in seen and len(seen[last]) < sizes[last]:
        for name, numbered in flushes.items():
            if numbered and numbered[-1] == last:
                journal.batches[name].pop()
                numbered.pop()
        del seen[last]
        last -= 1
    before = min(seen, default=last + 1) - 1
    for flush in [*sorted(seen), *([last + 1] if last not in seen else [])]:
        if flush > before + 2:
            journal.gaps.append(f"journal: flushes {before + 1} to {flush - 1} are missing")
        elif flush == before + 2:
            journal.gaps.append(f"journal: flush {flush - 1} is missing")
        before = flush
        if flush in seen and len(seen[flush]) < sizes[flush]:
            missing = sizes[flush] - len(seen[flush])
            journal.gaps.append(f"journal: flush {flush} lacks {missing} of {sizes[flush]} batches")
    return journal


def remove_generations(directory: Path, up_to: int) -> None:
    """Delete the streams of all generations up to this one."""
    for generation, _, path in _streams(directory):
        if generation <= up_to:
            path.unlink(missing_ok=True)


def _streams(directory: Path) -> list[tuple[int, str, Path]]:
    """(generation, table, path) of every stream, in the order in which they were written."""
    streams = []
    for path in directory.iterdir() if directory.is_dir() else []:
        match = _STREAM.fullmatch(path.name)
        if match and match[1] in TABLES and path.is_file() and not path.is_symlink():
            streams.append((int(match[2]), match[1], path))
    return sorted(streams)


def _read_stream(path: Path, generation: int, table: str) -> Stream:
    kept = Stream(generation, table)
    read = 0
    try:
        with pa.ipc.open_stream(path.read_bytes()) as stream:
            if stream.schema != TABLES[table].arrow_schema:
                raise ValueError("its columns are not those of its table")
            while True:
                both = stream.read_next_batch_with_custom_metadata()
                read += 1
                numbers = {k.decode(): v.decode() for k, v in (both.custom_metadata or {}).items()}
                if not all(numbers.get(name, "").isdecimal() for name in ("flush", "batch", "of")):
                    raise ValueError("a batch has no numbers")
                both.batch.validate(full=True)
                if numbers.get("crc32", _crc(both.batch)) != _crc(both.batch):
                    kept.damage.append(
                        f"journal: batch {read} of {path.name} is damaged: its {both.batch.num_rows} rows are left out"
                    )
                    continue
                kept.batches.append((both.batch, numbers))
    except StopIteration:
        pass
    except Exception as error:  # damaged bytes can raise any error
        reason = (str(error).splitlines() or ["unreadable"])[0]
        kept.cut = f"journal: {path.name} is cut after {read} batches: {reason}"
    return kept


def _crc(batch: pa.RecordBatch) -> str:
    """A checksum of the content of a batch. Streams of versions before it have none."""
    return str(zlib.crc32(batch.serialize()))
