"""`ibench changes`, with the exit codes of its gate."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from ibench_lib.paths import Workspace
from tests.cli.asking import questions_asked
from tests.command import ibench, refused
from tests.show.saying import made_of
from tests.synthetic import Run

pytestmark = [pytest.mark.lake, pytest.mark.slow]


def history(workspace: Workspace, slow: int = 1000, rounds: int = 3, version: str = "10.11.{}") -> None:
    """Three builds, b1 to b3, of which the last has `slow` queries in the place of 1,000 to 1,002 a round."""
    runs = [
        Run(f"b{build}", dbms=f"b{build}.c", repeat=repeat, minute=3 * repeat + build,
            queries=5 * (slow if build == 3 else 1000) + repeat * build)
        for repeat in range(1, rounds + 1)
        for build in (1, 2, 3)
    ]  # fmt: skip
    made_of(workspace, *runs, change=as_release(version))


def as_release(version: str) -> Callable[[dict[str, Any]], None]:
    def change(manifest: dict[str, Any]) -> None:
        cell = manifest["cell"]
        cell["build"], cell["config"], cell["order"] = cell["config"], "c", "shuffle 7"
        manifest["server"]["version"] = version.format(cell["build"][1:])

    return change


def test_the_gate_ends_with_3_for_a_regression_and_lists_it(workspace: Workspace) -> None:
    history(workspace, slow=800)
    result = ibench(workspace, "changes", "demo", "--gate", "--metric", "qps")
    assert result.returncode == 3, result.stderr
    assert "edge, worse" in result.stdout and "b2" in result.stdout and "0.80" in result.stdout
    answer = json.loads(ibench(workspace, "changes", "demo", "--json", "--only", "regressions").stdout)
    assert [change["metric"] for change in answer["changes"]] == ["qps"]
    assert answer["parameters"]["min_effect"] == pytest.approx(0.02)
    every = ibench(workspace, "changes", "demo", "--json")
    assert every.returncode == 0, "only a gate ends with its findings"
    judged = {(change["step"], change["metric"]) for change in json.loads(every.stdout)["changes"]}
    assert ("qr100", "qps") in judged and ("l.i1", "ips") in judged
    assert ("qr100", "ips") not in judged, "inserts are paced there"


def test_all_metrics_are_computed_only_for_one_that_is_no_rate(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    history(workspace)
    asked = questions_asked(monkeypatch)
    for metrics, points in ((), "rate_points"), (("qps",), "rate_points"), (("qps", "cpupq"), "series_points"):
        options = [word for metric in metrics for word in ("--metric", metric)]
        assert ibench(workspace, "changes", "demo", *options).returncode == 0
        assert [name for name in asked if name.endswith("_points")] == [points]
        asked.clear()


def test_excluded_runs_are_left_out_and_named(workspace: Workspace) -> None:
    history(workspace, slow=800)
    assert ibench(workspace, "changes", "demo", "--gate", "--metric", "qps").returncode == 3
    assert ibench(workspace, "runs", "exclude", "*-b3-*", "--why", "built without optimisation").returncode == 0
    result = ibench(workspace, "changes", "demo", "--gate", "--metric", "qps", "--json")
    assert result.returncode != 3, result.stderr
    assert result.stdout.count("-b3-r") == 3 and "excluded: built without optimisation" in result.stdout
    stream = ibench(workspace, "changes", "--stream", "demo", "--reference", "b1", "--metric", "qps", "--json")
    assert stream.stdout.count("excluded: built without optimisation") == 3, stream.stderr


@pytest.mark.long
def test_the_gate_ends_with_0_where_nothing_is_worse(workspace: Workspace) -> None:
    history(workspace, slow=1200)
    assert ibench(workspace, "changes", "--gate", "--metric", "qps").returncode == 0


@pytest.mark.long
def test_the_gate_ends_with_4_where_the_data_cannot_say(workspace: Workspace) -> None:
    history(workspace, slow=800, rounds=2)
    result = ibench(workspace, "changes", "demo", "--gate")
    assert result.returncode == 4
    assert "inconclusive: there are 2 complete rounds of repeats; 3 releases need 3" in result.stdout


@pytest.mark.long
def test_mistakes_are_one_line_and_the_gate_ends_with_1(workspace: Workspace) -> None:
    history(workspace, rounds=1, version="trunk {}")
    refused(ibench(workspace, "changes", "demo"), "has no place in the order of releases")
    assert ibench(workspace, "changes", "demo", "--gate").returncode == 1
    for arguments, words in (
        (["nope"], "experiment 'nope' has no run"),
        (["demo", "--stream", "demo"], "give one of them"),
        (["demo", "--reference", "b1"], "streams only"),
        (["demo", "--min-effect", "two"], "not a share"),
        (["demo", "--metric", "qsp"], "did you mean 'qps'"),
        (["demo", "--only", "better"], "--only"),
        (["--stream", "demo", "--reference", "b9"], "is no build of these runs"),
    ):
        refused(ibench(workspace, "changes", *arguments), words)
