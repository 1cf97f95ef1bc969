"""What metrics declare."""

import pytest

from ibench_lib.metrics import METRICS, known, publishable, rates


def test_a_metric_shows_its_resolution() -> None:
    assert {METRICS[name].resolution for name in ("ips", "qps")} == {1.0}
    assert METRICS["get_min_s"].resolution == pytest.approx(0.001)


def test_metrics_of_workloads_are_among_the_others_under_names_of_their_own() -> None:
    assert {"get_min_s", "tps_floor", "ips"} <= set(METRICS) == set(known())
    labels = [(metric.of, metric.label) for metric in known().values() if metric.of == "step"]
    assert len(set(labels)) == len(labels)


def test_a_rate_belongs_to_families_and_may_be_published_without_seconds() -> None:
    names = {metric.name for metrics in rates().values() for metric in metrics}
    assert {"ips", "qps"} <= names
    assert names <= {name for name, metric in METRICS.items() if metric.families}
    assert set(publishable()) <= set(METRICS) and "ips" in publishable()
