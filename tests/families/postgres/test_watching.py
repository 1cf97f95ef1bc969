"""The connections of collectors: made again after they were lost, and known by their name."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from ibench_lib.families.postgres.driver import Connection
from ibench_lib.families.postgres.watching import NOT_OURS, Link, catalogue_of
from ibench_lib.servers.sandbox import Sandbox
from tests.capture.scenes import scene
from tests.families.postgres.boxes import connected


@pytest.mark.parametrize(
    ("columns", "log_end"), [(0, "pg_current_xlog_insert_location()"), (1, "pg_current_wal_insert_lsn()")]
)
def test_names_are_those_of_the_version_that_has_them(columns: int, log_end: str) -> None:
    server = SimpleNamespace(scalar=lambda _query: columns)
    found = catalogue_of(cast(Connection, server))
    assert found.log_end == log_end and (found.lacks == {}) == bool(columns)


@pytest.mark.slow
def test_a_lost_connection_is_one_missed_answer(shared_box: Sandbox, tmp_path: Path) -> None:
    begun = []
    link = Link(scene(tmp_path, shared_box.address.arguments(), family="postgres", database="postgres"), begun.append)
    assert link.objects("SELECT json_build_array(1, NULL)") == [[1, None]] and link.rows("SELECT NULL") == [(None,)]
    other = connected(shared_box)
    assert other.scalar(f"SELECT count(*) FROM pg_stat_activity WHERE pid = {link.connection().id} AND {NOT_OURS}") == 0
    other.query(f"SELECT pg_terminate_backend({link.connection().id}, 10000)")
    with pytest.raises(RuntimeError):
        link.rows("SELECT 1")
    with pytest.raises(RuntimeError, match="42P01"):
        link.rows("SELECT * FROM nothing")
    assert link.rows("SELECT 1") == [("1",)] and len(begun) == 3
    link.close()
    link.close()
    other.close()
