"""The command in a process of its own."""

import subprocess
import sys
from types import SimpleNamespace

import pytest

from ibench_lib.paths import Workspace
from tests.publish.posting import ROOT


def command(workspace: Workspace, monkeypatch: pytest.MonkeyPatch, *words: str) -> SimpleNamespace:
    monkeypatch.setenv("IBENCH_HOME", str(workspace.root))
    done = subprocess.run(
        [sys.executable, "-c", "from ibench_lib.cli.main import main; main()", *words],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    return SimpleNamespace(code=done.returncode, out=done.stdout, err=done.stderr)
