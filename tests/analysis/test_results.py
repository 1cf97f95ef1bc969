"""The answers of `ibench summary`, `compare`, `stalls` and `explain` in Python: those that the commands print."""

from __future__ import annotations

import json
from typing import Any

import polars as pl
import pytest

import ibench_lib as ib
from ibench_lib.analysis import results
from ibench_lib.analysis.explanation import as_json
from ibench_lib.errors import ParameterError
from ibench_lib.paths import Workspace
from ibench_lib.store import reader
from tests.command import ibench
from tests.synthetic import Run, write_runs

pytestmark = [pytest.mark.lake, pytest.mark.slow]

A, B = "system.cy10a", "system.b"


@pytest.fixture
def measured(workspace: Workspace) -> Workspace:
    rates = {"cy10a": 5000, "b": 2500, "c": 5000}
    cells = [(config, n) for n in (1, 2, 3) for config in rates]
    runs = [
        Run(config, repeat=n, minute=minute, queries=rates[config] + 100 * n)
        for minute, (config, n) in enumerate(cells)
    ]
    write_runs(workspace, *runs)
    return workspace


def printed(workspace: Workspace, *words: str) -> Any:
    done = ibench(workspace, *words, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_each_function_has_the_figures_of_its_command(measured: Workspace) -> None:
    lake = reader.lake(measured)
    for frame, words in (
        (ib.summary(lake), ["summary"]),
        (ib.summary(lake, "demo", steps="qr100", base=B, tails=True),
         ["summary", "demo", "--step", "qr100", "--base", B, "--tails"]),
        (ib.compare(lake, A, B, steps=["l.i1", "qr100"]), ["compare", A, B, "--step", "l.i1", "--step", "qr100"]),
    ):  # fmt: skip
        rows = printed(measured, *words)
        assert rows and frame.to_dicts() == [{key: row[key] for key in frame.columns} for row in rows], words
    assert json.loads(json.dumps(ib.stalls(lake).to_dicts())) == printed(measured, "stalls")
    assert json.loads(as_json(ib.explain(lake, A, B, "qr100"))) == printed(measured, "explain", A, B, "--step", "qr100")


def test_an_answer_has_the_same_columns_with_and_without_rows(measured: Workspace) -> None:
    full = ib.summary(reader.lake(measured))
    assert full.schema == results._frame([]).schema
    assert full.schema["runs"] == full.schema["repeats"] == pl.Int64 and full.schema["ratio"] == pl.Float64


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda lake: ib.summary(lake, "dmeo"), "did you mean 'demo'"),
        (lambda lake: ib.summary(lake, steps="qr10"), "step 'qr10'"),
        (lambda lake: ib.compare(lake, A, A), "cannot be compared with itself"),
        (lambda lake: ib.compare(lake, A, "system.d"), "system.d"),
        (lambda lake: ib.explain(lake, A, "system.d", "qr100"), "system.d"),
        (lambda lake: ib.stalls(lake, runs="2020"), "run '2020'"),
    ],
)
def test_what_is_not_there_is_named(measured: Workspace, ask: Any, said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        ask(reader.lake(measured))
