"""What a shell offers for a name that is half typed, asked as a shell asks."""

import os
from pathlib import Path

import pytest

from tests.command import completed
from tests.places import ROOT

WITHOUT_FRAMES = "sys.modules.update(dict.fromkeys(('duckdb', 'polars'))); "
"""To import either is then an error."""


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("ibench summary reg", ["regression"]),
        ("ibench compare mysql-9.7.a1", [f"mysql-9.7.a1{of}" for of in "038"]),
        ("ibench compare x y --experiment tpcc_w", ["tpcc_waves"]),
        ("ibench explain mysql-5.6.24.cy10a mysql-9.7.c", ["mysql-9.7.capped", "mysql-9.7.cy10a"]),
        ("ibench summary --step l.i", ["l.i0", "l.i1", "l.i2"]),
        ("ibench summary --setup wa", ["waves"]),
        ("ibench stalls stal", ["stalls"]),
        ("ibench runs verify 20261123T0058", ["20261123T005837Z-stalls-small-mysql-9.7.base-r1"]),
        ("ibench runs list --experiment stal", ["stalls"]),
        ("ibench profile export regr", ["regression"]),
        ("ibench changes regr", ["regression"]),
        ("ibench sql --describe step_through", ["step_throughput"]),
        ("ibench sql --describe notpm_s", ["notpm_series"]),
        ("ibench post --notebook purge", ["purge_lag"]),
        ("ibench sql --describe step_c", ["step_counters"]),
        ("ibench sql --describe planned_s", ["planned_steps"]),
        ("ibench changes --metric scpu", ["scpupq"]),
        ("ibench changes --reference mysql-5", ["mysql-5.6.24"]),
        ("ibench changes --only r", ["regressions"]),
        (f"ibench run {ROOT}/experiments/tpcc_waves.yaml --only tun", ["tuned1", "tuned2"]),
        (f"ibench experiment plan {ROOT}/experiments/tpcc_waves.yaml --except mysql-9.7.c", ["mysql-9.7.capped"]),
        (f"ibench experiment check {ROOT}/experiments/no.yaml --only t", []),
        (f"ibench runs pull {ROOT}/data/sample 20261123T0058", ["20261123T005837Z-stalls-small-mysql-9.7.base-r1"]),
        ("ibench runs pull s3://no/lake 2026", []),
        ("ibench servers install mysql-9", ["mysql-9.7"]),
    ],
)
@pytest.mark.slow
def test_a_shell_completes_names_of_the_lake_without_opening_it(tmp_path: Path, line: str, offered: list[str]) -> None:
    """From names of files and manifests alone; the order is that of names."""
    sample = str(ROOT / "data" / "sample")
    assert completed(line, before=WITHOUT_FRAMES, IBENCH_HOME=str(tmp_path), IBENCH_LAKE=sample) == offered


@pytest.mark.slow
def test_a_shell_completes_builds_and_experiments_of_the_project(tmp_path: Path) -> None:
    (tmp_path / "data" / "builds" / "mysql-mine").mkdir(parents=True)
    (tmp_path / "experiments").mkdir()
    (tmp_path / "experiments" / "mine.yaml").touch()
    assert completed("ibench servers remove mysql-m", IBENCH_HOME=str(tmp_path)) == ["mysql-mine"]
    assert completed("ibench config show mysql-m", IBENCH_HOME=str(tmp_path)) == ["mysql-mine"]
    assert completed("ibench status min", IBENCH_HOME=str(tmp_path)) == ["mine"]
    assert completed("ibench post --experiment min", IBENCH_HOME=str(tmp_path)) == ["mine"]


@pytest.mark.slow
def test_a_shell_meets_no_error_and_no_odd_name_where_runs_are_damaged(tmp_path: Path) -> None:
    """Broken, hostile and blocking manifests are left out; a folder that is not there offers nothing."""
    runs = tmp_path / "runs"
    texts = {
        "good": '{"experiment": {"name": "mine"}}',
        "broken": "{",
        "deep": "[" * 100_000,
        "odd": '{"experiment": {"name": "mine; rm -rf"}, "cell": []}',
        "list": "[1]",
        "other": '{"experiment": 3, "workload": {"resolved_steps": [1, {"name": "$(x)"}, {"name": "l.i0"}]}}',
    }
    for name, text in texts.items():
        (runs / name).mkdir(parents=True)
        (runs / name / "manifest.json").write_text(text)
    (runs / "pipe").mkdir()
    os.mkfifo(runs / "pipe" / "manifest.json")
    (runs / "link").symlink_to(runs / "good")
    (runs / "bad name").mkdir()
    place = {"IBENCH_HOME": str(tmp_path), "IBENCH_LAKE": str(runs)}
    (runs / "good" / "notes.json").write_text('{"tags": ["baseline", "$(x)", 3]}')
    (runs / "other" / "notes.json").write_text('{"tags": "baseline"}')
    (runs / "odd" / "notes.json").symlink_to(runs / "good" / "notes.json")
    assert (
        completed("ibench runs list --tag b", **place) == completed("ibench runs tag good b", **place) == ["baseline"]
    )
    bomb = tmp_path / "bomb.yaml"
    bomb.write_text("configs: [{name: $(x)}, {name: fine}, {nom: 1}]\nbuilds: 3\n")
    assert completed(f"ibench run {bomb} --only ", **place) == []
    assert completed("ibench summary ", **place) == ["mine"]
    assert completed("ibench summary --step ", **place) == ["l.i0"]
    assert completed("ibench runs verify ", **place) == sorted([*texts, "mine", "pipe"])
    assert completed("ibench summary ", IBENCH_HOME=str(tmp_path / "no"), IBENCH_LAKE="s3://no/lake") == []
    assert completed("ibench summary ", IBENCH_HOME=str(tmp_path / "no")) == []
