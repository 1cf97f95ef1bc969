"""Files of a workspace that are damaged, not to be written, or set as a trap: one line, no traceback."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from ibench_lib.base import scratch
from ibench_lib.base.scratch import MARKER, scratch_directory, sweep_scratch
from ibench_lib.cli.main import main
from ibench_lib.errors import UsageError
from ibench_lib.paths import Workspace
from ibench_lib.runner.events import EventLog, read_events
from ibench_lib.runner.ledger import running_alone
from ibench_lib.store.transfer import ARRIVING, open_store, push
from tests.command import ibench as command
from tests.places import ROOT
from tests.synthetic import Run, write_runs

pytestmark = pytest.mark.lake


def ibench(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], root: Path, *words: str
) -> tuple[int, str]:
    """(exit code, all that it printed) of the command, in this process."""
    monkeypatch.setenv("IBENCH_HOME", str(root))
    monkeypatch.setattr(sys, "argv", ["ibench", *words])
    with pytest.raises(SystemExit) as ended:
        main()
    printed = capfd.readouterr()
    return int(ended.value.code or 0), printed.out + printed.err


def begin(place: Workspace) -> Path:
    log = EventLog(place, "demo")
    log.experiment_begins("demo", [])
    return place.events / "demo.jsonl"


@pytest.mark.parametrize("damage", ["garbage\n", "[1,2", "5\n", '{"event": 3, "at": 4}\n', "[" * 100_000, "\0\xff\n",
                                    '{"at": "2026-11-21T10:00:00+00:00", "event": "cell_begins"}\n'])  # fmt: skip
def test_status_skips_lines_that_are_no_events(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], damage: str
) -> None:
    path = begin(workspace)
    with open(path, "a", encoding="utf-8") as file:
        file.write(damage)
    EventLog(workspace, "demo").experiment_ends("demo", "complete")
    code, said = ibench(monkeypatch, capfd, workspace.root, "status", "demo")
    assert code == 0 and "demo: complete" in said and "1 damaged line of" in said
    path.write_text(damage)
    code, said = ibench(monkeypatch, capfd, workspace.root, "status", "demo")
    assert code == 1 and "no event in " in said and "can be read" in said


def test_a_cut_line_does_not_take_the_next_one_with_it(workspace: Workspace) -> None:
    path = begin(workspace)
    with open(path, "a", encoding="utf-8") as file:
        file.write('{"at": "2026')
    EventLog(workspace, "demo").experiment_ends("demo", "complete")
    events, damaged = read_events(path)
    assert [event["event"] for event in events] == ["experiment_begins", "experiment_ends"] and damaged == 1


def test_an_event_log_that_is_a_link_or_a_pipe_is_refused(workspace: Workspace, tmp_path: Path) -> None:
    path = begin(workspace)
    victim = tmp_path / "victim"
    path.rename(victim)
    before = victim.read_bytes()
    path.symlink_to(victim)
    with pytest.raises(UsageError, match="is a symbolic link"):
        EventLog(workspace, "demo").experiment_ends("demo", "complete")
    with pytest.raises(UsageError, match="is a symbolic link"):
        read_events(path)
    assert victim.read_bytes() == before
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(UsageError, match="is not a file"):
        read_events(path)


def test_a_lock_that_is_a_link_is_refused(workspace: Workspace, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    workspace.data.mkdir()
    workspace.ledger.with_suffix(".lock").symlink_to(victim)
    with pytest.raises(UsageError, match="is a symbolic link"), running_alone(workspace):
        pass
    assert victim.read_text() == "precious"


@pytest.mark.parametrize("words", [["runs"], ["sql", "SELECT 1"], ["runs", "recover"], ["runs", "verify"]])
@pytest.mark.parametrize("root", ["/etc/passwd", "/proc"])
def test_a_workspace_that_is_none(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], root: str, words: list[str]
) -> None:
    code, said = ibench(monkeypatch, capfd, Path(root), *words)
    assert code in (0, 1, 2) and "Traceback" not in said


@pytest.mark.parametrize("as_directory", [True, False])
def test_a_damaged_ledger(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], as_directory: bool
) -> None:
    workspace.data.mkdir()
    if as_directory:
        workspace.ledger.mkdir()
    else:
        workspace.ledger.write_bytes(b"no database" * 1000)
    monkeypatch.setattr(
        "ibench_lib.experiment.cells.load_experiment", lambda path: (_ for _ in ()).throw(_damage(workspace))
    )
    code, said = ibench(monkeypatch, capfd, workspace.root, "experiment", "plan", "x.yaml")
    assert code == 1 and str(workspace.ledger) in said and "Traceback" not in said


def _damage(workspace: Workspace) -> Exception:
    """What opening the ledger raises."""
    from ibench_lib.runner.ledger import Ledger

    with pytest.raises(Exception) as caught:
        Ledger(workspace)
    return caught.value


def test_a_disk_that_cannot_be_written(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    write_runs(workspace, Run())

    def refused(*_: object, **__: object) -> None:
        raise OSError(30, "Read-only file system", str(workspace.runs))

    monkeypatch.setattr("ibench_lib.store.remove.os.rename", refused)
    code, said = ibench(monkeypatch, capfd, workspace.root, "runs", "remove", "--yes", Run().run_id)
    assert code == 1 and f"{workspace.runs}: Read-only file system" in said.replace("\n", "")


def test_control_characters_are_shown_as_such(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    evil = "\x1b[31mred\x1b]0;t\x07\u202e"
    write_runs(workspace, Run(title=evil, status="failed", failed_step="l.i1", error=evil))
    for words in (["runs"], ["sql", "SELECT title, error FROM runs"]):
        code, said = ibench(monkeypatch, capfd, workspace.root, *words)
        assert code == 0 and "\\x1b[31mred" in said
        assert not {"\x1b", "\x07", "\u202e"} & set(said)


@pytest.mark.parametrize("source", ["\x1b[31mred", "a\nb", "a\udcffb", "x" * 2000, "\u202egnp"])
def test_a_source_is_one_plain_line(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], source: str
) -> None:
    path = workspace.root / "f.csv"
    path.write_text("setup,dbms,step,ips\ncached,a.b,l.i0,1\n")
    words = ["runs", "import", str(path), "-e", "x", "--source", source]
    code, said = ibench(monkeypatch, capfd, workspace.root, *words)
    assert code == 2 and "the source has" in said and "\x1b" not in said
    assert not workspace.runs.exists()


@pytest.mark.long
@pytest.mark.slow
def test_intervals_and_long_answers(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    query = "SELECT INTERVAL 90 SECOND AS took, range AS n FROM range(2500)"
    for form in ("csv", "json", "table"):
        code, said = ibench(monkeypatch, capfd, workspace.root, "sql", "-f", form, query)
        assert code == 0 and "0:01:30" in said and said.count("0:01:30") == 2500
        if form == "json":
            assert len(json.loads(said)) == 2500
    code, said = ibench(monkeypatch, capfd, workspace.root, "sql", "-f", "json", "SELECT 1 AS x WHERE false")
    assert json.loads(said) == []


def test_only_directories_of_dead_processes_are_swept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    prefix = "ibench-capture-"
    dead, foreign = tmp_path / f"{prefix}dead", tmp_path / f"{prefix}foreign"
    for folder in (dead, foreign):
        folder.mkdir()
    (dead / MARKER).touch()
    (dead / "perf.data").write_text("x")
    (foreign / "thesis.txt").write_text("years of work")
    (tmp_path / f"{prefix}link").symlink_to(foreign)
    with scratch_directory(prefix) as alive:
        assert sweep_scratch(prefix) == [dead]
        assert alive.is_dir() and foreign.is_dir() and not dead.exists()
    assert not alive.exists()


def test_what_a_killed_pull_cell_or_option_check_left_is_swept(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Whatever the prefix, and next to the runs; a directory that is in use stays, and no run is touched."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    write_runs(workspace, Run())
    left = [tmp_path / "tmp" / f"ibench-{what}-x" for what in ("cell", "options")] + [workspace.runs / f"{ARRIVING}x"]
    for folder in left:
        folder.mkdir(parents=True)
        (folder / MARKER).touch()
        (folder / "experiment.yaml").touch()
    with scratch_directory(ARRIVING, workspace.runs) as alive:
        code, said = ibench(monkeypatch, capfd, workspace.root, "runs", "recover")
        assert alive.is_dir()
    assert code == 0 and all(f"removed {folder}, left behind" in said for folder in left)
    assert not any(folder.exists() for folder in left)
    assert sorted(path.name for path in workspace.runs.iterdir()) == [Run().run_id]


def test_a_pull_that_is_killed_leaves_what_the_next_one_sweeps(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_runs(workspace, Run())
    push(workspace.run_dir(Run().run_id), open_store(str(tmp_path / "there")))
    here = Workspace(tmp_path / "here")
    program = (
        "import os, signal, sys\nfrom pathlib import Path\nfrom ibench_lib.store import transfer\n"
        "from ibench_lib.paths import Workspace\n"
        "transfer.verify = lambda run_dir: os.kill(os.getpid(), signal.SIGKILL)\n"
        "transfer.pull(sys.argv[1], transfer.open_store(sys.argv[2]), Workspace(Path(sys.argv[3])))\n"
    )
    words = [sys.executable, "-c", program, Run().run_id, str(tmp_path / "there"), str(here.root)]
    assert subprocess.run(words, cwd=ROOT, check=False).returncode == -signal.SIGKILL
    assert [path.name.startswith(ARRIVING) for path in here.runs.iterdir()] == [True]
    assert command(here, "runs", "pull", str(tmp_path / "there")).returncode == 0
    assert [path.name for path in here.runs.iterdir()] == [Run().run_id]


@pytest.mark.parametrize("moment", ["open", "fcntl.flock", "os.rename"])
def test_a_directory_of_a_process_killed_before_it_marked_it_is_swept_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    program = (
        "import os, signal, sys\nfrom pathlib import Path\nfrom ibench_lib.base import scratch\n"
        f"scratch.{moment} = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)\n"
        "with scratch.scratch_directory('ibench-', Path(sys.argv[1])): pass\n"
    )
    words = [sys.executable, "-c", program, str(tmp_path)]
    assert subprocess.run(words, cwd=ROOT, check=False).returncode == -signal.SIGKILL
    (left,) = tmp_path.iterdir()
    for name, mode in (("ibench-public_1", 0o755), ("ibench-my-notes", 0o700), ("ibench-full_12x", 0o700)):
        (tmp_path / name).mkdir(mode)
    (tmp_path / "ibench-full_12x" / "notes").touch()
    assert sweep_scratch("ibench-", tmp_path) == [], "it may be about to be marked"
    monkeypatch.setattr(scratch, "YOUNG_S", 0.0)
    assert sweep_scratch("ibench-", tmp_path) == [left]
    assert len(list(tmp_path.iterdir())) == 3


@pytest.mark.slow
def test_a_query_that_is_killed_while_it_spills_leaves_what_is_swept(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A query that goes on keeps its folder, and one that ends leaves none."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    Path(tempfile.gettempdir()).mkdir()
    program = (
        "import os, sys\nfrom pathlib import Path\nfrom ibench_lib.store import reader\n"
        "reader.MEMORY = '40MB'\nlake = reader.lake()\nlake.execute('SET threads = 1')\n"
        'text = "SELECT count(DISTINCT a) FROM "\\\n'
        "\"(SELECT random()::VARCHAR || repeat('x', 300) AS a FROM range(300000))\"\n"
        "with reader.rows(lake, text) as (_, rows):\n    next(rows)\n    print(flush=True)\n    sys.stdin.read()\n"
    )
    environment = {**os.environ, "TMPDIR": tempfile.gettempdir(), "IBENCH_HOME": str(workspace.root)}
    queries, folders = [], []
    for _ in range(2):
        query = subprocess.Popen(
            [sys.executable, "-c", program], cwd=ROOT, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        queries.append(query)
        assert query.stdout and query.stdout.readline()
        (folder,) = {*(tmp_path / "tmp").iterdir()} - {*folders}
        folders.append(folder)
        assert [*folder.iterdir()], "it has spilled"
    queries[0].kill()
    queries[0].wait()
    assert f"removed {folders[0]}, left behind" in command(workspace, "runs", "recover").stdout
    assert [folder.exists() for folder in folders] == [False, True]
    queries[1].communicate()
    assert queries[1].returncode == 0 and not folders[1].exists()


def test_the_marker_of_a_killed_process_is_swept_at_once(tmp_path: Path) -> None:
    """Whoever pulls again right away leaves nothing of the pull that was killed."""
    left = tmp_path / "ibench-capture-young"
    left.mkdir()
    (left / MARKER).touch()
    with scratch_directory("ibench-capture-", tmp_path) as alive:
        assert sweep_scratch("ibench-capture-", tmp_path) == [left]
        assert alive.is_dir()
