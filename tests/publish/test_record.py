"""What a post says about itself next to its page."""

from pathlib import Path

from ibench_lib.publish.record import read_record


def test_a_post_says_what_it_is_beside_its_page(demo: Path) -> None:
    record = read_record(demo.parent)
    assert (record.slug, record.title, record.author) == ("demo", "Purge lag", "A. Tester")
    assert (record.notebook, record.experiments) == ("insert_benchmark", ["demo"])
    assert record.builds == ["system"]
    assert record.servers == ["system (mariadb 10.11.19-MariaDB)"]
    assert record.date.isoformat() == "2026-11-21"
    assert len(record.runs) == 3
    assert record.runs_not_complete == 0
    assert record.bytes == demo.stat().st_size
