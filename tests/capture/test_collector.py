"""What every collector declares."""

from ibench_lib.capture.session import collectors
from ibench_lib.schema import TABLES


def test_every_table_of_capture_has_its_collector() -> None:
    found = collectors()
    filled = [table for kind in found.values() for table in kind.tables]
    assert len(filled) == len(set(filled))
    assert "step_counters" not in filled, "which all fill together"
    measured = {"steps", "workers", "ops", "response_times", "outcomes", "probes", "table_counts", "checks"}
    others = measured | {"step_counters", "published", "intervals"}  # the last two are of imports
    assert set(filled) == set(TABLES) - others
