"""An explanation for other programs."""

from __future__ import annotations

import json
import math

import pytest

from ibench_lib.analysis.explanation import as_json
from tests.analysis.explaining import ENGINE, pair_runs, slowed
from tests.analysis.test_explain import explained

pytestmark = pytest.mark.slow


def test_the_document_has_every_figure_with_its_interval() -> None:
    found = explained(*pair_runs(ENGINE, slowed(ENGINE, "rec_get_offsets", 2)))
    document = json.loads(as_json(found))
    assert document["format_version"] == 1 and document["a"] == "system.cy10a" and document["step"] == "l.i0"
    assert [term["name"] for term in document["rate"]] == ["throughput", "cpus_used", "cpu_us"]
    assert document["self"][0]["name"] == "rec_get_offsets_func" and len(document["self"][0]["interval"]) == 2
    assert math.isclose(sum(one["share_a"] for one in document["subsystems"]), 1)
    assert len(document["runs_a"]) == len(document["runs_b"]) == 3
