"""An importer is one file that nothing else names; whatever it does, the lake gets nothing made up and nothing half."""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from ibench_lib import importers as folder
from ibench_lib.errors import LakeError, NameRefused, UsageError
from ibench_lib.importers import intake, source
from ibench_lib.importers.importer import ImportedRun, ImportedStep, ImportRequest, Remark
from ibench_lib.importers.intake import MOST_STEPS, MOST_TEXT, find_importer, import_file, importers
from ibench_lib.importers.source import Limits, Source
from ibench_lib.paths import Workspace
from ibench_lib.store import reader
from ibench_lib.store.manifest import read_manifest
from ibench_lib.store.verify import verify
from ibench_lib.workloads import workload
from tests.cli.test_main import ibench, refused
from tests.importers.hammerdb_logs import log
from tests.importers.handed_over import Stub, hand_over, run_with, take, write
from tests.synthetic import Run, write_runs

pytestmark = pytest.mark.lake

ADDED = Path(__file__).parent / "added"
TABLE = "setup,dbms,step,qps\nc,a.x,q100,250\n"


LOG = """\
tool 1.0, 4 threads
test q100
[ 10s ] qps: 248
WARNING: restarted
[ 20s ] qps: 252

average: 250.5 queries/s
"""


@pytest.fixture
def added(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A folder with one more importer: as if the file had been put into ours."""
    monkeypatch.setattr(folder, "__path__", [*folder.__path__, str(ADDED)])
    yield
    sys.modules.pop(f"{folder.__name__}.tool_log", None)
    vars(folder).pop("tool_log", None)


def test_an_importer_is_one_file(added: None, workspace: Workspace) -> None:
    assert list(importers()) == [
        "benchbase", "go-tpc", "hammerdb", "iibench", "linkbench", "published", "sysbench", "sysbench-means",
        "sysbench-tables", "tool-log", "tpcc-mysql",
    ]  # fmt: skip
    taken = take(workspace, LOG, setup="small", dbms="mysql-9.7.base")
    assert taken.importer == "tool-log"
    rows = reader.sql(
        reader.lake(workspace),
        "SELECT setup, build, config, step, metric, value FROM published JOIN runs USING (run_id)",
    )
    assert rows.rows() == [("small", "mysql-9.7", "base", "q100", "qps", 250.5)]
    (run_dir,) = workspace.runs.iterdir()
    manifest = read_manifest(run_dir)
    assert (manifest.source, manifest.experiment.text) == ("a report", LOG)
    steps = [{"name": "q100", "kind": "query"}]
    assert manifest.workload == {"benchmark": "insert_benchmark", "resolved_steps": steps}
    assert verify(run_dir) == []


def test_the_importers_here_need_nothing_heavy_before_they_read() -> None:
    """They are all imported to ask which of them takes a file."""
    for path in Path(folder.__path__[0]).glob("*.py"):
        for node in ast.parse(path.read_text()).body:
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            for name in names:
                top = name.split(".")[0]
                assert top in {"ibench_lib", *sys.stdlib_module_names}, f"{path.name} imports {name}"


def test_content_decides_and_the_ending_of_the_name_does_not(added: None, workspace: Workspace) -> None:
    assert find_importer(Source(write(workspace, TABLE, "figures.log"))).name == "published"
    assert find_importer(Source(write(workspace, LOG, "log.csv"))).name == "tool-log"
    assert find_importer(Source(write(workspace, "\ufeff" + TABLE))).name == "published"


@pytest.mark.parametrize("content", [b"", b"\x00\x01", b"\xff\xfe\x00", b"hello\n", "12 é".encode("latin-1")])
def test_what_no_importer_takes_is_refused_with_what_each_expects(added: None, tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "report.csv"
    path.write_bytes(content)
    with pytest.raises(UsageError, match="is not a file that ibench can import") as caught:
        find_importer(Source(path))
    expected = (caught.value.detail or "").splitlines()
    assert [line.partition(": ")[0] for line in expected] == list(importers())
    assert any(line.startswith("published: CSV with a header: setup, dbms, step") for line in expected)
    assert "tool-log: a log that begins with 'tool 1.0'" in expected


def test_an_import_makes_no_question_known(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """It asks which runs there are. All questions took 2 s of CPU, and a hundred logs take 4 s."""

    def opened(*_: Any) -> None:
        raise AssertionError("a whole lake was opened")

    monkeypatch.setattr(reader, "lake", opened)
    first = take(workspace, TABLE)
    assert len(first.run_ids) == 1 and take(workspace, TABLE).already == first.run_ids


def test_a_name_overrules_content(added: None, workspace: Workspace) -> None:
    with pytest.raises(UsageError, match=r"others\.txt:1: no column 'setup'"):
        take(workspace, LOG, importer="published")
    with pytest.raises(UsageError, match="unknown importer 'publisched'; did you mean 'published'"):
        take(workspace, TABLE, importer="publisched")


def test_two_that_take_it_are_named(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(intake, "importers", lambda: {"one": Stub("one"), "two": Stub("two")})
    with pytest.raises(UsageError, match="can be read as one and two") as caught:
        take(workspace, LOG)
    assert "--as" in (caught.value.hint or "")


def test_who_summarises_leaves_a_source_to_others_and_not_to_its_kind(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Table(Stub):
        summarises = True

    there = {"log": Stub("log"), "one": Table("one"), "two": Table("two")}
    monkeypatch.setattr(intake, "importers", lambda: there)
    assert find_importer(Source(write(workspace, LOG))).name == "log"
    there.pop("log")
    with pytest.raises(UsageError, match="can be read as one and two"):
        take(workspace, LOG)


def test_a_file_that_is_not_there_or_too_large_is_refused(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipe, empty = workspace.root / "pipe", workspace.root / "empty"
    os.mkfifo(pipe)
    empty.mkdir()
    for path, said in (
        (workspace.root / "none.csv", "none.csv cannot be read: no such file"),
        (pipe, "pipe cannot be read: not a file, but"),
        (empty, "empty has no files"),
    ):
        with pytest.raises(UsageError, match=said):
            import_file(path, "others", "a report", workspace)
    monkeypatch.setattr(source, "LIMITS", Limits(text_bytes=20))
    with pytest.raises(UsageError, match="over 0 MB, too large"):
        take(workspace, TABLE)


def test_setup_and_dbms_are_for_files_that_do_not_name_them(added: None, workspace: Workspace) -> None:
    with pytest.raises(UsageError, match="does not say what it is of"):
        take(workspace, LOG)
    with pytest.raises(UsageError, match="name their setup and dbms themselves"):
        take(workspace, TABLE, setup="small")


def test_no_line_is_lost_silently(added: None, workspace: Workspace) -> None:
    taken = take(workspace, LOG, setup="small", dbms="a.x")
    assert taken.warnings == ["1 line was not understood and left out: others.txt:4"]
    (run_dir,) = workspace.runs.iterdir()
    assert read_manifest(run_dir).warnings == ["1 line was not understood and left out: name1.txt:4"]
    many = LOG.replace("WARNING: restarted\n", "noise\n" * 7)
    more = take(workspace, many, setup="small", dbms="a.x", experiment="more")
    lines = ", ".join(f"others.txt:{number}" for number in range(4, 9))
    assert more.warnings == [f"7 lines were not understood and left out: {lines} ..."]


def test_a_warning_names_no_folder_of_this_machine(added: None, workspace: Workspace) -> None:
    take(workspace, LOG, setup="small", dbms="a.x")
    private = str(workspace.root).encode()
    assert not [path for path in workspace.runs.rglob("*") if path.is_file() and private in path.read_bytes()]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"setup": "../c"}, ":7: setup '../c' is not a usable name"),
        ({"dbms": "a b.c"}, ":7: dbms 'a b.c' is not a usable name"),
        ({"dbms": "ab"}, ":7: dbms 'ab' is not <build>.<config>"),
        ({"dbms": "a."}, ":7: dbms 'a.' is not <build>.<config>"),
        ({"steps": [ImportedStep("l.i0x", 9)]}, ":9: unknown step 'l.i0x'"),
        ({"steps": [ImportedStep("qfoo", 9)]}, ":9: unknown step 'qfoo'"),
        ({"steps": [ImportedStep("l i0", 9)]}, ":9: step 'l i0' is not a usable name"),
        (
            {"steps": [ImportedStep(f"q{n}", n) for n in range(1, 40_001)]},
            f":1001: setup c has over {MOST_STEPS:,} steps",
        ),
    ],
)
def test_names_are_checked(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, changes: dict[str, Any], said: str
) -> None:
    run = replace(run_with("published"), **changes)
    with pytest.raises(UsageError) as caught:
        hand_over(workspace, monkeypatch, run)
    assert caught.value.what.endswith(f"others.txt{said}")
    assert not workspace.runs.exists()


def test_an_unknown_step_is_answered_with_the_steps_of_every_workload(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UsageError) as caught:
        hand_over(workspace, monkeypatch, replace(run_with("published"), steps=[ImportedStep("qfoo", 9)]))
    hint = caught.value.hint or ""
    for name in workload.known():
        assert workload.find(name).title in hint
    for step in ("l.i0", "qr100", "ramp_up", "warm_up"):
        assert step in hint and any(workload.find(name).kind_of(step) for name in workload.known())


def test_a_run_is_of_the_only_benchmark_with_its_steps(workspace: Workspace) -> None:
    take(workspace, "setup,dbms,step,qps\ni,a.x,q100,1\nt,a.x,load,1\nt,a.x,ramp_up,2\nl,a.x,load,3\nl,a.x,t4,4\n")
    rows = reader.sql(reader.lake(workspace), "SELECT setup, benchmark FROM runs ORDER BY setup").rows()
    assert rows == [("i", "insert_benchmark"), ("l", "linkbench"), ("t", "tpcc")]


def test_a_table_names_its_benchmark_where_its_steps_do_not(workspace: Workspace) -> None:
    with pytest.raises(UsageError, match=r"others\.txt:2: the steps of setup c are of linkbench and tpcc"):
        take(workspace, "setup,dbms,step,qps\nc,a.x,load,1\n")
    with pytest.raises(UsageError, match=r"others\.txt:3: no benchmark has step q100 and those before it"):
        take(workspace, "setup,dbms,step,qps\nc,a.x,run,1\nc,a.x,q100,1\n")
    with pytest.raises(UsageError, match=r"others\.txt:2: unknown benchmark 'tpc'; did you mean 'tpcc'"):
        take(workspace, "setup,dbms,step,benchmark,qps\nc,a.x,load,tpc,1\n")
    with pytest.raises(UsageError, match=r"others\.txt:2: unknown step 'q100'"):
        take(workspace, "setup,dbms,step,benchmark,qps\nc,a.x,q100,tpcc,1\n")
    with pytest.raises(UsageError, match=r"others\.txt:3: c, a\.x is of another benchmark than in line 2"):
        take(workspace, "setup,dbms,step,benchmark,qps\nc,a.x,load,tpcc,1\nc,a.x,index,linkbench,1\n")
    assert not workspace.runs.exists()
    take(workspace, "setup,dbms,step,benchmark,qps\nc,a.x,load,tpcc,1\nc,b.x,load,linkbench,1\n")
    rows = reader.sql(
        reader.lake(workspace),
        "SELECT dbms, r.benchmark, main, rate_label FROM runs r JOIN run_steps USING (run_id) ORDER BY 1",
    )
    assert [row[:2] for row in rows.rows()] == [("a.x", "tpcc"), ("b.x", "linkbench")]
    assert rows["main"].null_count() == rows["rate_label"].null_count() == 0


@pytest.mark.slow
def test_forty_thousand_steps_of_a_table_are_refused(workspace: Workspace) -> None:
    rows = "".join(f"c,a.x,q{number},1\n" for number in range(1, 40_001))
    with pytest.raises(UsageError, match=r"others\.txt:1002: setup c has over 1,000 steps"):
        take(workspace, f"setup,dbms,step,qps\n{rows}")


def test_a_name_that_is_too_long_all_together_leaves_nothing(workspace: Workspace) -> None:
    long = "b" * 60
    with pytest.raises(NameRefused):
        take(workspace, f"setup,dbms,step,qps\n{long},a.x,q1,1\n{long},{long}.x,q1,1\n", experiment="e" * 64)
    assert not workspace.runs.exists()


def test_a_run_comes_once(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    run = run_with("published")

    class Twice(Stub):
        def runs(self, source: Source, told: ImportRequest) -> Iterator[ImportedRun]:
            yield from (run, replace(run, line=8))

    monkeypatch.setattr(intake, "importers", lambda: {"stub": Twice()})
    with pytest.raises(UsageError, match=r"others.txt:8: c, a\.x, repeat 1 occurs twice"):
        take(workspace, "a log\n")


def test_what_the_tool_says_of_time_host_and_gaps_is_kept(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: dict[str, Any] = {
        "origin_wall": datetime(2023, 8, 1, 12, tzinfo=UTC),
        "settings": "[mysqld]\n",
        "host": {"cpu": "8 cores"},
        "missing": {"steps.client_bound": "not judged"},
        "repeat": 3,
    }
    manifest = read_manifest(hand_over(workspace, monkeypatch, run_with("published", **said)))
    assert manifest.run_id == "20230801T120000Z-others-c-a.x-r3"
    assert (manifest.origin_wall, manifest.cell.repeat) == ("2023-08-01T12:00:00+00:00", 3)
    assert (manifest.config.my_cnf, manifest.host) == ("[mysqld]\n", {"cpu": "8 cores"})
    assert manifest.null_reasons == {"steps.client_bound": "not judged"}


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (" ", "imported figures need a source"),
        ("x" * (MOST_TEXT + 1), "the source has 501 characters"),
        ("a\nb", "the source has the control character U+000A"),
        ("a\x1b[31mb", "U+001B"),
        ("a\u202eb", "U+202E"),
        ("a\udcffb", "U+DCFF"),
    ],
)
def test_a_source_is_a_line_of_text(workspace: Workspace, source: str, said: str) -> None:
    with pytest.raises(UsageError, match=said.replace("+", r"\+")):
        take(workspace, TABLE, source=source)
    if source.strip():
        with pytest.raises(UsageError, match="the title has"):
            take(workspace, TABLE, title=source)
    assert not workspace.runs.exists()


def test_a_source_may_be_written_in_any_script(workspace: Workspace) -> None:
    source = "Bericht für August 2023, 八月, https://example.org/a?b=1&c=2"
    take(workspace, TABLE, source=source)
    (run_dir,) = workspace.runs.iterdir()
    assert read_manifest(run_dir).source == source


def test_an_experiment_has_the_runs_of_one_import(workspace: Workspace) -> None:
    take(workspace, TABLE)
    with pytest.raises(LakeError, match="experiment others already has runs, imported from other files") as refusal:
        take(workspace, TABLE.replace("250", "251"))
    assert "--again" in str(refusal.value.hint) and "measured" not in f"{refusal.value} {refusal.value.hint}"
    with pytest.raises(LakeError, match="or with other options"):
        take(workspace, TABLE, source="another report")
    assert len(list(workspace.runs.iterdir())) == 1


def test_measured_and_imported_runs_share_no_name(workspace: Workspace) -> None:
    write_runs(workspace, Run())
    with pytest.raises(LakeError, match="experiment demo already has runs that were measured here") as refusal:
        take(workspace, TABLE, experiment="demo")
    assert "measured runs cannot share a name" in str(refusal.value.hint)


def test_a_remark_belongs_to_the_run_whose_file_it_is_about(workspace: Workspace, tmp_path: Path) -> None:
    """All importers hand over what they have left out with their first run."""
    for name, text in (("ma1011.cy10a", log()), ("my8033.cy10a", log(nopm=2000))):
        (tmp_path / "given" / name).mkdir(parents=True)
        (tmp_path / "given" / name / "run.log").write_text(text)
    copied = "TEST RESULT : System achieved 2000 NOPM from 2800 MySQL TPM\n"
    (tmp_path / "given" / "my8033.cy10a" / "summary.txt").write_text(copied)
    taken = import_file(tmp_path / "given", "others", "a report", workspace, setup="small")
    manifests = [read_manifest(workspace.run_dir(run_id)) for run_id in taken.run_ids]
    said = "it is the result of run.log: it was left out"
    where = [(manifest.cell.build, sum(said in text for text in manifest.warnings)) for manifest in manifests]
    assert where == [("ma1011", 0), ("my8033", 1)]
    assert sum(said in text for text in taken.warnings) == 1


def test_a_remark_on_a_log_of_a_run_is_that_runs_own() -> None:
    def run(number: int, *remarks: Remark) -> ImportedRun:
        step = ImportedStep("q100", 1, files=[f"{number}/a.log"])
        return ImportedRun("c", f"a.x{number}", 1, [step], {}, warnings=remarks)

    mine, other = Remark("1/a.log", 3, "mine"), Remark("2/a.log", 3, "of the other")
    left_out, far = Remark("2/b.log", 1, "left out"), Remark("notes/c.log", 1, "far from all")
    runs = [run(1, mine, other, left_out, far), run(2, other)]
    assert intake._remarks_of(runs, None) == [[mine, far], [other, left_out]]  # type: ignore[arg-type]


def test_the_same_imported_again_is_already_there(workspace: Workspace) -> None:
    first, second = take(workspace, TABLE), take(workspace, TABLE)
    assert (first.already, second.already, second.run_ids) == ([], first.run_ids, [])
    assert len(list(workspace.runs.iterdir())) == 1
    arguments = ("runs", "import", str(workspace.root / "others.txt"), "-e", "others", "-s", "a report")
    assert ibench(workspace, *arguments).stdout == f"already there: {first.run_ids[0]}\n"


def test_a_run_that_is_not_whole_says_so(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    early, left_out = Remark("others.txt", 3, "it ends early"), Remark("others.txt", 2, "left out")
    run = run_with("published", error=early, failed_step="q100", warnings=[left_out], private=True)
    manifest = read_manifest(hand_over(workspace, monkeypatch, run))
    assert (manifest.status, manifest.error, manifest.failed_step) == ("failed", "name1.txt:3: it ends early", "q100")
    assert manifest.warnings == ["name1.txt:2: left out"] and manifest.origin == "published"
    assert "a log" not in manifest.experiment.text and manifest.experiment.text.endswith("  name1.txt\n")


def test_the_command(workspace: Workspace) -> None:
    arguments = ("runs", "import", str(write(workspace, TABLE)), "--experiment", "others", "--source", "a report")
    assert "1 published run of others" in ibench(workspace, *arguments).stdout
    refused(ibench(workspace, *arguments[:3], "-e", "b", "-s", "a", "--as", "ycsb"), "unknown importer 'ycsb'")
    unknown = ibench(workspace, "runs", "import", str(write(workspace, "hello\n")), "-e", "b", "-s", "a")
    refused(unknown, "is not a file that ibench can import")
    assert "published: CSV with a header" in unknown.stderr
