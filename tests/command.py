"""The command as its user meets it, in this process: what it prints, and its exit code."""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys

import pytest

from ibench_lib.cli import kept, output
from ibench_lib.cli import main as cli
from ibench_lib.paths import Workspace

PROGRAM = "from ibench_lib.cli.main import main; main()"


def ibench(
    workspace: Workspace, *arguments: str, stdin: str = "", **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run `ibench` with these arguments. An exception that is no message to the user is raised here.

    Tests for which the border of the process matters run PROGRAM instead.
    """
    out, err, code = io.StringIO(), io.StringIO(), 0
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        for name, value in {"IBENCH_HOME": str(workspace.root), "COLUMNS": "200", **environment}.items():
            patch.setenv(name, value)
        patch.setattr(sys, "stdin", io.StringIO(stdin))
        patch.setattr(sys, "argv", ["ibench", *arguments])
        patch.setattr(kept, "COMMANDS", ())  # a test may have replaced what computes
        patch.setattr(output.err, "width", 200)
        patch.setattr(output.out, "width", 1000)
        try:
            cli.main()
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    return subprocess.CompletedProcess(["ibench", *arguments], code, out.getvalue(), err.getvalue())


_WATCHED = """
import json, sys
started = []
def watch(event, given):
    if event == "subprocess.Popen":
        started.append([str(word) for word in given[1]])
sys.addaudithook(watch)
sys.argv[0] = "ibench"
from ibench_lib.cli import main
try:
    main.main()
except SystemExit:
    pass
print(json.dumps([sorted(sys.modules), started]))
"""


def watched(workspace: Workspace, *arguments: str, **environment: str) -> tuple[set[str], list[list[str]]]:
    """Run `ibench` in a process of its own: the modules that it has imported, and the commands that it has started."""
    done = subprocess.run(
        [sys.executable, "-c", _WATCHED, *arguments],
        env={**os.environ, "IBENCH_HOME": str(workspace.root), **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    assert not done.stderr, done.stderr
    modules, started = json.loads(done.stdout.splitlines()[-1])
    return set(modules), started


def refused(result: subprocess.CompletedProcess[str], *words: str) -> None:
    """Exit code 2, the words in what was said, and no stack trace."""
    assert result.returncode == 2, result.stderr
    said = result.stdout + result.stderr
    assert "Traceback" not in said
    for word in words:
        assert word in said, said


def completed(line: str, shell: str = "bash", before: str = "", **others: str) -> list[str]:
    """What a shell is given for the end of a line.

    `before`: what Python runs first. `others`: more of the environment.
    """
    words = line.split(" ")
    asked = {
        "bash": {"COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)},
        "fish": {"_TYPER_COMPLETE_ARGS": line, "_TYPER_COMPLETE_FISH_ACTION": "get-args"},
        "zsh": {"_TYPER_COMPLETE_ARGS": line},
    }[shell]
    environment = {**os.environ, "_IBENCH_COMPLETE": f"complete_{shell}", **asked, **others}
    program = f"import sys; sys.argv = ['ibench']; {before}{PROGRAM}"
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False)
    assert not done.stderr, done.stderr
    return done.stdout.split() if shell == "bash" else done.stdout.splitlines()
