"""A step under the microscope: stalls and what moved in them by hand, percentiles against numpy, the page."""

from __future__ import annotations

import json
import re
from typing import Any

import polars as pl
import pytest
from ruamel.yaml import YAML

import ibench_lib as ib
from ibench_lib.ask.selection import choose
from ibench_lib.paths import Workspace
from ibench_lib.store import reader
from ibench_lib.store.manifest import with_checksum
from tests.places import ROOT
from tests.show.stalled import WRITTEN, l_i1, l_i1_of, one, unlinked
from tests.synthetic import Run, write_runs

pytestmark = pytest.mark.lake

READ = (7, 7, 7, 7, 7, 8, 8, 8, 8, 8, 8, 8)  # a single page, in the stall


def test_stalls_are_apart_where_a_second_between_them_is_not_one() -> None:
    found = l_i1_of(Run(l_i1_s=15, stall=(0, 3, 4, 6, 14))).ask("stalls").select("stall", "from_s", "to_s").rows()
    assert found == [(1, 0, 1), (2, 3, 5), (3, 6, 7), (4, 14, 15)]


def test_what_moved_in_a_stall_is_weighed_by_the_time_that_lies_in_it() -> None:
    sampled = (("pages_written", WRITTEN), ("pages_read", READ), ("dirty_pages", (50,) * 4 + (90,) * 2 + (50,) * 6))
    company = l_i1_of(Run(l_i1_s=12, stall=(4, 5), sampled=sampled)).ask("stall_company")
    together = company.filter(pl.col("stall").is_null())
    written = one(together, series="pages_written_per_s")
    # (0.5 * 250 + 400 + 0.5 * 250) / 2 s; outside 8 intervals of 100 and the two other halves of 250, in 9 s.
    assert written["stall_mean"] == pytest.approx(325.0)
    assert written["other_mean"] == pytest.approx((8 * 100 + 250) / 9)
    assert (written["other_low"], written["other_high"]) == (100.0, 100.0)
    assert (written["moved"], written["place"], written["samples"]) == (True, 1, 3)
    dirty = one(together, series="dirty_pages")
    assert (dirty["stall_mean"], dirty["other_mean"], dirty["moved"], dirty["place"]) == (90.0, 50.0, True, 2)
    # Half a page a second in the stall and none outside: more, but too little to tell.
    read = one(together, series="pages_read_per_s")
    assert (read["stall_mean"], read["moved"]) == (0.5, False)
    assert one(together, series="history_list_length")["moved"] is False
    missing = one(together, series="checkpoint_age_bytes")
    assert (missing["stall_mean"], missing["moved"], missing["samples"]) == (None, None, 0)
    assert company.filter(stall=1)["series"].to_list() == ["pages_written_per_s", "dirty_pages"]


def test_what_lies_within_the_usual_range_did_not_move() -> None:
    usual = (0, 500, 500, 1000, 1000, 1500, 1500, 2000, 2000, 2500, 2500, 3000)  # 500 in every other second
    run = Run(l_i1_s=12, stall=(4,), sampled=(("pages_written", usual),))
    together = l_i1_of(run).ask("stall_company").filter(pl.col("stall").is_null())
    assert one(together, series="pages_written_per_s")["moved"] is False


def test_a_gauge_that_follows_no_stall_is_not_listed_and_without_stalls_nothing_is() -> None:
    assert l_i1_of(Run()).ask("stall_company").is_empty()


@pytest.mark.long
def test_what_was_not_captured_is_said_with_its_reason(workspace: Workspace) -> None:
    (writer,) = write_runs(workspace, Run())
    manifest = writer.run_dir / "manifest.json"
    reason = '"null_reasons": {"server_samples.redo_waits": "this server has no status Innodb_log_waits"}'
    manifest.write_bytes(with_checksum(json.loads(re.sub(r'"null_reasons": \{\}', reason, manifest.read_text()))))
    said = re.findall(r"<li>(.*?)</li>", unlinked(ib.not_captured(ib.step_detail(l_i1(workspace).ask))))
    assert "Waits: log buffer (this server has no status Innodb_log_waits): system.cy10a" in said
    assert "Device, busy (no sample in the step): system.cy10a" in said
    assert not any(line.startswith("History list") for line in said)


def test_nothing_is_judged_after_the_last_report_of_a_client_that_died() -> None:
    key = {"step_id": 2, "step": "l.i1"}
    more: list[tuple[str, dict[str, Any]]] = []
    for worker, (role, operation) in enumerate([("inserter", "insert"), ("deleter", "delete")] * 2):
        # The others go on for two seconds, until it is seen that the first one says nothing any more.
        here = {**key, "client": 1 + worker // 2, "worker": worker}
        status = "interrupted" if worker else "failed"
        counts = {"ops": 1, "rows": 1, "errors": 0, "retries": 0, "unknown": 0}
        more.append(("workers", here | counts | {"role": role, "status": status, "start_s": 15.0, "end_s": 27.0}))
        nothing = {"service_bins": [], "service_counts": [], "service_sum_us": 0.0}
        more += [
            ("ops", here | counts | nothing | {"operation": operation, "second": second})
            for second in (10, 11)
            if worker
        ]
    ended = {"kind": "write", "status": "failed", "clients": 2, "start_s": 15.0, "end_s": 27.0, "duration_s": 12.0}
    more.append(("steps", key | ended | {"existing_rows": 0}))
    failed = Run(status="failed", failed_step="l.i1", steps=("l.i0", "l.x", "l.i1"), also=tuple(more))
    row = l_i1_of(failed).ask("steadiness").row(0, named=True)
    assert (row["duration_s"], row["full_seconds"], row["rated_seconds"], row["stalls"]) == (12.0, 10, 10, 0)


@pytest.mark.slow
def test_the_post_of_the_sample_says_what_its_runs_show(workspace: Workspace) -> None:
    workspace.data.mkdir(parents=True, exist_ok=True)
    workspace.sample.symlink_to(ROOT / "data" / "sample")
    wanted = YAML().load(ROOT / "papermill_params" / "step_detail" / "sample-l-i1.yml")["parameters"]
    post = choose(reader.lake(workspace), wanted["experiment"], runs=wanted["runs"], steps=[wanted["step"]])
    detail = ib.step_detail(post.ask)
    base, limited = detail.steadiness.to_dicts()
    assert (base["dbms"], base["stalls"]) == ("mysql-9.7.base", 1)
    assert (limited["dbms"], limited["stalls"]) == ("mysql-9.7.a13", 0)
    (stall,) = detail.stalls.rows(named=True)
    of_base = detail.series.filter(dbms="mysql-9.7.base")
    for series in ("reads_per_s", "free_page_waits_per_s"):
        rows = of_base.filter(pl.col("series") == series)
        greatest = rows.sort("middle", nulls_last=False)["t_s"][-1]
        assert stall["from_s"] - 0.5 <= greatest <= stall["to_s"] + 0.5, series
    lag = detail.series.filter(series="history_list_length").group_by("dbms").agg(pl.col("high").max())
    assert dict(lag.iter_rows()) == {"mysql-9.7.base": 10279.0, "mysql-9.7.a13": 115.0}
    waits = detail.series.filter(series="free_page_waits_per_s", dbms="mysql-9.7.a13")
    assert waits["high"].max() == 0
