"""Which cells share a snapshot, and why others do not."""

import pytest

from ibench_lib.runner.snapshot.sharing import LoadSettings, share

pytestmark = pytest.mark.usefixtures("known")

A, B = LoadSettings({"server": "s", "x": "1"}), LoadSettings({"server": "s", "x": "2", "y": "1"})
NEAR_B = LoadSettings({"server": "s", "x": "3", "y": "1"})


def test_the_first_cell_of_a_group_that_is_to_run_loads_for_the_others() -> None:
    shared = share({1: A, 2: B, 3: A, 4: B, 5: A}, to_run={3, 4, 5})
    assert {position: sharing.loads for position, sharing in shared.items()} == {1: 3, 3: 3, 5: 3, 2: 4, 4: 4}
    assert shared[5].cells == (1, 3, 5) and shared[4].cells == (2, 4)
    assert [position for position in (3, 4, 5) if shared[position].from_snapshot(position)] == [5]
    assert shared[3].note(3) == "loads data, shared by cell 5"
    assert shared[5].note(5) == "from the snapshot of cell 3"
    assert shared[1].apart is None
    apart = "not from the snapshot of cell 1: x is 2, there 1; y is 1, there not set"
    assert shared[4].apart == apart and shared[4].note(4) == f"loads its own data; {apart}"


def test_the_reason_names_the_cell_that_differs_least() -> None:
    shared = share({1: A, 2: B, 3: NEAR_B}, to_run={1, 2, 3})
    assert shared[3].apart == "not from the snapshot of cell 2: x is 3, there 2"
    elsewhere = LoadSettings({"server": "other", "x": "3", "y": "1"})
    shared = share({1: A, 2: elsewhere, 3: NEAR_B}, to_run={1, 2, 3})
    assert (shared[3].apart or "").startswith("not from the snapshot of cell 1: x"), "another server is farther away"


def test_a_snapshot_that_is_there_is_loaded_by_nobody() -> None:
    shared = share({1: A, 2: A, 3: B}, to_run={2, 3}, kept={A.digest})
    assert shared[2].loads is None and shared[2].from_snapshot(2)
    assert shared[2].note(2) == "from the existing snapshot"
    assert shared[3].loads == 3
