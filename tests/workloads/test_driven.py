"""A program of another make under a run: rates, seconds, costs and dips, and no percentile that nobody measured."""

import shutil
from collections.abc import Iterator
from typing import NamedTuple

import duckdb
import polars as pl
import pytest

from ibench_lib import paths, plugins
from ibench_lib.paths import Workspace
from ibench_lib.store import reader
from ibench_lib.store.manifest import read_manifest
from ibench_lib.store.verify import verify
from tests.command import ibench
from tests.places import ROOT
from tests.publish.posting import SharedKernel, page_of, unpacked

pytestmark = pytest.mark.lake

TEXT = """\
title: a program that prints its rate
builds: [system]
configs: [{name: base, fragments: [tiny]}, {name: other, fragments: [tiny]}]
configs_folder: own
setups: [short]
workload: {benchmark: driven, clients: 1}
"""
WHY = "python is a driven program, and does not print it"


class Ran(NamedTuple):
    workspace: Workspace
    lake: duckdb.DuckDBPyConnection
    ids: list[str]

    def asked(self, question: str, *more: str) -> pl.DataFrame:
        values = ", ".join([str(self.ids), "[]", *more])
        return reader.sql(self.lake, f"FROM questions.{question}({values})")


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ran]:
    """Two runs of the program on a real server, by the command."""
    folder = tmp_path_factory.mktemp("driven")
    (folder / "own").mkdir()
    (folder / "own" / "tiny.cnf").write_text("[mysqld]\ninnodb_buffer_pool_size=64M\nskip_log_bin\n")
    (folder / "driven.yaml").write_text(TEXT)
    points = {kind: [("driven", "tests.workloads.driven")] if kind == "workloads" else [] for kind in plugins.KINDS}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plugins, "_points", lambda: points)
        patch.setattr(Workspace, "datadirs", paths.workspace().datadirs)
        paths.workload_modules.cache_clear()
        workspace = Workspace(folder)
        done = ibench(workspace, "run", str(folder / "driven.yaml"), "--any-host")
        assert done.returncode == 0, done.stderr
        lake = reader.lake(workspace)
        ids = reader.sql(lake, "SELECT run_id FROM runs ORDER BY config")["run_id"].to_list()
        yield Ran(workspace, lake, ids)
    paths.workload_modules.cache_clear()


@pytest.mark.usefixtures("build")
@pytest.mark.slow
def test_the_program_has_rates_whole_seconds_costs_and_dips(ran: Ran) -> None:
    assert len(ran.ids) == 2
    throughput = ran.asked("step_throughput")
    assert (throughput["step_status"] == "complete").all() and (throughput["rate_label"] == "updates/s").all()
    seconds = reader.sql(
        ran.lake,
        "SELECT run_id, sum(o.ops)::BIGINT AS ops, count(*) AS seconds, any_value(w.ops) AS total,"
        " any_value(w.ops_from) AS made"
        " FROM ops o JOIN workers w USING (run_id, step_id, worker) GROUP BY run_id ORDER BY run_id",
    )
    assert (seconds["ops"] == seconds["total"]).all() and seconds["ops"].min() > 0, "the seconds add up to the total"
    assert set(seconds["made"]) == {"rates"} and seconds["seconds"].min() >= 6
    for rate, total, length in zip(throughput["throughput"], seconds["total"], throughput["duration_s"], strict=True):
        assert rate == pytest.approx(total / length)
    assert ran.asked("rate_stability")["rate_p50"].min() > 0
    assert ran.asked("steadiness")["rated_seconds"].min() >= 5
    assert ran.asked("explain_steps")["clients_us"].null_count() == 0
    # Where the host was too busy for its own samples, costs are left out, whoever the client is.
    sampled = ran.asked("step_resources").filter(pl.col("covered") >= 0.95)
    assert sampled["cpupq"].null_count() == 0, "the CPU for an operation"
    ran.asked("dips"), ran.asked("stalls")  # whether there are any is the host's


@pytest.mark.usefixtures("build")
@pytest.mark.slow
def test_what_it_does_not_print_is_null_with_a_reason(ran: Ran) -> None:
    responses = ran.asked("response_time_histogram")
    assert responses["reason"].to_list() == [WHY] * 2
    assert all(responses[name].null_count() == 2 for name in ("responses", "le_1ms", "p50_s", "p99_s", "max_s"))
    values = ran.asked("metric_values").filter(pl.col("operation") == "update")
    assert values["value"].null_count() == len(values) >= 10 and set(values["reason"]) == {WHY}
    over_time = reader.sql(ran.lake, f"FROM questions.response_percentiles_over_time({ran.ids}, 100, [])")
    assert over_time["responses"].null_count() == len(over_time) > 0, "no count of answers where none was recorded"
    throughput = ran.asked("step_throughput")
    assert all(throughput[name].null_count() == 2 for name in ("errors", "retries", "unknown", "maxop_s"))
    gaps = ran.asked("gaps")
    assert set(gaps["problem"]) <= {
        "errors not recorded: a driven program does not print them", "seconds without a history list sample",
    }  # fmt: skip
    uncaptured = ran.asked("uncaptured").filter(series="clients_cpu")
    assert uncaptured["reason"].to_list() == ["python is a driven program: its CPU is known of the whole step only"] * 2
    for run_id in ran.ids:
        manifest = read_manifest(ran.workspace.run_dir(run_id))
        for column in ("ops.service_bins", "response_times.bins", "ops.errors"):
            assert "python is a driven program" in manifest.null_reasons[column]
        assert any("they are no counts" in warning for warning in manifest.warnings)
        assert any("hello from a program" in warning for warning in manifest.warnings), (
            "a line that is not read is named"
        )
        assert verify(ran.workspace.run_dir(run_id)) == []


@pytest.mark.usefixtures("build")
@pytest.mark.slow
def test_commands_say_that_it_is_not_recorded(ran: Ran) -> None:
    summary = ibench(ran.workspace, "summary", "driven", "--tails", "--base", "system.base")
    assert "update, p99 of update (ms)" in summary.stdout and "not recorded" in summary.stdout
    assert "complete" in ibench(ran.workspace, "runs").stdout
    compared = ibench(ran.workspace, "compare", "system.base", "system.other", "--experiment", "driven")
    assert compared.returncode == 0 and "updates/s" in compared.stdout, compared.stderr


@pytest.mark.usefixtures("build")
@pytest.mark.long
def test_pages_say_that_it_is_not_recorded(ran: Ran) -> None:
    place = Workspace(ran.workspace.root)
    shutil.copytree(ROOT / "notebooks", place.notebooks)
    kernel = SharedKernel()
    try:
        detail = unpacked(page_of(kernel, place, "step_detail", experiment="driven", step="update", repeat=1))
        both = unpacked(page_of(kernel, place, "compare", experiment="driven", a="system.base", b="system.other"))
    finally:
        kernel.close()
    assert b"updates/s" in detail and b"not recorded" in detail
    assert b"not recorded" in both and WHY.encode() in both
    for page in (detail, both):
        assert b"with too few responses" not in page and b"-: too few responses" not in page
