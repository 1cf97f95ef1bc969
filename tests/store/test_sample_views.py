from ibench_lib.schema import TABLES
from ibench_lib.store.sample_views import sample_macros, sample_views


def test_every_table_of_samples_that_counts_has_a_view() -> None:
    counting = {t.name for t in TABLES.values() if t.name.endswith("_samples") and any(c.counts_up for c in t.columns)}
    assert {f"{name.removesuffix('_seconds')}_samples" for name in sample_views()} == counting


def test_a_view_takes_no_difference_across_a_restart_or_another_device() -> None:
    views = sample_views()
    assert "incarnation IS NOT DISTINCT FROM lag(incarnation)" in views["server_seconds"]
    assert "pid IS NOT DISTINCT FROM lag(pid)" in views["process_seconds"]
    assert "PARTITION BY run_id, device ORDER BY t_s" in views["device_seconds"]


def test_each_view_has_a_macro_for_some_runs_which_differs_in_nothing_else() -> None:
    macros = sample_macros()
    for name, view in sample_views().items():
        samples = name.removesuffix("_seconds") + "_samples"
        assert macros[f"{name}_of"].count(" SEMI JOIN query_table($steps) USING (run_id)") == 1
        of_all = macros[f"{name}_of"].replace(" SEMI JOIN query_table($steps) USING (run_id)", "")
        assert of_all[of_all.index("WITH ") :] == view[view.index("WITH ") :] and f"FROM {samples} " in view
