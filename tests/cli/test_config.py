"""`ibench config`: fragments and what they say of themselves."""

from pathlib import Path

import pytest

from ibench_lib.paths import Workspace
from tests.command import ibench


def test_a_fragment_is_listed_with_its_files_if_asked_for(workspace: Workspace) -> None:
    short, long = ibench(workspace, "config", "list").stdout, ibench(workspace, "config", "list", "--files").stdout
    rows = dict(line.split(maxsplit=1) for line in short.splitlines())
    assert rows["a12"].strip() == "a quarter of the redo of cy10a (5 files)" and "a12.cnf" not in short
    assert rows["cy10a"].strip() == "the base of the report of August 2023 (6 files)"
    assert rows["io_tuned"].strip() == "settings for transactions that read from disk (2 files)"
    assert "a12.cnf, " in long


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("# mine: less flushing.\n# Not for SSDs.", "less flushing"),
        ("# mine: a sentence of\n# two lines. Another.", "a sentence of two lines"),
        ("# less flushing\n# innodb_io_capacity=400", "less flushing"),
        ("# As in MySQL 5.7, e.g. for old disks.", "As in MySQL 5.7, e.g. for old disks"),
        ("#\n# mine: title\n#\n# Longer words.", "title"),
        ("", ""),
    ],
)
def test_a_fragment_is_described_by_the_first_sentence_of_its_comment(
    text: str, what: str, workspace: Workspace, tmp_path: Path
) -> None:
    (tmp_path / "mine.cnf").write_text(f"{text}\n[mysqld]\ninnodb_flush_neighbors=1\n")
    lines = ibench(workspace, "config", "list", "--folder", str(tmp_path)).stdout.splitlines()
    assert [line.removeprefix(" mine ").strip() for line in lines if line.startswith(" mine ")] == [what]
