"""How many connections the clients of a step had, in new runs and in those that did not record it."""

from __future__ import annotations

import duckdb
import pytest

from ibench_lib.store import reader
from tests.shared import lake_of
from tests.synthetic import Run

pytestmark = pytest.mark.lake

STEPS = """SELECT step, connections, of_one_role FROM step_connections([?], []) JOIN steps USING (run_id, step_id)
    ORDER BY ALL"""


def connections(lake: duckdb.DuckDBPyConnection, run_id: str) -> dict[str, tuple[int, int]]:
    found = lake.execute(STEPS, [run_id]).fetchall()
    return {step: (of_all, of_one_role) for step, of_all, of_one_role in found}


@pytest.mark.slow
@pytest.mark.parametrize(("recorded", "each"), [(None, 1), (1, 1), (8, 8)])
def test_all_connections_count_and_of_each_client_those_of_one_role(recorded: int | None, each: int) -> None:
    run = Run(connections=recorded)
    assert connections(lake_of(run), run.run_id) == {
        "l.i0": (2 * each, 2 * each),
        "l.x": (2 * each, 2 * each),
        "l.i1": (4 * each, 2 * each),
        "qr100": (6 * each, 2 * each),
    }


@pytest.mark.slow
def test_an_older_run_had_as_many_as_statements_were_ever_in_flight() -> None:
    """Two processes served these requesters; shipped runs are of before the number was recorded."""
    found = connections(reader.lake(), "20261123T143228Z-linkbench_small-10x-mariadb-10.1.23.lb13-r1")
    assert {step: found[step] for step in ("load", "t1", "t4", "t16")} == {
        "load": (2, 2),
        "t1": (1, 1),
        "t4": (4, 4),
        "t16": (16, 16),
    }
