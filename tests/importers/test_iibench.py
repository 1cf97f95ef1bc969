"""Folders of iibench.py: seconds are differences of cumulative columns, totals are those of the end."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import ibench_lib as ib
from ibench_lib.ask.selection import choose
from ibench_lib.errors import UsageError
from ibench_lib.importers.iibench import IMPORTER
from ibench_lib.importers.importer import ImportedRun, ImportRequest
from ibench_lib.importers.intake import import_file
from ibench_lib.importers.source import Source
from ibench_lib.paths import Workspace
from ibench_lib.show.kit.display import say
from ibench_lib.store import reader
from ibench_lib.store.manifest import read_manifest
from ibench_lib.store.verify import verify
from tests.command import ibench
from tests.importers.host_text import iostat, vmstat
from tests.importers.iibench_logs import LESS_OLD, NEW, OLD, SECRETS, client_log, folder
from tests.importers.rows import remarks, rows_of
from tests.synthetic import answer

pytestmark = pytest.mark.lake

TOLD = ImportRequest("small", "ma1011.cz11b")


def read(at: Path, text: str, step: str = "l.i0", name: str = "o.ib.dop1.1") -> ImportedRun:
    path = at / step / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    (run,) = IMPORTER.runs(Source(at / step), TOLD)
    return run


def lost_of(at: Path, text: str, step: str = "l.i0") -> tuple[ImportedRun, list[int]]:
    """The run of a log, and the numbers of the lines that were not used."""
    path = at / step / "o.ib.dop1.1"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    source = Source(at / step)
    (run,) = IMPORTER.runs(source, TOLD)
    return run, source.read()["o.ib.dop1.1"].lost.first


def ops(run: ImportedRun, operation: str = "insert", count: str = "rows") -> dict[int, Any]:
    return {row["second"]: row[count] for row in rows_of(run, "ops") if row["operation"] == operation}


@pytest.mark.parametrize("header", [OLD, LESS_OLD, NEW])
def test_seconds_are_differences_of_cumulative_columns_by_header(tmp_path: Path, header: str) -> None:
    run = read(tmp_path, client_log(header=header, qps=160), "q100.1")
    assert ops(run) == {0: 100, 1: 200, 2: 300}
    assert ops(run, count="ops") == {0: 1, 1: 2, 2: 3}
    assert ops(run, count="service_max_us") == {0: 1001.0, 1: 1002.0, 2: 1003.0}
    assert ops(run, "range_query", "ops") == {0: 160, 1: 160, 2: 160}
    assert run.error is None and remarks(run) == []


def test_columns_in_another_order_are_read_by_their_names(tmp_path: Path) -> None:
    swapped = " ".join(["i_sec", "t_sec", "i_ips", "t_ips", *reversed(NEW.split()[4:])])
    assert ops(read(tmp_path, client_log(header=swapped))) == {0: 100, 1: 200, 2: 300}


def test_a_row_whose_columns_were_swapped_is_lost_and_costs_the_next_second(tmp_path: Path) -> None:
    text = client_log(ips=(10_000, 20_000, 30_000, 40_000))
    row = text.splitlines()[3].split("\t")
    row[2], row[11] = row[11], row[2]
    run, lost = lost_of(tmp_path, text.replace(text.splitlines()[3], "\t".join(row)))
    assert lost == [4, 5] and ops(run) == {0: 10_000, 3: 40_000}


def test_totals_are_those_of_the_end(tmp_path: Path) -> None:
    text = client_log(each=50, qps=1600, ips=(100, 100), responses=5, queries=3216)
    run = read(tmp_path, text, "qr100.L1")
    found = {row["role"]: (row["ops"], row["rows"], row["retries"]) for row in run.rows["workers"]}
    assert found == {"inserter": (5, 250, 1), "querier": (3216, None, 3)}
    assert sum(ops(run).values()) == 200
    end = len(text.splitlines())
    assert remarks(run) == [
        f"o.ib.dop1.1:{end}: its lines have 200 inserted rows, and its end 250",
        f"o.ib.dop1.1:{end}: its lines have 3,200 queries, and its end 3,216",
    ]


def test_lines_of_other_than_a_second_become_no_seconds(tmp_path: Path) -> None:
    text = (
        client_log(ips=(100, 200, 400)).replace("1.0\t3.0\t400", "2.0\t4.0\t200").replace("Totals: 3.0", "Totals: 4.0")
    )
    run = read(tmp_path, text)
    assert ops(run) == {0: 100, 1: 200}
    (worker,) = run.rows["workers"]
    assert (worker["rows"], worker["end_s"]) == (700, 4.0)
    assert remarks(run)[0].endswith("1 line of other than a second: no seconds were made of them")


@pytest.mark.parametrize(
    ("folder_name", "step"),
    [("l.i0", "l.i0"), ("qr100.L1", "qr100"), ("qp500.L12", "qp500"), ("r.L3.ips200", "qr200"),
     ("p.L4.ips200", "qp200"), ("q.L2.ips1000", "q1000"), ("q100.2", "q100.2"), ("q100", "q100")],
)  # fmt: skip
def test_folders_of_all_years_name_their_steps(tmp_path: Path, folder_name: str, step: str) -> None:
    assert [one.name for one in read(tmp_path, client_log(), folder_name).steps] == [step]


def test_steps_of_one_name_are_told_apart_by_their_place(tmp_path: Path) -> None:
    for name in ("qr100.L1", "qr100.L3"):
        (tmp_path / "ma1011.cz1" / name).mkdir(parents=True)
        (tmp_path / "ma1011.cz1" / name / "o.ib.dop1.1").write_text(client_log())
    (run,) = IMPORTER.runs(Source(tmp_path / "ma1011.cz1"), ImportRequest("small"))
    assert ([step.name for step in run.steps], run.dbms) == (["qr100.1", "qr100.3"], "ma1011.cz1")


def test_a_folder_becomes_a_run(workspace: Workspace, tmp_path: Path) -> None:
    taken = import_file(folder(tmp_path), "theirs", "a report", workspace, setup="small")
    assert [warning[:22] for warning in taken.warnings] == ["5 files were not read:"]
    lake = reader.lake(workspace)
    rows = reader.sql(
        lake, "SELECT step, start_s, duration_s, existing_rows, clients FROM steps ORDER BY step_id"
    ).rows()
    assert rows == [
        ("l.i0", 0.0, 3.0, None, 2), ("l.x", 5.0, 2.5, 12_200, 2), ("l.i1", 10.0, 2.0, None, 2),
        ("qr100", 20.0, 3.0, None, 2), ("qp500", 30.0, 3.0, None, 2),
    ]  # fmt: skip
    rates = reader.sql(lake, "SELECT step_id, family, rate FROM family_rates ORDER BY ALL").rows()
    assert rates == [
        (0, "insert", 4000.0), (1, "index", 4880.0), (2, "delete", 900.0), (2, "insert", 900.0), (3, "delete", 200.0),
        (3, "insert", 200.0), (3, "query", 3200.0), (4, "delete", 1000.0), (4, "insert", 1000.0), (4, "query", 1600.0),
    ]  # fmt: skip
    probes = reader.sql(lake, "SELECT step, client, seconds, result FROM probes ORDER BY client").rows()
    assert probes == [("l.i1", 1, 0.003, 7), ("l.i1", 2, 0.003, 7)]
    (run_dir,) = workspace.runs.iterdir()
    assert verify(run_dir) == []
    manifest = read_manifest(run_dir)
    assert manifest.origin_wall == "2023-11-14T22:13:20+00:00" and manifest.cell.dbms == "ma1011.cz11b"
    stored = {path: path.read_bytes() for path in run_dir.rglob("*") if path.is_file()}
    assert not [(path, secret) for path, content in stored.items() for secret in SECRETS if secret in content]


@pytest.mark.slow
def test_questions_commands_and_sentences_take_them(workspace: Workspace, tmp_path: Path) -> None:
    folder(tmp_path / "given", "ma1011.cz11b")
    folder(tmp_path / "given", "my8033.cz11b")
    import_file(tmp_path / "given", "theirs", "a report", workspace, setup="small")
    assert "my8033.cz11b (imported)" in ibench(workspace, "summary", "theirs").stdout
    assert "not recorded" in ibench(workspace, "compare", "ma1011.cz11b", "my8033.cz11b").stdout
    for command in ("stalls", "changes"):
        assert not ibench(workspace, command, "theirs").stderr
    post = choose(reader.lake(workspace), "theirs")
    assert "2 of 2 runs" in say(post, ib.run_statements).markup
    assert "2 clients" in say(post, ib.insert_benchmark_statements).markup


def test_what_is_not_whole_is_a_failed_step(tmp_path: Path) -> None:
    run = read(tmp_path, client_log(done=False))
    assert run.error is not None and run.error.text == 'it ends in second 3 without "Done"'
    assert (run.failed_step, run.rows["steps"][0]["status"]) == ("l.i0", "failed")  # type: ignore[index]
    assert ops(run) == {0: 100, 1: 200, 2: 300}
    run = read(tmp_path / "two", client_log(), name="o.ib.dop2.1")
    assert run.error is not None and run.error.text.startswith("the log of client 2 of 2 is missing")
    run, lost = lost_of(
        tmp_path / "three", client_log().replace("Insert rt:     256us", "SQL error 1205\nInsert rt:     256us")
    )
    assert run.error is not None and (run.error.text, run.error.line, lost) == ("it reports an error", 6, [6])


@pytest.mark.parametrize(
    ("step", "name", "text", "said"),
    [
        ("home", "o.ib.dop1.1", client_log(), "its folder 'home' is no step"),
        ("l.i0", "run.log", client_log(), "a log of iibench.py is called"),
        ("l.i0", "o.ib.dop1.1", client_log().replace("--rows_per_commit", "--rows"), "how many rows a commit has"),
    ],
)
def test_what_cannot_be_placed_is_refused_by_line(tmp_path: Path, step: str, name: str, text: str, said: str) -> None:
    with pytest.raises(UsageError, match=said) as caught:
        read(tmp_path, text, step, name)
    assert f"{step}/{name}:1: " in caught.value.what


def test_setup_and_dbms_have_to_be_known(tmp_path: Path) -> None:
    path = folder(tmp_path, "beast7")
    with pytest.raises(UsageError, match="does not say of what setup"):
        list(IMPORTER.runs(Source(path), ImportRequest()))
    with pytest.raises(UsageError, match="does not say of what dbms"):
        list(IMPORTER.runs(Source(path), ImportRequest("small")))


def test_two_numbers_of_clients_in_a_folder_are_refused(tmp_path: Path) -> None:
    (tmp_path / "l.i0").mkdir()
    for name in ("o.ib.dop1.1", "o.ib.dop2.1"):
        (tmp_path / "l.i0" / name).write_text(client_log())
    with pytest.raises(UsageError, match="import one number of clients at a time"):
        list(IMPORTER.runs(Source(tmp_path / "l.i0"), TOLD))


def with_costs(at: Path, *, seconds: int = 20, samples: int = 4, **sidecars: str) -> Path:
    """A folder with a step of `seconds`, with 10,000 rows in each, next to samples of iostat and vmstat."""
    step = at / "ma1011.cz11b" / "l.i0"
    step.mkdir(parents=True)
    (step / "o.ib.dop1.1").write_text(client_log(ips=[10_000] * seconds))
    given = {"o.io.dop1": iostat([100, 300] * (samples // 2)), "o.vm.dop1": vmstat([1000, 3000] * (samples // 2))}
    for name, text in {**given, **{name.replace("_", "."): text for name, text in sidecars.items()}}.items():
        (step / name).write_text(text)
    return at


def test_samples_of_iostat_and_vmstat_are_costs_of_operations(workspace: Workspace, tmp_path: Path) -> None:
    taken = import_file(with_costs(tmp_path / "in"), "others", "a report", workspace, setup="small")
    assert taken.warnings == []
    row = answer(reader.lake(workspace), "step_resources", "others").row(0, named=True)
    assert (row["rps"], row["wps"], row["rmbps"], row["csps"]) == pytest.approx((200, 400, 1, 2000))
    # 70 % of two CPUs are 1.4 s of CPU a second, for 10,000 rows.
    assert (row["cpups"], row["cpupq"], row["cspq"]) == pytest.approx((70, 140, 0.2))
    assert (row["rpq"], row["wpi"], row["rkbpq"], row["wkbpi"]) == pytest.approx((0.02, 0.04, 0.1024, 0.1024))
    assert (row["scpupq"], row["other_cpu"], row["rss"], row["covered"]) == (None, None, None, None)
    (run_id,) = taken.run_ids
    stored = b"".join(path.read_bytes() for path in workspace.run_dir(run_id).rglob("*") if path.is_file())
    assert b"db7" not in stored and verify(workspace.run_dir(run_id)) == []


def test_samples_of_half_a_step_are_enough_and_of_less_are_left_out(workspace: Workspace, tmp_path: Path) -> None:
    taken = import_file(with_costs(tmp_path / "a", seconds=40), "half", "a report", workspace, setup="small")
    assert [text.partition(": ")[2] for text in taken.warnings] == [
        f"its {tool} has samples of 20 of the 40 s of l.i0" for tool in ("iostat", "vmstat")
    ]
    assert answer(reader.lake(workspace), "step_resources", "half")["csps"].to_list() == pytest.approx([2000])
    taken = import_file(with_costs(tmp_path / "b", seconds=41), "less", "a report", workspace, setup="small")
    assert answer(reader.lake(workspace), "step_resources", "less")["csps"].to_list() == [None]
    assert any("4 samples of vmstat are not of the 41 s of l.i0: left out" in text for text in taken.warnings)
    device = answer(reader.lake(workspace), "device_averages", "half").row(0, named=True)
    assert (device["device"], device["rps"], device["read_wait_ms"], device["covered"]) == ("vda", 200, 2, None)


def test_the_device_that_holds_the_data_is_named_or_the_only_one(tmp_path: Path) -> None:
    two = iostat([100, 300, 100, 300], devices=("sda", "nvme0n1"))
    (run,) = IMPORTER.runs(Source(with_costs(tmp_path / "a", o_io_dop1=two)), TOLD)
    assert {row["source"] for row in rows_of(run, "step_counters")} == {"host"}
    assert "nothing says which device held the data of l.i0" in " ".join(remarks(run))
    named = "average values from iostat for nvme0n1\nr/s\n"
    (run,) = IMPORTER.runs(Source(with_costs(tmp_path / "b", o_io_dop1=two, o_res_dop1=named)), TOLD)
    assert {row["name"] for row in rows_of(run, "step_counters")} == {"", "nvme0n1"}
    assert len(run.steps[0].files) == 4
