"""The command as its user meets it: exit codes, the one line that says what is wrong, Ctrl-C."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from typer.main import get_command

from ibench_lib.cli import main as cli
from ibench_lib.cli.main import app
from ibench_lib.cli.output import done_elsewhere
from ibench_lib.configs.resolve import resolve
from ibench_lib.paths import Workspace
from ibench_lib.servers.build import Build
from ibench_lib.servers.flavours.flavour import find
from ibench_lib.store import reader
from ibench_lib.store.manifest import read_manifest
from tests.command import PROGRAM, completed, ibench, refused
from tests.faults import Victim, survivors
from tests.places import ROOT
from tests.synthetic import Run, write_runs
from tests.waiting import PATIENCE_S, until

EXPERIMENT = """\
title: tiny
builds: [system]
configs:
  - {name: cy10a, fragments: [cy10a]}
setups:
  - {name: tiny, l_i0_rows: 1000000, l_i1_rows: %(l_i1_rows)d, l_i2_rows: 1000, query_seconds: 100}
scale: 0.01
workload: {benchmark: insert_benchmark, clients: 2, steps: [%(steps)s]}
"""


def write(workspace: Workspace, name: str = "tiny.yaml", l_i1_rows: int = 500_000, steps: str = "l.i0, l.x") -> Path:
    path = workspace.root / name
    path.write_text(EXPERIMENT % {"l_i1_rows": l_i1_rows, "steps": steps})
    return path


def test_an_experiment_is_checked_planned_run_and_followed_and_sql_counts_what_the_server_does(
    build: Build, workspace: Workspace
) -> None:
    path = write(workspace, steps="l.i0, l.x, l.i1, qr100")
    checked = ibench(workspace, "experiment", "check", str(path)).stdout
    assert "a guess" in checked and "1 cell, about" in checked
    assert "1 of 1 cell to run" in ibench(workspace, "experiment", "plan", str(path)).stdout
    refused(ibench(workspace, "status"), "no experiment has been run here")
    refused(ibench(workspace, "run", str(path), "--only", "nothing*"), "'nothing*' matches no cell")
    assert not workspace.runs.exists()
    first = ibench(workspace, "run", str(path))
    assert first.returncode == 0, first.stderr
    assert "1 cell, 0 already complete, about" in first.stdout
    assert "complete" in first.stdout and "1 new run, 0 already complete" in first.stdout
    counted = ibench(
        workspace,
        "sql",
        "-f",
        "csv",
        "SELECT sum(CASE operation WHEN 'insert' THEN rows WHEN 'delete' THEN -rows ELSE 0 END) AS by_ops,"
        " (SELECT sum(row_count) FROM table_counts WHERE step = 'qr100') AS by_server FROM ops",
    )
    header, values = counted.stdout.split()
    assert header == "by_ops,by_server"
    by_ops, by_server = map(float, values.split(","))
    assert by_ops == by_server == 20_000
    assert "0 new runs, 1 already complete" in ibench(workspace, "run", str(path)).stdout
    assert "complete" in ibench(workspace, "runs").stdout
    followed = ibench(workspace, "status").stdout
    assert f"{path.stem}: complete" in followed and "1 of 1 cell ended, 0 failed" in followed
    assert "the same cell" in ibench(workspace, "experiment", "check", str(path)).stdout
    assert "0 of 1 cell to run" in ibench(workspace, "experiment", "plan", str(path)).stdout
    path.write_text(path.read_text().replace("clients: 2", "clients: 1"))
    assert "run: changed" in ibench(workspace, "experiment", "plan", str(path)).stdout


def test_check_has_a_row_for_cells_that_differ_in_their_repeat_only(build: Build, workspace: Workspace) -> None:
    path = write(workspace)
    path.write_text(path.read_text().replace("scale: 0.01", "scale: 0.01\nrepeats: 3"))
    first, *others = ibench(workspace, "experiment", "check", str(path)).stdout.splitlines()[1:]
    assert " ".join(first.split()).startswith("1, 2, 3 system.cy10a, tiny, repeats 1, 2, 3 ")
    assert others[0].startswith("3 cells, about ")


def test_a_cell_that_does_not_fit_on_the_disk_is_refused_before_it_runs(
    build: Build, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(workspace)
    path.write_text(path.read_text().replace("scale: 0.01", "scale: 1\ncapture: {profile: {every_s: 80000}}"))
    free = 100 << 30
    monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(2 * free, free, free))
    checked = ibench(workspace, "experiment", "check", str(path))
    refused(
        checked, "not enough space in ", "of it, 137.4 GB of redo log (innodb_log_file_size=128G, cy10a.mariadb.cnf:"
    )
    assert "1 cell, about" in checked.stdout, "the table stands above it"
    planned = ibench(workspace, "experiment", "plan", str(path))
    assert planned.returncode == 0
    for said in (checked.stdout, planned.stdout):
        assert "warning: `profile` records 5 s every 80000 s, so it may record nothing in l.i0 (" in said


def test_check_and_plan_say_who_shares_a_snapshot_and_why_others_do_not(build: Build, workspace: Workspace) -> None:
    path = write(workspace, steps="l.i0, l.x, l.i1")
    (workspace.root / "conf").mkdir()
    for name, line in (("small", "innodb_buffer_pool_size=24M"), ("p8", "innodb_page_size=8K")):
        (workspace.root / "conf" / f"{name}.cnf").write_text(f"[mysqld]\n{line}\n")
    configs = "\n".join(f"  - {{name: {name}, fragments: [{name}]}}" for name in ("small", "p8"))
    head, _, rest = path.read_text().partition("configs:")
    rest = rest[rest.index("setups:") :]
    path.write_text(
        f"{head}configs_folder: conf\nsnapshot_after: l.x\nrepeats: 2\norder: interleaved\nconfigs:\n{configs}\n{rest}"
    )
    checked = ibench(workspace, "experiment", "check", str(path)).stdout
    apart = "not from the snapshot of cell 1: innodb_page_size is 8192, there 16384"
    assert f"snapshot for cells 1, 3\nsnapshot for cells 2, 4, {apart}\n" in checked
    planned = ibench(workspace, "experiment", "plan", str(path)).stdout
    said = [" ".join(line.split()) for line in planned.splitlines()]
    assert [line.partition(" run ")[2] for line in said[1:5]] == [
        "loads data, shared by cell 3",
        f"loads data, shared by cell 4; {apart}",
        "from the snapshot of cell 1",
        "from the snapshot of cell 2",
    ]


def test_a_missing_experiment_file(workspace: Workspace) -> None:
    write(workspace)
    command = [sys.executable, "-c", PROGRAM, "run", str(workspace.root / "tniy.yaml")]
    environment = {**os.environ, "IBENCH_HOME": str(workspace.root), "COLUMNS": "200"}
    result = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    refused(result, "tniy.yaml: no such file", "tiny.yaml")


def test_a_name_without_its_file_is_told_the_file(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(workspace.root)
    (workspace.root / "experiments").mkdir()
    write(workspace, "experiments/qa.yaml")
    for command in (["run", "qa"], ["experiment", "check", "qa"]):
        refused(ibench(workspace, *command), "qa: an experiment is a .yaml file", "did you mean experiments/qa.yaml?")
    refused(ibench(workspace, "run", "other"), "other: an experiment is a .yaml file", "such as experiments/demo.yaml")


def test_a_store_without_workers_who_would_push_to_it(workspace: Workspace) -> None:
    refused(ibench(workspace, "run", str(write(workspace)), "--store", "s3://b/l"), "--store", "--scheduler")


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("scale: 0.01", "scael: 0.01", ["tiny.yaml:7: unknown key 'scael'; did you mean 'scale'?"]),
        ("clients: 2", "clients: 0", ["tiny.yaml:8: workload.clients: should be greater than or equal to 1, not 0"]),
        ("[l.i0, l.x]", "[l.i0, l.y]", ["tiny.yaml:8: workload.steps: unknown step 'l.y'", "qr100"]),
        ("[system]", "[sytem]", ["no server build is called sytem", "did you mean system?"]),
        ("fragments: [cy10a]", "fragments: [cy10b]", ["no configuration 'cy10b'", "cy10a"]),
    ],
)
@pytest.mark.fault("F21")
def test_mistakes_in_an_experiment(build: Build, workspace: Workspace, old: str, new: str, words: list[str]) -> None:
    path = write(workspace)
    path.write_text(path.read_text().replace(old, new))
    refused(ibench(workspace, "run", str(path)), *words)
    assert not workspace.runs.exists(), "nothing was started"


def test_a_server_that_does_not_start_shows_its_error_log(workspace: Workspace, tmp_path: Path) -> None:
    basedir = tmp_path / "broken"
    (basedir / "bin").mkdir(parents=True)
    binary = basedir / "bin" / "mysqld"
    binary.write_text(
        """#!/bin/sh
        case "$*" in
        *--version*) echo 'mysqld  Ver 8.0.99 for Linux on x86_64 (a broken build)' ;;
        *--initialize*) exit 0 ;;
        *--help*)
            printf 'Variables (--variable-name=value)\\n---- ----\\n'
            printf '%s (No default value)\\n' OPTIONS
            echo ;;
        *)
            for option in "$@"; do
                case $option in --log-error=*) echo 'the disk is on fire' >> "${option#*=}" ;; esac
            done
            exit 7 ;;
        esac
        """
    )
    known = " ".join(option.key for option in resolve(["cy10a"], find("mysql").rules((8, 0, 99)), 1.0).options)
    binary.write_text(binary.read_text().replace("OPTIONS", f"{known} log_bin"))
    binary.chmod(0o755)
    result = ibench(workspace, "run", str(write(workspace)), IBENCH_BASEDIR=str(basedir))
    refused(result, "build system (8.0.99) does not start (exit 7)", "the disk is on fire")
    (run_dir,) = workspace.runs.iterdir()
    assert read_manifest(run_dir).status == "failed"
    assert list(workspace.sandboxes.iterdir()) == []


def test_a_binary_that_is_no_server(workspace: Workspace, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "mysqld").symlink_to("/bin/false")
    result = ibench(workspace, "run", str(write(workspace)), IBENCH_BASEDIR=str(tmp_path))
    refused(result, "prints no server version")


def test_a_parameter_that_the_notebook_does_not_have(workspace: Workspace) -> None:
    (workspace.root / "notebooks").symlink_to(ROOT / "notebooks")
    text = (ROOT / "papermill_params/insert_benchmark/demo.yml").read_text()
    path = workspace.root / "post.yml"
    path.write_text(text.replace("experiment:", "experimnet:", 1))
    refused(ibench(workspace, "post", str(path)), "post.yml", "experimnet", "experiment")


def test_sql_that_duckdb_refuses(workspace: Workspace) -> None:
    refused(ibench(workspace, "sql", "SELECT nope FROM steps"), "nope")


@pytest.mark.long
def test_a_query_gets_two_gigabytes_and_no_more(workspace: Workspace, tmp_path: Path) -> None:
    """A list must be in memory as a whole; this one has 3.2 GB."""
    query = "SELECT len(list(range)) FROM range(400_000_000)"
    with open(tmp_path / "said", "wb") as said:
        process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, "sql", query],
            env={**os.environ, "IBENCH_HOME": str(workspace.root)},
            stdout=said,
            stderr=said,
        )
        _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    text = (tmp_path / "said").read_text()
    assert process.returncode == 2 and "needs more than 2GB of memory" in text and "Traceback" not in text, text
    assert used.ru_maxrss < 2.5 * 2**20, "KiB"


@pytest.mark.long
def test_ctrl_c_in_the_middle(build: Build, workspace: Workspace) -> None:
    path = write(workspace, l_i1_rows=2_000_000_000, steps="l.i0, l.x, l.i1")
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, "run", str(path)],
        env={**os.environ, "IBENCH_HOME": str(workspace.root), "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    seconds = "SELECT count(DISTINCT second) FROM ops WHERE step = 'l.i1'"
    until(lambda: reader.sql(reader.lake(workspace), seconds).item() >= 2, "l.i1 has made two seconds", every_s=0.2)
    runner = Victim(process.pid)
    children = runner.family()
    assert len(children) >= 5, "the server and four clients"
    runner.interrupt()
    assert process.stdout is not None
    told = next(line for line in process.stdout if "stopping after this cell" in line)
    assert "press Ctrl-C again to stop now" in told
    assert process.poll() is None, "the first one lets the cell end"
    runner.interrupt()
    _, said = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130
    assert "interrupted" in said and "Traceback" not in said
    assert survivors(children) == []
    (run_dir,) = workspace.runs.iterdir()
    manifest = read_manifest(run_dir)
    assert (manifest.status, manifest.failed_step) == ("interrupted", "l.i1")
    kept = ibench(workspace, "sql", "-f", "csv", "SELECT count(DISTINCT second) AS n FROM ops WHERE step = 'l.i1'")
    assert int(kept.stdout.split()[1]) >= 2
    listed = ibench(workspace, "runs").stdout
    assert "interrupted" in listed


def test_every_command_has_help_with_an_example() -> None:

    def walk(command: object, words: list[str]) -> None:
        for name, child in getattr(command, "commands", {}).items():
            path = [*words, name]
            help_text = child.help or ""
            assert "Example:" in help_text, f"{' '.join(path)} has no example"
            assert f"ibench {' '.join(path)}" in re.sub(r"\s+", " ", help_text)
            walk(child, path)

    walk(get_command(app), [])


def test_doctor_says_what_is_there(workspace: Workspace) -> None:
    result = ibench(workspace, "doctor")
    assert result.returncode in (0, 1)
    for word in ("python", "server", "disk"):
        assert word in result.stdout


DRAW = {"plotly", "great_tables", "pandas", "IPython"}
COMPUTE = DRAW | {"pyarrow", "numpy", "polars"}
CONNECT = COMPUTE | {"duckdb", "fsspec", "ruamel", "psutil", "pymysql"}

LIGHT_FIRST = (
    *((f"{command} -h", CONNECT | {"pydantic", "cryptography"}) for command in (*cli._COMMANDS, *cli._GROUPS)),
    *(
        (f"{command} --help", CONNECT | {"pydantic", "cryptography"})
        for command in ("experiment check", "runs import", "servers install", "config show", "profile export")
    ),
    ("config list", CONNECT - {"pymysql", "duckdb"}),
    ("runs", COMPUTE | {"ruamel", "fsspec"}),
    ("runs --json", COMPUTE | {"ruamel", "fsspec"}),
    ("sql --describe step_throughput", COMPUTE),
    ("sql 'SELECT count(*) FROM ops'", COMPUTE),
    ("stalls", DRAW),
    ("summary", DRAW),
    ("compare system.cy10a system.other", DRAW),
    ("changes", DRAW),
)
"""Commands, and the modules that they must do without: once imported, a module stays for those that follow."""


@pytest.mark.slow
def test_commands_that_read_do_not_wait_for_what_they_do_not_need(workspace: Workspace) -> None:
    """The time of a short command is that of its imports. What is known of runs comes from their index."""
    write_runs(workspace, Run(), Run("other", minute=5))
    program = (
        "import contextlib, io, shlex, sys\n"
        "from ibench_lib.cli import main\n"
        "for line in sys.argv[1:]:\n"
        "    if not line.endswith(('-h', '--help')):\n"
        "        from ibench_lib.store import checksums, discovery\n"
        "        checksums.YOUNG_NS = discovery._MAY_WAIT = 0\n"
        "    sys.argv = ['ibench', *shlex.split(line)]\n"
        "    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):\n"
        "        main.main()\n"
        "    print(*sorted({name.partition('.')[0] for name in sys.modules}))\n"
    )
    commands = [command for command, _ in LIGHT_FIRST]
    environment = os.environ | {"IBENCH_HOME": str(workspace.root)}
    for arguments in (["runs"], commands):  # the first one makes the index
        done = subprocess.run(
            [sys.executable, "-c", program, *arguments], cwd=ROOT, env=environment, capture_output=True, text=True
        )
        assert done.returncode == 0 and not done.stderr, done.stderr
    found = [set(line.split()) for line in done.stdout.splitlines()]
    assert len(found) == len(LIGHT_FIRST) and "duckdb" in found[-1] and "polars" in found[-1]
    assert {
        command: sorted(modules & without) for (command, without), modules in zip(LIGHT_FIRST, found, strict=True)
    } == {command: [] for command in commands}


def test_a_post_does_not_wait_for_what_its_notebook_needs() -> None:
    look = "import sys; from ibench_lib.cli import main; main.application('post'); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", look], cwd=ROOT, capture_output=True, text=True, check=True)
    assert not {"duckdb", "pyarrow", "numpy", "polars", "great_tables", "plotly", "pydantic"} & {*done.stdout.split()}


def test_a_fragment_is_listed_with_its_files_if_asked_for(workspace: Workspace) -> None:
    short, long = ibench(workspace, "config", "list").stdout, ibench(workspace, "config", "list", "--files").stdout
    rows = dict(line.split(maxsplit=1) for line in short.splitlines())
    assert rows["a12"].strip() == "a quarter of the redo of cy10a (5 files)" and "a12.cnf" not in short
    assert rows["cy10a"].strip() == "the base of the report of August 2023 (6 files)"
    assert rows["io_tuned"].strip() == "settings for transactions that read from disk (2 files)"
    assert "a12.cnf, " in long


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("# mine: less flushing.\n# Not for SSDs.", "less flushing"),
        ("# mine: a sentence of\n# two lines. Another.", "a sentence of two lines"),
        ("# less flushing\n# innodb_io_capacity=400", "less flushing"),
        ("# As in MySQL 5.7, e.g. for old disks.", "As in MySQL 5.7, e.g. for old disks"),
        ("#\n# mine: title\n#\n# Longer words.", "title"),
        ("", ""),
    ],
)
def test_a_fragment_is_described_by_the_first_sentence_of_its_comment(
    text: str, what: str, workspace: Workspace, tmp_path: Path
) -> None:
    (tmp_path / "mine.cnf").write_text(f"{text}\n[mysqld]\ninnodb_flush_neighbors=1\n")
    lines = ibench(workspace, "config", "list", "--folder", str(tmp_path)).stdout.splitlines()
    assert [line.removeprefix(" mine ").strip() for line in lines if line.startswith(" mine ")] == [what]


def test_finished_cells_of_other_experiments_are_counted_in_words(workspace: Workspace) -> None:
    runs = [Run(experiment="other", minute=minute, repeat=minute + 1) for minute in range(2)]
    write_runs(workspace, *runs)
    ids = [run.run_id for run in runs]
    assert done_elsewhere(ids, "other", workspace) is None
    assert done_elsewhere(ids[:1], "mine", workspace) == (
        "1 of the finished cells comes from a run of other with the same build, configuration and workload. A post "
        "with `experiment: mine` does not show that run; `ibench run --again` runs finished cells again, for mine."
    )
    several = done_elsewhere(ids, "mine", workspace)
    assert several is not None and several.startswith("2 of the finished cells come from runs of other with the same ")
    assert "does not show those runs; " in several


def test_help_and_version_import_no_command(workspace: Workspace) -> None:
    """What commands need takes most of a second to import. The list of commands is the same without them."""
    look = (
        "import sys\n"
        "from ibench_lib.cli import main\n"
        "sys.argv = ['ibench', sys.argv[1]]\n"
        "try:\n    main.main()\n"
        "except SystemExit:\n    pass\n"
        "print(*sorted(sys.modules))\n"
    )
    for option in ("-h", "--help", "--version"):
        done = subprocess.run([sys.executable, "-c", look, option], capture_output=True, text=True, check=True)
        loaded = set(done.stdout.splitlines()[-1].split())
        heavy = {"duckdb", "pyarrow", "polars", "numpy", "pydantic", "psutil", "plotly", "great_tables", "pandas"}
        assert not loaded & heavy and "ibench_lib.cli.main" in loaded, option
        assert ({"typer", "rich"} & loaded == set()) == (option == "--version"), "a line of versions needs neither"
        assert option == "--version" or "importlib.metadata" not in loaded, "it reads the versions"
    assert ibench(workspace, "-h").stdout.strip() == ibench(workspace).stdout.strip() != ""


@pytest.mark.parametrize("words", [("run",), ("runs",), ("runs", "import"), ("config", "show")])
def test_help_is_the_same_without_the_groups_above_the_command(
    words: tuple[str, ...], workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = [ibench(workspace, *words, option) for option in ("-h", "--help")]
    monkeypatch.setattr(cli, "_help_alone", lambda _typed: None)
    below_all = ibench(workspace, *words, "-h").stdout.partition("[OPTIONS]")[2]  # before it is what runs the tests
    for help_alone in alone:
        usage, _, text = help_alone.stdout.partition("[OPTIONS]")
        assert (help_alone.returncode, usage.strip(), help_alone.stderr) == (0, f"Usage: ibench {' '.join(words)}", "")
        assert text.split() == below_all.split() != []


def test_help_of_what_is_no_command_names_what_is_there(workspace: Workspace) -> None:
    refused(ibench(workspace, "runs", "imprt", "-h"), "No such command 'imprt'", "import")
    refused(ibench(workspace, "rnus", "-h"), "No such command 'rnus'", "runs")


def test_a_shell_completes_commands_and_their_options() -> None:
    assert completed("ibench ru") == completed("ibench run") == ["run", "runs"]
    assert completed("ibench runs --st") == ["--status"]
    assert completed("ibench runs re") == ["recover", "remove"]
    assert completed("ibench nothing --st") == []
    assert [line.split()[0] for line in completed("ibench summary --ta", "fish")] == ["--tails"]
    assert "--tails" in completed("ibench summary --ta", "zsh")[0]
