"""The ledger of what was tried, and its lock."""

import os
import sqlite3
from contextlib import closing

import pytest

from ibench_lib.errors import UsageError
from ibench_lib.paths import Workspace
from ibench_lib.runner.ledger import Ledger, is_running, running_alone
from tests.runner.many import sweep

pytestmark = pytest.mark.usefixtures("fake_builds")

LEDGER_BEFORE = """
CREATE TABLE attempts (
    attempt INTEGER PRIMARY KEY, experiment TEXT NOT NULL, dbms TEXT NOT NULL, setup TEXT NOT NULL,
    repeat INTEGER NOT NULL, position INTEGER NOT NULL, fingerprint TEXT NOT NULL, host TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('running', 'complete', 'failed', 'interrupted', 'lost')),
    run_id TEXT, error TEXT, begun TEXT NOT NULL, ended TEXT
) STRICT;
CREATE INDEX attempts_by_cell ON attempts (experiment, dbms, setup, repeat);
"""


def test_a_ledger_of_before_skipped_cells_keeps_its_attempts(workspace: Workspace) -> None:
    workspace.data.mkdir()
    with closing(sqlite3.connect(workspace.ledger)) as connection, connection:
        connection.executescript(LEDGER_BEFORE)
        connection.execute(
            "INSERT INTO attempts VALUES (7, 'many', 'a.base', 'mine', 1, 1, 'f', 'h', 'failed', NULL, 'x', 'b', 'e')"
        )
    ledger = Ledger(workspace)
    ledger.skip("many", ("a.base", "mine", 2), 2, "f", "h", "as repeat 1")
    found = [(attempt.attempt, attempt.state, attempt.error) for attempt in Ledger(workspace).attempts("many")]
    assert found == [(7, "failed", "x"), (8, "skipped", "as repeat 1")]


def test_two_at_once_are_refused(workspace: Workspace) -> None:
    assert not is_running(workspace)
    with running_alone(workspace):
        assert is_running(workspace)
        with pytest.raises(UsageError, match=f"already running, process {os.getpid()}"):
            sweep(workspace)
    assert len(sweep(workspace, only=["only_a"])) == 2
