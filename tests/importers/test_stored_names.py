"""Of the name of a file, a run keeps what was measured, and nothing that may be a host, a person or an address."""

from __future__ import annotations

import pytest

from ibench_lib.importers.stored_names import StoredNames


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("my8033.cy10a/oltp_read_write.thr4.txt", "my8033.cy10a/oltp_read_write.thr4.txt"),
        (
            "res-oltp-node1-2021-02-24-08-26/BP10.threads40/results.txt",
            "res-oltp-name2-2021-name1/BP10.threads40/results.txt",
        ),
        ("10.1.2.3/a.log", "name1/a.log"),
        ("ip-10-1-2-3/a.log", "name2-name1/a.log"),
        ("fe80::1/sb.log", "name1/sb.log"),
        ("/home/alice/alice.log", "/name1/name2/name2.log"),
        ("alice_bob/o.ib.dop8.1", "name1_name2/o.ib.dop8.1"),
        ("1234567.log", "name1.log"),
        ("é.log", "name1.log"),
        ("alice7.log", "name1.log"),
    ],
)
def test_words_that_are_not_of_benchmarks_are_numbered(name: str, kept: str) -> None:
    assert StoredNames(["my8033.cy10a"])(name) == kept


def test_the_same_word_is_the_same_everywhere() -> None:
    stored = StoredNames()
    assert [stored(name) for name in ("db/a", "web/a", "DB/b")] == ["name1/a", "name2/a", "name1/b"]
