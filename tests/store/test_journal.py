"""What is in a journal survives any cut, and what is not is flagged."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from ibench_lib.schema import TABLES
from ibench_lib.store.journal import JournalWriter, read_journal, remove_generations


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
        one_moment = read_journal(tmp_path, whole_flushes=True)
        assert {name: table.num_rows for name, table in one_moment.tables().items()} == {
            "server_samples": 2,
            "probes": 2,
        }
    path.write_bytes(content)
    assert moments(tmp_path) == [0.0, 1.0, 2.0]


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
