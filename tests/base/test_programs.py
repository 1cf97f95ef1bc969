from pathlib import Path

import pytest

from ibench_lib.base import programs
from ibench_lib.errors import IbenchError


def test_what_a_program_says_on_both_streams_is_kept_in_order(tmp_path: Path) -> None:
    done = programs.run("sh", ["sh", "-c", "echo one; echo two >&2; pwd; exit 3"], tmp_path)
    assert (done.returncode, done.stdout.split()) == (3, ["one", "two", str(tmp_path)])


def test_a_program_that_does_not_end_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "_TIMEOUT_S", 0.1)
    with pytest.raises(IbenchError, match=r"the sleeper did not finish within 0\.1 s"):
        programs.run("the sleeper", ["sleep", "600"])


def test_a_program_that_is_not_there_is_an_error_of_the_system() -> None:
    with pytest.raises(FileNotFoundError):
        programs.run("nothing", ["/no/such/program"])
