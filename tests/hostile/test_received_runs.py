"""Runs that came from elsewhere, damaged in all sorts of ways with checksums that fit: named, and the others load."""

from __future__ import annotations

import random
import re
import shutil
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ibench_lib.ask.selection import choose
from ibench_lib.paths import Workspace
from ibench_lib.store import reader
from tests.command import ibench
from tests.hostile.damage import MANIFEST, Damage, damage
from tests.places import ROOT
from tests.publish.posting import SharedKernel, page_of
from tests.store.lakes import vouch
from tests.synthetic import Run, write_runs

pytestmark = pytest.mark.lake


def without(column: str) -> Callable[[pa.Table], pa.Table]:
    return lambda table: table.drop_columns([column])


def twice(column: str) -> Callable[[pa.Table], pa.Table]:
    return lambda table: table.append_column(column, table.column(column))


def also(column: str) -> Callable[[pa.Table], pa.Table]:
    return lambda table: table.append_column(column, pa.array(["x"] * table.num_rows))


COLUMNS: dict[str, tuple[Callable[[pa.Table], pa.Table], str]] = {
    "no-run": (without("run_id"), "column run_id is missing"),
    "no-step": (without("step_id"), "column step_id is missing"),
    "no-status": (without("status"), "column status is missing"),
    "only-runs": (lambda table: table.select(["run_id"]), "is missing"),
    "twice": (twice("step_id"), "column step_id is there twice"),
    "twice-in-other-case": (also("STEP"), "column step is there twice"),
    "what-duckdb-adds": (also("filename"), "column filename is there"),
}


def rewrite(run_dir: Path, table: str, change: Callable[[pa.Table], pa.Table]) -> None:
    """Replace a table's file, and let the manifest vouch for it."""
    path = run_dir / f"{table}.parquet"
    pq.write_table(change(pq.read_table(path)), path)
    vouch(run_dir, table)


def damaged_by(name: str) -> Run:
    """The run that one of COLUMNS has damaged."""
    return Run(name, minute=1 + list(COLUMNS).index(name))


@pytest.mark.slow
@pytest.mark.parametrize("more", [0, 5])  # read one by one, and by the index
def test_odd_columns_are_named_and_the_other_runs_load(workspace: Workspace, more: int) -> None:
    good = [Run(minute=50 + number) for number in range(1 + more)]
    write_runs(workspace, *good, *map(damaged_by, COLUMNS))
    for name, (change, _) in COLUMNS.items():
        rewrite(workspace.run_dir(damaged_by(name).run_id), "steps", change)
    asked = "SELECT run_id, count(*) AS n FROM steps GROUP BY ALL ORDER BY ALL"
    shown, listed = ibench(workspace, "sql", "-f", "csv", asked), ibench(workspace, "runs")
    assert shown.stdout.split() == ["run_id,n", *(f"{run.run_id},4" for run in good)], shown.stderr
    verified = ibench(workspace, "runs", "verify")
    assert (shown.returncode, listed.returncode, verified.returncode) == (0, 0, 1)
    for name, (_, said) in COLUMNS.items():
        run_id = damaged_by(name).run_id
        for result in (shown, listed):
            (line,) = [line for line in result.stderr.splitlines() if run_id in line]
            assert line.startswith(f"skipped {run_id} steps.parquet: ") and said in line
        assert f"{run_id}: bad\n    steps.parquet: " in verified.stdout and said in verified.stdout
    assert all(f"{run.run_id}: good" in verified.stdout for run in good)


@pytest.mark.slow
def test_what_verify_calls_bad_is_not_pulled(workspace: Workspace, tmp_path: Path) -> None:
    there = Workspace(tmp_path / "there")
    write_runs(there, *map(damaged_by, COLUMNS))
    for name, (change, said) in COLUMNS.items():
        run_id = damaged_by(name).run_id
        rewrite(there.run_dir(run_id), "steps", change)
        pulled = ibench(workspace, "runs", "pull", str(there.runs), run_id)
        assert pulled.returncode == 1 and "is not good: steps.parquet" in pulled.stderr and said in pulled.stderr
    assert list(workspace.runs.iterdir()) == []


IN_A_LAKE, IN_A_LARGE_LAKE = 48, 120
BAD = [Run(f"bad{number // 2}", minute=10 + number % IN_A_LAKE) for number in range(IN_A_LARGE_LAKE)]
"""Every other one is an older run of the same cell, whose figures no post shows."""
GOOD = [Run(), Run("cy10ap1", minute=1, l_i1_s=20)]


@pytest.fixture(scope="module")
def undamaged(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """Good runs, and as many that copies of it have damaged."""
    workspace = Workspace(tmp_path_factory.mktemp("undamaged"))
    write_runs(workspace, *GOOD, *BAD)
    return workspace


@pytest.fixture(scope="module")
def expected(undamaged: Workspace, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What a summary says of the good runs where there are no others."""
    alone = Workspace(tmp_path_factory.mktemp("alone"))
    for run in GOOD:
        shutil.copytree(undamaged.run_dir(run.run_id), alone.run_dir(run.run_id))
    lines = figures(alone)
    assert len(lines) > 8
    return lines


def figures(workspace: Workspace, **environment: str) -> list[str]:
    """What a summary says of the good runs."""
    result = ibench(workspace, "summary", "demo", "--tails", "--format", "csv", **environment)
    assert result.returncode == 0, result.stderr
    rows = [line.split(",") for line in result.stdout.splitlines()]
    return [",".join(row[:8]) for row in rows if row[2] in {run.name for run in GOOD}]


def check_damaged_lakes(
    undamaged: Workspace,
    expected: list[str],
    folder: Path,
    seed: int,
    lakes: int,
    damaged: int,
    kernel: SharedKernel | None = None,
) -> Counter[str]:
    """Damage some runs in each of some lakes, and ask all commands. Returns how often there was what damage.

    The first lake is read as a lake elsewhere too.

    With a kernel, the notebook of the workload is run on the first lake.
    """
    dice, seen = random.Random(seed), Counter[str]()
    for number in range(lakes):
        here = Workspace(folder / f"lake{number}")
        for run in (*GOOD, *BAD[:damaged]):
            shutil.copytree(undamaged.run_dir(run.run_id), here.run_dir(run.run_id))
        damages = {run.run_id: damage(dice, here.run_dir(run.run_id)) for run in BAD[:damaged]}
        for run_id, done in damages.items():
            done.make(here.run_dir(run_id))
            seen[done.what.rpartition(": ")[2]] += 1
        check_damaged_lake(here, damages, expected, ({}, {"IBENCH_LAKE": str(here.runs)})[: 2 if number == 0 else 1])
        if kernel is not None and number == 0:
            check_post(here, damages, kernel)
        shutil.rmtree(here.root)
    return seen


def check_damaged_lake(
    here: Workspace, damages: dict[str, Damage], expected: list[str], places: Iterable[dict[str, str]]
) -> None:
    """Ask all commands: those that only read, in each of these environments."""

    def are_named(run_ids: Iterable[str], said: str) -> None:
        for run_id in run_ids:
            assert re.search(rf"{run_id}\b.*: \S", said), (run_id, damages[run_id].what, said)

    named = [run_id for run_id, done in damages.items() if done.named]
    good = {run.run_id for run in GOOD}
    for place in places:
        for words in (["runs"], ["sql", "FROM steps JOIN ops USING (run_id, step_id)"]):
            result = ibench(here, *words, **place)
            assert result.returncode == 0, result.stderr
            are_named(named, result.stderr)
            assert not any(run_id in result.stderr for run_id in good)
        assert figures(here, **place) == expected
    compared = ibench(here, "compare", GOOD[0].name, GOOD[1].name, "--experiment", "demo")
    assert compared.returncode == 0 and "l.i1" in compared.stdout, compared.stderr
    verified = ibench(here, "runs", "verify")
    assert verified.returncode == 1
    assert all(f"{run_id}: good" in verified.stdout for run_id in good)
    bad = re.findall(r"(?m)^(\S+): bad\n    \S", verified.stdout)
    assert {run_id for run_id in damages if damages[run_id].what.find("flipped") < 0} <= set(bad), verified.stdout
    there = Workspace(here.root / "pulled")
    there.root.mkdir()
    pulled = ibench(there, "runs", "pull", str(here.runs))
    taken = {path.name for path in there.runs.iterdir()}
    assert good <= taken and taken.isdisjoint(bad), pulled.stderr
    for run_id in set(bad) - {run_id for run_id in damages if not (here.run_dir(run_id) / MANIFEST).is_file()}:
        assert run_id in pulled.stderr
    assert figures(there) == expected or len(taken) > len(good)
    post = choose(reader.lake(here), "demo")
    said = set(post.ask("skipped")["run_id"])
    assert said >= set(named) and said.isdisjoint(good)


def check_post(here: Workspace, damages: dict[str, Damage], kernel: SharedKernel) -> None:
    """A post is built from what is left, and its section on what it is made from names all that is damaged."""
    shutil.copytree(ROOT / "notebooks", here.notebooks)
    text = page_of(kernel, here).read_text()
    section = text.partition('id="builds"')[2].partition('id="benchmark"')[0]
    left_out = section.partition("Left out because it cannot be read")[2]
    assert [run_id for run_id, done in damages.items() if done.named and run_id not in left_out] == []
    assert all(run.name in section and run.run_id not in left_out for run in GOOD)


@pytest.mark.slow
@pytest.mark.parametrize("damaged", [5, IN_A_LAKE])  # read one by one, and by the index
def test_damaged_runs_are_named_and_the_figures_of_others_stay(
    undamaged: Workspace, expected: list[str], tmp_path: Path, damaged: int
) -> None:
    check_damaged_lakes(undamaged, expected, tmp_path, seed=damaged, lakes=1, damaged=damaged)


@pytest.mark.slow
@pytest.mark.long
def test_250_damaged_runs_are_named_and_the_figures_of_others_stay(
    undamaged: Workspace, expected: list[str], tmp_path: Path, kernel: SharedKernel
) -> None:
    """Most of the time goes into commands, so lakes have many damaged runs each."""
    many, few = (1, 2, IN_A_LARGE_LAKE), (11, 2, 5)
    seen = check_damaged_lakes(undamaged, expected, tmp_path, *many, kernel)
    seen += check_damaged_lakes(undamaged, expected, tmp_path / "few", *few, kernel)
    assert seen.total() == 250 and len(seen) > 35
