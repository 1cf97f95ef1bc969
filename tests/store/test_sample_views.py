from ibench_lib.schema import TABLES
from ibench_lib.store.sample_views import sample_views


def test_every_table_of_samples_that_counts_has_a_view() -> None:
    counting = {t.name for t in TABLES.values() if t.name.endswith("_samples") and any(c.counts_up for c in t.columns)}
    assert {f"{name.removesuffix('_seconds')}_samples" for name in sample_views()} == counting


def test_a_view_takes_no_difference_across_a_restart_or_another_device() -> None:
    views = sample_views()
    assert "incarnation IS NOT DISTINCT FROM lag(incarnation)" in views["server_seconds"]
    assert "pid IS NOT DISTINCT FROM lag(pid)" in views["process_seconds"]
    assert "PARTITION BY run_id, device ORDER BY t_s" in views["device_seconds"]
