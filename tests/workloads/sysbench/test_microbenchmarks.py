"""The microbenchmarks: their steps, what each script sends to a real server, and the draw of Zipf's law."""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from ibench_lib.paths import check_name
from ibench_lib.workloads.sysbench import steps
from ibench_lib.workloads.sysbench.microbenchmarks import BUNDLED, GROUPS, MICROBENCHMARKS, OUR_SCRIPTS, OURS
from ibench_lib.workloads.sysbench.options import Options
from ibench_lib.workloads.sysbench.results import tables
from tests.workloads.sysbench.place import Place
from tests.workloads.sysbench.test_options import options
from tests.workloads.sysbench.test_steps import SETUP

# As the field's scripts have them.
ORDER = [
    "point-query-warm",
    "scan-warm-pre",
    "point-query-pre",
    "range-notcovered-si-pre",
    "update-inlist",
    "update-index",
    "update-nonindex",
    "update-one",
    "update-zipf",
    "write-only",
    "read-write-10",
    "read-write-100",
    "scan-warm",
    "scan",
    "read-only-10",
    "read-only-100",
    "read-only-10000",
    "read-only-simple",
    "read-only-sum",
    "read-only-order",
    "read-only-distinct",
    "read-only-count",
    "point-query",
    "random-points-10",
    "random-points-100",
    "random-points-1000",
    "hot-points",
    "points-covered-pk",
    "points-notcovered-pk",
    "range-covered-pk",
    "range-notcovered-pk",
    "points-covered-si-warm",
    "points-covered-si",
    "points-notcovered-si",
    "range-covered-si",
    "range-notcovered-si",
    "delete",
    "insert",
]
WARM = ["point-query-warm", "scan-warm-pre", "scan-warm", "points-covered-si-warm"]
BEFORE_WRITES = ["point-query-pre", "range-notcovered-si-pre"]


def preset(**given: object) -> Options:
    return options(tests="microbenchmarks", **given)


def test_the_preset_is_the_steps_of_the_fields_scripts_in_their_order() -> None:
    planned = steps.plan(preset(), SETUP.model_copy(update={"warm_up": 0.0}), 1.0)
    names = [f"{name}.t1" for name in ORDER]
    assert [step.name for step in planned] == ["prepare", *names[:-1], "prepare.2", names[-1]]
    assert [name for name in steps.names(preset()) if not name.endswith(steps.WARM_UP)] == [
        step.name for step in planned
    ]
    assert len({step.name for step in planned}) == len(planned)
    assert all(check_name(step.name, "step") and steps.kind_of(step.name) == step.kind for step in planned)
    assert [step.name for step in planned if step.kind == "warm_up"] == [f"{name}.t1" for name in WARM]


def test_each_test_has_all_threads_and_only_those_with_a_result_a_warm_up_of_their_own() -> None:
    chosen = options(tests=["scan-warm", "scan", "delete", "insert"], threads=[1, 4])
    planned = [step.name for step in steps.plan(chosen, SETUP, 1.0)]
    assert planned == [
        "prepare", "scan-warm.t1", "scan-warm.t4", "scan.t1.warm_up", "scan.t1", "scan.t4.warm_up", "scan.t4",
        "delete.t1.warm_up", "delete.t1", "prepare.2", "delete.t4.warm_up", "delete.t4",
        "prepare.3", "insert.t1.warm_up", "insert.t1", "prepare.4", "insert.t4.warm_up", "insert.t4",
    ]  # fmt: skip
    assert planned == steps.names(chosen)


@pytest.mark.parametrize(
    ("settle", "million_rows", "wait_s"),
    [("flush", 1, None), ("original", 1, 62.0), ("original", 5000, 1200.0), ("none", 1, None)],
)
def test_the_server_settles_after_the_load_is_warm_and_after_the_writes(
    settle: str, million_rows: int, wait_s: float | None
) -> None:
    size = SETUP.model_copy(update={"table_size": million_rows * 1_000_000, "warm_up": 0.0})
    planned = steps.plan(preset(settle=settle, threads=[1, 2]), size, 1.0)
    settled = [step.name for step in planned if step.settle_before]
    assert settled == ([] if settle == "none" else ["scan-warm-pre.t1", "scan-warm.t1"])
    assert {step.settle_s for step in planned if step.settle_before} <= {wait_s}
    warmed = steps.plan(options(tests=["read-write-100", "scan"], settle=settle), SETUP, 1.0)
    assert [step.name for step in warmed if step.settle_before] == (["scan.t1.warm_up"] if settled else [])


def test_groups_are_the_four_of_the_field_and_one_apart_and_posts_know_their_order() -> None:
    by_group = {group: [name for name in ORDER if MICROBENCHMARKS[name].group == group] for group in GROUPS}
    with_result = {group: [name for name in names if name not in WARM] for group, names in by_group.items()}
    assert {group: len(names) for group, names in with_result.items()} == {
        "points": 9, "ranges": 5, "ranges with aggregation": 8, "reads and writes": 0, "writes": 10,
        "before the writes": 2,
    }  # fmt: skip
    assert with_result["before the writes"] == BEFORE_WRITES
    assert tables.GROUPS == GROUPS
    assert {test.group for test in BUNDLED.values()} <= set(GROUPS)


def test_our_scripts_are_those_in_their_folder() -> None:
    shared = {"statements", "zipf"}
    assert {path.stem for path in OURS.glob("*.lua")} == shared | set(OUR_SCRIPTS)
    assert {test.script for test in MICROBENCHMARKS.values()} == set(OUR_SCRIPTS) | {
        test.script for test in MICROBENCHMARKS.values() if test.script in BUNDLED
    }


IN_10, IN_100, IN_1000 = (f"IN ({count} values)" for count in (10, 100, 1000))
SENT = {
    "scan": "SELECT * FROM sbtest WHERE LENGTH(c) < N",
    "update-inlist": f"UPDATE sbtest SET c = S WHERE id {IN_10}",
    "update-zipf": "UPDATE sbtest SET c=S WHERE id=N",
    "update-one": "UPDATE sbtest SET c=S WHERE id=N",
    "read-only-count": "SELECT COUNT(c) FROM sbtest WHERE id BETWEEN N AND N",
    "random-points-10": f"SELECT c FROM sbtest WHERE id {IN_10}",
    "random-points-1000": f"SELECT c FROM sbtest WHERE id {IN_1000}",
    "hot-points": f"SELECT c FROM sbtest WHERE id {IN_100}",
    "points-covered-pk": f"SELECT id FROM sbtest WHERE id {IN_100}",
    "points-notcovered-pk": f"SELECT id,c FROM sbtest WHERE id {IN_100}",
    "points-covered-si": f"SELECT k FROM sbtest WHERE k {IN_100}",
    "points-notcovered-si": f"SELECT k,c FROM sbtest WHERE k {IN_100}",
    "range-covered-pk": "SELECT id FROM sbtest WHERE id BETWEEN N AND N",
    "range-notcovered-pk": "SELECT id,c FROM sbtest WHERE id BETWEEN N AND N",
    "range-covered-si": "SELECT k FROM sbtest WHERE k BETWEEN N AND N",
    "range-notcovered-si": "SELECT k,c FROM sbtest WHERE k BETWEEN N AND N",
}
WIDTH = {"read-only-count": 1000}
STRING = re.compile(r"'(\d{11}-){9}\d{11}'")


def shape(text: str) -> str:
    """A statement without its values and without the number of its table."""
    text = STRING.sub("S", re.sub(r"sbtest[12]\b", "sbtest", text))
    text = re.sub(r"\bIN \(([\d, ]+)\)", lambda found: f"IN ({len(found[1].split(', '))} values)", text)
    return re.sub(r"(?<![\d(])\b\d+\b(?! values)", "N", text)


@pytest.mark.slow
@pytest.mark.parametrize("test", SENT)
def test_the_server_gets_the_statements_of_the_test(place: Place, test: str) -> None:
    """As its general log has them, those of a few events."""
    connection = place.connection
    connection.query("SET GLOBAL log_output = 'TABLE'")
    connection.query("TRUNCATE mysql.general_log")
    connection.query("SET GLOBAL general_log = ON")
    try:
        driven, rows = place.drive(1, seconds=1.0, tests=[{"test": test, "rate": 40}])
    finally:
        connection.query("SET GLOBAL general_log = OFF")
    assert driven.error is None and driven.unread == 0, driven.error or driven.warnings(1.0)
    logged = [
        bytes(argument or b"").decode()
        for (argument,) in connection.fetch(
            b"\x03SELECT argument FROM mysql.general_log WHERE command_type IN ('Query', 'Execute')"
            b" AND argument LIKE '%sbtest%' AND argument NOT LIKE '%general_log%'"
        )
    ]
    events = sum(row["ops"] for row in rows if row["operation"] == "transaction")
    assert {shape(text) for text in logged} == {SENT[test]} and len(logged) == events > 0
    assert all(ends[1] - ends[0] + 1 == WIDTH.get(test, 101) for ends in map(range_of, logged) if ends)
    ids = [found for text in logged for found in values_of(text)]
    if test == "hot-points":
        assert Counter(ids) == dict.fromkeys(range(251, 351), len(logged))
    elif test == "update-one":
        assert set(ids) == {1}
    elif "range" not in test and test not in ("scan", "read-only-count"):
        assert min(ids) >= 1 and max(ids) <= 500 and len(set(ids)) > 1


def range_of(text: str) -> tuple[int, int] | None:
    found = re.search(r"BETWEEN (\d+) AND (\d+)", text)
    return (int(found[1]), int(found[2])) if found else None


def values_of(text: str) -> list[int]:
    """The values of its list, or that of its comparison."""
    found = re.search(r"(?:IN \(|id=)([\d, ]+)", text)
    return [int(value) for value in found[1].split(", ")] if found else []


DRAWS = 400_000
"""With 20,000, chi-square does not see a draw that never rejects."""
PRINTS = """
package.path = "{folder}/?.lua;" .. package.path
local draw
function thread_init() draw = require("zipf")({n}, {s}, sysbench.rand.uniform_double) end
function event()
   local counts = {{}}
   for _ = 1, {draws} do
      local k = draw()
      counts[k] = (counts[k] or 0) + 1
   end
   for k, count in pairs(counts) do io.write("drawn ", k, " ", count, "\\n") end
end
"""


def drawn(sysbench: str, folder: Path, n: int, s: float) -> Counter[int]:
    """So many draws of sysbench with a fixed seed: the same each time."""
    script = folder / "prints.lua"
    script.write_text(PRINTS.format(folder=OURS, n=n, s=s, draws=DRAWS))
    arguments = [sysbench, str(script), "--events=1", "--time=0", "--rand-seed=1", "run"]
    said = subprocess.run(arguments, capture_output=True, text=True, check=True, timeout=120).stdout
    return Counter({int(k): int(count) for k, count in re.findall(r"^drawn (\S+) (\d+)$", said, re.MULTILINE)})


@pytest.mark.parametrize("s", [0.5, 0.8, 1.0, 1.5])
def test_the_draw_has_the_chances_of_zipfs_law(sysbench: str, tmp_path: Path, s: float) -> None:
    counts = drawn(sysbench, tmp_path, 12, s)
    weights = {k: k**-s for k in range(1, 13)}
    expected = {k: DRAWS * weight / sum(weights.values()) for k, weight in weights.items()}
    assert counts.total() == DRAWS and set(counts) == set(weights)
    assert sum((counts[k] - expected[k]) ** 2 / expected[k] for k in weights) < 31.3, "chi-square: 1 in 1,000 is above"


def test_the_draw_stays_within_many_rows_and_favours_the_first(sysbench: str, tmp_path: Path) -> None:
    rows = 10_000_000
    counts = drawn(sysbench, tmp_path, rows, 0.8)
    assert min(counts) >= 1 and rows / 2 < max(counts) <= rows
    # The sum of k ** -0.8 up to n is 5 n ** 0.2 - 4.437, Riemann's zeta of 0.8.
    first, every = (5 * n**0.2 - 4.437 for n in (rows // 100, rows))
    share = sum(count for k, count in counts.items() if k <= rows // 100) / DRAWS
    assert share == pytest.approx(first / every, abs=0.015)


def test_the_draw_of_one_row_is_that_row(sysbench: str, tmp_path: Path) -> None:
    assert drawn(sysbench, tmp_path, 1, 0.8) == {1: DRAWS}
