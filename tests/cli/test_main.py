"""The command as its user meets it: exit codes, the one line that says what is wrong, Ctrl-C."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from typer.main import get_command

from ibench_lib.cli import main as cli
from ibench_lib.cli.main import app
from ibench_lib.paths import Workspace
from ibench_lib.servers.build import Build
from tests.cli.tiny import write
from tests.command import PROGRAM, completed, ibench, refused
from tests.places import ROOT
from tests.synthetic import Run, write_runs

pytestmark = pytest.mark.lake


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


DRAW = {"plotly", "pandas", "IPython"}
COMPUTE = DRAW | {"pyarrow", "numpy", "polars"}
JUDGE = DRAW | {"pydantic", "ruamel"}
CONNECT = COMPUTE | {"duckdb", "fsspec", "ruamel", "psutil", "pymysql"}


LIGHT_FIRST = (
    *((f"{command} -h", CONNECT | {"pydantic", "cryptography"}) for command in (*cli._COMMANDS, *cli._GROUPS)),
    *(
        (f"{command} --help", CONNECT | {"pydantic", "cryptography"})
        for command in ("experiment check", "runs import", "servers install", "config show", "profile export")
    ),
    ("config list", (CONNECT | {"pydantic"}) - {"pymysql", "duckdb"}),
    ("servers", CONNECT | {"pydantic"}),
    ("config show system cy10a", CONNECT | {"pydantic"}),
    ("runs", COMPUTE | {"ruamel", "fsspec", "pydantic"}),
    ("runs --json", COMPUTE | {"ruamel", "fsspec", "pydantic"}),
    ("sql --describe step_throughput", COMPUTE | {"pydantic"}),
    ("sql 'SELECT count(*) FROM ops'", COMPUTE | {"pydantic"}),
    ("stalls", JUDGE),
    ("summary", JUDGE),
    ("compare system.cy10a system.other", JUDGE),
    ("changes", JUDGE),
    ("explain system.cy10a system.other --step l.i0", JUDGE),
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


def test_what_plans_an_experiment_imports_nothing_that_reads_a_lake() -> None:
    modules = "cli.experiment", "cli.progress", "runner.forecast", "workloads.insert_benchmark.workload"
    program = f"import sys, {', '.join(f'ibench_lib.{m}' for m in modules)}; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    assert not {"duckdb", "pyarrow", "polars", "numpy", "pymysql"} & set(loaded)


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
        heavy = {"duckdb", "pyarrow", "polars", "numpy", "pydantic", "psutil", "plotly", "pandas"}
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
