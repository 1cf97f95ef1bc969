"""What a worker does with a cell that it is given."""

import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from ibench_lib.runner.hosts import worker as remote_worker
from tests.command import PROGRAM
from tests.waiting import PATIENCE_S, until


def catches(pid: int, number: signal.Signals) -> bool:
    """Whether a process has a handler for a signal."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    (mask,) = (int(line.split()[1], 16) for line in lines if line.startswith("SigCgt"))
    return bool(mask >> (number - 1) & 1)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_worker_that_waits_for_a_dead_scheduler_can_be_ended(number: signal.Signals) -> None:
    """Nothing listens on port 1. SIGTERM is caught as soon as the worker's loop runs, and so is SIGINT then."""
    command = [sys.executable, "-c", PROGRAM, "worker", "tcp://127.0.0.1:1"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    until(lambda: catches(process.pid, signal.SIGTERM), "the worker waits for its scheduler")
    process.send_signal(number)
    _, said = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 1 and "ended before the scheduler had answered" in said, said


def test_a_restarted_worker_does_not_run_what_was_meant_for_the_one_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("distributed.get_worker", lambda: SimpleNamespace(id="new"))
    assert remote_worker.ask("no_such_module", "{}", "old") == {"worker": "new", "not_me": True}
    answer = remote_worker.ask("no_such_module", "{}", "new")
    assert "No module named no_such_module" in answer["error"]["what"] and answer["error"]["kind"] == "RunFailed"


def test_a_cell_process_ended_from_outside_has_not_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "ended.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGTERM)\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr("distributed.get_worker", lambda: SimpleNamespace(id="here"))
    error = remote_worker.ask("ended", "{}", None)["error"]
    assert error["kind"] == "Interrupted" and "signal 15" in error["what"]
