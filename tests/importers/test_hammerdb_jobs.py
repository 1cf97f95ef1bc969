"""A database of others: only our queries run on it, on plain tables, and whatever else it has is not executed."""

from __future__ import annotations

import random
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from ibench_lib.importers import hammerdb_jobs
from ibench_lib.importers.hammerdb_jobs import NotReadable, _opened, may_be_jobs, read_jobs
from tests.importers.hammerdb_logs import TABLES, database, log

BOMB = "WITH RECURSIVE n(jobid, bm) AS (SELECT 1, 'TPC-C' UNION ALL SELECT jobid + 1, bm FROM n) SELECT * FROM n"


def content(tmp_path: Path, *statements: str, tables: tuple[str, ...] = TABLES) -> bytes:
    """A database with one job, after which statements have changed it."""
    path = database(tmp_path / "hammer.DB", log(), first=tables)
    with closing(sqlite3.connect(path)) as made:
        for statement in statements:
            made.execute(statement)
        made.commit()
    return path.read_bytes()


def test_a_job_has_its_output_calls_of_users_and_samples(tmp_path: Path) -> None:
    (job,) = read_jobs(content(tmp_path))
    assert job.benchmark == "TPC-C" and (1, "TEST RESULT : System achieved 1200 NOPM from 2800 MySQL TPM") in job.lines
    assert job.calls == [(2, "NEWORD", 100, 1.0, 20.0, 200.0), (3, "NEWORD", 300, 1.0, 40.0, 1200.0)]
    assert job.samples == [0, 2700, 2900, 3100]


def test_a_database_is_told_by_its_first_page(tmp_path: Path) -> None:
    made = content(tmp_path)
    assert may_be_jobs(made[:4096]) and not may_be_jobs(b"SQLite") and not may_be_jobs(log().encode())
    with closing(sqlite3.connect(tmp_path / "other.db")) as other:
        other.execute("CREATE TABLE photos (name TEXT)")
        other.commit()
    assert not may_be_jobs((tmp_path / "other.db").read_bytes()[:4096])


def test_a_database_that_was_in_use_is_read(tmp_path: Path) -> None:
    made = content(tmp_path, "PRAGMA journal_mode = WAL")
    assert made[18:20] == b"\2\2" and len(read_jobs(made)) == 1


@pytest.mark.parametrize(
    ("statements", "why"),
    [
        (("DROP TABLE JOBMAIN", f"CREATE VIEW JOBMAIN AS {BOMB}"), "it has no jobs of HammerDB"),
        (("DROP TABLE JOBMAIN", "CREATE VIRTUAL TABLE JOBMAIN USING fts5(jobid, bm)"), "it has no jobs of HammerDB"),
        (("DROP TABLE JOBMAIN",), "it has no jobs of HammerDB"),
        (("ALTER TABLE JOBMAIN RENAME COLUMN bm TO other",), "it cannot be read (no such column: bm)"),
        (
            (
                "ALTER TABLE JOBMAIN RENAME COLUMN bm TO other",
                "ALTER TABLE JOBMAIN ADD COLUMN bm AS (hex(zeroblob(1000)))",
            ),
            "its table JOBMAIN has computed columns",
        ),
    ],
)
def test_what_is_no_plain_table_is_not_executed(tmp_path: Path, statements: tuple[str, ...], why: str) -> None:
    with pytest.raises(NotReadable) as caught:
        read_jobs(content(tmp_path, *statements))
    assert str(caught.value).startswith(why)


def test_a_view_in_place_of_another_table_is_left_out(tmp_path: Path) -> None:
    (job,) = read_jobs(content(tmp_path, "DROP TABLE JOBTCOUNT", f"CREATE VIEW JOBTCOUNT AS {BOMB}"))
    assert job.samples == [] and job.lines


def test_the_authorizer_allows_reading_our_tables_only() -> None:
    allowed = hammerdb_jobs._authorized
    assert allowed(sqlite3.SQLITE_READ, "JOBMAIN", "bm", "main", None) == sqlite3.SQLITE_OK
    for action, name, inside in (
        (sqlite3.SQLITE_READ, "JOBMAIN", "a view"),
        (sqlite3.SQLITE_READ, "JOBSYSTEM", None),
        (sqlite3.SQLITE_FUNCTION, None, None),
        (sqlite3.SQLITE_RECURSIVE, None, None),
        (sqlite3.SQLITE_PRAGMA, "query_only", None),
        (sqlite3.SQLITE_ATTACH, "/etc/passwd", None),
        (sqlite3.SQLITE_INSERT, "JOBMAIN", None),
    ):
        assert allowed(action, name, None, "main", inside) == sqlite3.SQLITE_DENY


def test_work_and_values_have_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(NotReadable, match="too big"):
        read_jobs(content(tmp_path, f"UPDATE JOBOUTPUT SET output = '{'x' * 1_000_001}' WHERE vu = 1"))
    made = content(tmp_path, *("INSERT INTO JOBTCOUNT SELECT * FROM JOBTCOUNT" for _ in range(10)))
    assert len(read_jobs(made)[0].samples) == 4_096
    with monkeypatch.context() as few, pytest.raises(NotReadable, match="it has over 4,000 rows"):
        few.setattr(hammerdb_jobs, "_ROWS", 4_000)
        read_jobs(made)
    with pytest.raises(NotReadable, match="more text than bytes"):
        list(hammerdb_jobs._Rows(_opened(made), 100).of("JOBOUTPUT"))
    monkeypatch.setattr(hammerdb_jobs, "_OPERATIONS", 10_000)
    with pytest.raises(NotReadable, match="interrupted"):
        read_jobs(made)


def test_rows_of_other_kinds_are_left_out(tmp_path: Path) -> None:
    (job,) = read_jobs(
        content(
            tmp_path,
            "INSERT INTO JOBOUTPUT VALUES ('6A2B0', 'one', 'TEST RESULT'), (x'00', 1, 'TEST'), ('6A2B0', 1, NULL)",
            "UPDATE JOBTIMING SET calls = 'many' WHERE vu = 2",
            "UPDATE JOBTIMING SET total_ms = -1 WHERE vu = 3",
            "UPDATE JOBTCOUNT SET metric = 'MariaDB qph'",
        )
    )
    assert (job.calls, job.samples) == ([], []) and len(job.lines) == 10


def test_no_damage_makes_a_figure_or_a_traceback(tmp_path: Path) -> None:
    """A byte that is changed within a text cannot be told from another text, so figures are compared of cuts only."""
    made, dice = content(tmp_path), random.Random("hammer.DB")
    (whole,) = read_jobs(made)
    for number in range(300):
        place = dice.randrange(len(made))
        changed = made[:place] + dice.randbytes(1 + number % 40) + made[place + 1 + number % 40 :]
        for damaged in (made[:place], changed):
            try:
                jobs = read_jobs(damaged)
            except NotReadable as error:
                assert "\n" not in str(error)
                continue
            if damaged is not changed:
                assert {line for job in jobs for line in job.lines} <= {*whole.lines}
