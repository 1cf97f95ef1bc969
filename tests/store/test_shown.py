"""A lake as a notebook shows it."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from ibench_lib.paths import Workspace
from ibench_lib.store import reader
from ibench_lib.store.shown import html_of, text_of
from tests.interactive_shell import make_shell
from tests.synthetic import Run, write_runs

pytestmark = pytest.mark.lake


def test_a_lake_says_where_it_is_and_what_it_has(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shell = make_shell(tmp_path / "ipython", monkeypatch)
    write_runs(workspace, Run(), Run(minute=1, experiment="a<b", status="failed"))
    lake = reader.lake(workspace)
    answer = lake.execute("SELECT range FROM range(3)")
    shown = shell.display_formatter.format(lake)[0]
    assert shown["text/plain"] == f"lake in {workspace.data}: 2 runs of 2 experiments, 0 problems"
    assert "<td>demo</td><td>1</td><td>0</td><td>0</td>" in shown["text/html"]
    assert "<td>a&lt;b</td><td>1</td><td>0</td><td>1</td>" in shown["text/html"]
    assert answer.fetchall() == [(0,), (1,), (2,)], "an answer that is being fetched is left alone"
    lake.close()
    assert text_of(lake) == f"lake in {workspace.data}, closed" and html_of(lake) == f"<p>{text_of(lake)}</p>"


def test_a_lake_without_runs_and_one_with_a_problem(workspace: Workspace) -> None:
    assert str(text_of(reader.lake(workspace))).endswith("0 runs of 0 experiments, 0 problems")
    (workspace.runs / "damaged").mkdir(parents=True)
    (workspace.runs / "damaged" / "manifest.json").write_text("{")
    assert str(text_of(reader.lake(workspace))).endswith("0 runs of 0 experiments, 1 problem (FROM problems)")


def test_a_connection_that_is_no_lake_is_shown_as_duckdb_shows_it() -> None:
    with duckdb.connect() as other:
        assert html_of(other) is None and text_of(other) is None
