"""What a worker does with a cell that it is given."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from ibench_lib.run.hosts import worker as remote_worker


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
