"""What is in a journal survives any cut, and what is not is flagged."""

import struct
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from ibench_lib.schema import TABLES
from ibench_lib.store.journal import JournalWriter, joined, read_journal, read_streams, remove_generations


def batch(table: str, *rows: dict[str, Any]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([{"run_id": "r1", **row} for row in rows], schema=TABLES[table].arrow_schema)


def samples(*moments: float) -> pa.RecordBatch:
    return batch("server_samples", *({"t_s": t_s} for t_s in moments))


def probes(*starts: float) -> pa.RecordBatch:
    base = {"step_id": 0, "step": "l.i0", "client": 1, "probe": "get_min", "seconds": 0.5}
    return batch("probes", *({**base, "start_s": start_s} for start_s in starts))


def write(directory: Path, *flushes: dict[str, pa.RecordBatch], generation: int = 1, first: int = 1) -> JournalWriter:
    writer = JournalWriter(directory, generation)
    for number, batches in enumerate(flushes, start=first):
        writer.write(number, dict(batches))
    return writer


def moments(directory: Path, **options: Any) -> list[float]:
    table = read_journal(directory, **options).tables().get("server_samples")
    return [] if table is None else table["t_s"].to_pylist()


def test_everything_that_was_written_is_read_whether_or_not_the_stream_was_ended(tmp_path: Path) -> None:
    flushes = [{"server_samples": samples(1.0, 2.0), "probes": probes(0.5)}, {"server_samples": samples(3.0)}]
    writer = write(tmp_path, *flushes)
    for _ in range(2):
        journal = read_journal(tmp_path)
        assert journal.problems == []
        assert {name: table.num_rows for name, table in journal.tables().items()} == {"server_samples": 3, "probes": 1}
        assert journal.tables()["probes"].schema.equals(TABLES["probes"].arrow_schema)
        writer.close()


@pytest.mark.slow
@pytest.mark.fault("F30")
@pytest.mark.parametrize("apart", [pytest.param(1, marks=pytest.mark.long), 13])
def test_f30_a_journal_cut_at_any_byte_of_its_last_batch_keeps_the_earlier_ones(tmp_path: Path, apart: int) -> None:
    """The journal ends with a flush of two tables; the stream of one of them is cut."""
    both = [{"server_samples": samples(float(number)), "probes": probes(float(number))} for number in range(3)]
    writer = write(tmp_path, *both[:2])
    path = tmp_path / "server_samples.1.arrows"
    before = path.stat().st_size
    writer.write(3, dict(both[2]))
    content = path.read_bytes()
    assert len(content) > before + 100
    for size in range(before, len(content), apart):
        path.write_bytes(content[:size])
        journal = read_journal(tmp_path)
        assert journal.tables()["server_samples"]["t_s"].to_pylist() == [0.0, 1.0], size
        assert "journal: flush 3 lacks 1 of 2 batches" in journal.problems, size
        assert size == before or len(journal.problems) == 2, "the cut itself is named, unless it is between batches"
        one_moment = joined(read_streams(tmp_path), whole_flushes=True)
        assert one_moment.problems == []
        assert {name: table.num_rows for name, table in one_moment.tables().items()} == {
            "server_samples": 2,
            "probes": 2,
        }
    path.write_bytes(content)
    assert moments(tmp_path) == [0.0, 1.0, 2.0]


def test_a_moment_is_read_although_two_flushes_come_in_between_two_streams(tmp_path: Path) -> None:
    both = {"server_samples": samples(1.0), "probes": probes(0.5)}
    writer = write(tmp_path, both)
    early = [stream for stream in read_streams(tmp_path) if stream.table == "server_samples"]
    for number in (2, 3):
        writer.write(number, dict(both))
    late = [stream for stream in read_streams(tmp_path) if stream.table == "probes"]
    moment = joined([*early, *late], whole_flushes=True)
    assert {name: table.num_rows for name, table in moment.tables().items()} == {"server_samples": 1, "probes": 1}
    assert moment.problems == []
    writer.write(4, {"probes": probes(0.5)})  # whole by itself, so that the two before it seem to be lost
    late = [stream for stream in read_streams(tmp_path) if stream.table == "probes"]
    assert "journal: flush 2 lacks 1 of 2 batches" in joined([*early, *late], whole_flushes=True).problems
    writer.close()


def test_a_stream_cut_in_its_schema_has_no_rows_and_is_named(tmp_path: Path) -> None:
    write(tmp_path, {"server_samples": samples(1.0), "probes": probes(1.0)}).close()
    path = tmp_path / "server_samples.1.arrows"
    path.write_bytes(path.read_bytes()[:100])
    journal = read_journal(tmp_path)
    assert journal.tables().keys() == {"probes"}
    assert any(
        problem.startswith("journal: server_samples.1.arrows is cut after 0 batches") for problem in journal.problems
    )


def test_a_flush_that_is_missing_altogether_is_flagged(tmp_path: Path) -> None:
    write(tmp_path, {"probes": probes(1.0)}, {"server_samples": samples(1.0)}, {"probes": probes(2.0)})
    (tmp_path / "server_samples.1.arrows").unlink()
    assert read_journal(tmp_path).problems == ["journal: flush 2 is missing"]


def test_a_first_flush_that_is_not_whole_is_left_out_and_none_before_it_is_missed(tmp_path: Path) -> None:
    """As when a runner dies in the first flush after a seal."""
    writer = write(tmp_path, {"server_samples": samples(1.0), "probes": probes(0.5)}, generation=2, first=7)
    writer.close()
    (early,) = (stream for stream in read_streams(tmp_path) if stream.table == "probes")
    moment = joined([early], after=1, whole_flushes=True)
    assert (moment.tables(), moment.problems) == ({}, [])


@pytest.mark.parametrize(("flush", "last"), [(4, "3"), (10**15, str(10**15 - 1))])
def test_many_flushes_that_are_missing_are_one_sentence_whatever_a_stream_says(
    tmp_path: Path, flush: int, last: str
) -> None:
    writer = write(tmp_path, {"server_samples": samples(0.0)})
    writer.write(flush, {"server_samples": samples(1.0)})
    writer.close()
    assert read_journal(tmp_path).problems == [f"journal: flushes 2 to {last} are missing"]


def test_generations_are_read_in_their_order_and_removed_when_sealed(tmp_path: Path) -> None:
    for generation in (1, 2, 10):
        write(tmp_path, {"server_samples": samples(float(generation))}, generation=generation, first=generation)
    assert moments(tmp_path) == [1.0, 2.0, 10.0]
    assert moments(tmp_path, after=1) == [2.0, 10.0]
    assert moments(tmp_path, after=1, up_to=2) == [2.0]
    assert read_journal(tmp_path).generation == 10
    remove_generations(tmp_path, 2)
    assert moments(tmp_path) == [10.0]


def test_files_that_are_not_streams_of_ours_are_left_alone(tmp_path: Path) -> None:
    for name in ("lock", "reserve", "unknown_table.1.arrows", "probes.x.arrows", "probes.1.arrows.tmp"):
        (tmp_path / name).write_bytes(b"nothing")
    assert read_journal(tmp_path).tables() == {}
    assert read_journal(tmp_path).problems == []


def test_what_could_not_be_written_is_told_from_what_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = write(tmp_path, {"probes": probes(1.0), "server_samples": samples(1.0)})
    stream = writer._streams["server_samples"][1]

    class Full:
        def write_batch(self, *_: Any, **__: Any) -> None:
            raise OSError(28, "No space left on device")

    monkeypatch.setitem(writer._streams, "server_samples", (writer._streams["server_samples"][0], Full()))
    left = {"probes": probes(2.0), "server_samples": samples(2.0)}
    with pytest.raises(OSError, match="No space"):
        writer.write(2, left)
    assert left.keys() == {"server_samples"}
    stream.close()
    assert read_journal(tmp_path).tables()["probes"].num_rows == 2


def flipped(path: Path, old: bytes, new: bytes) -> None:
    content = path.read_bytes()
    assert content.count(old) == 1
    path.write_bytes(content.replace(old, new))


def test_a_batch_whose_content_has_changed_is_left_out_and_named(tmp_path: Path) -> None:
    """Its frame is whole, and any number is a number: only a checksum tells."""
    write(tmp_path, *({"server_samples": samples(number)} for number in (1.5, 1.2345678, 3.5))).close()
    flipped(tmp_path / "server_samples.1.arrows", struct.pack("<d", 1.2345678), struct.pack("<d", 1.2345679))
    journal = read_journal(tmp_path)
    assert moments(tmp_path) == [1.5, 3.5]
    assert journal.problems == [
        "journal: batch 2 of server_samples.1.arrows is damaged: its 1 rows are left out",
        "journal: flush 2 is missing",
    ]


@pytest.mark.parametrize("table", TABLES)
def test_no_batch_is_called_damaged_that_is_not(tmp_path: Path, table: str) -> None:
    """With NULLs in every column that may have them, without any, and as a slice of a larger batch."""
    names = TABLES[table].arrow_schema.names
    kinds: dict[str, Any] = {"double": 1.5, "string": "text", "bool": True}
    whole = {
        name: kinds.get(str(kind), [1, 2] if "list" in str(kind) else b"b" if str(kind) == "binary" else 3)
        for name, kind in zip(names, TABLES[table].arrow_schema.types, strict=True)
    }
    rows = [whole, {name: whole[name] if name in TABLES[table].required else None for name in names}] * 9
    batches = [pa.RecordBatch.from_pylist(some, schema=TABLES[table].arrow_schema) for some in ([whole] * 9, rows)]
    write(tmp_path, *({table: each} for each in (*batches, batches[1].slice(3, 7))))
    journal = read_journal(tmp_path)
    assert journal.problems == [] and journal.tables()[table].num_rows == 9 + 18 + 7


@pytest.mark.parametrize("damage", ["columns", "numbers", "noise"])
def test_a_stream_that_is_none_of_ours_is_a_problem_and_no_error(tmp_path: Path, damage: str) -> None:
    write(tmp_path, {"probes": probes(1.0)}).close()
    path = tmp_path / "server_samples.1.arrows"
    other = pa.RecordBatch.from_pylist([{"a": 1}]) if damage == "columns" else samples(1.0)
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, other.schema) as stream:
        stream.write_batch(other, custom_metadata={"flush": "x"} if damage == "numbers" else None)
    if damage == "noise":
        path.write_bytes(bytes(range(256)) * 20)
    journal = read_journal(tmp_path)
    assert list(journal.tables()) == ["probes"]
    assert len(journal.problems) == 1 and "server_samples.1.arrows" in journal.problems[0]
