from pathlib import Path

import pytest

from ibench_lib.base import programs
from ibench_lib.errors import IbenchError, ServerStartDisturbed, ServerStartError


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


def test_a_server_binary_that_cannot_answer_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(ServerStartError, match=r"the binary: .*No such file"):
        programs.ask_server_binary(["/no/such/program"], "the binary", {})
    monkeypatch.setattr(programs, "_OF_BINARY_S", 0.1)
    with pytest.raises(ServerStartDisturbed, match=r"the binary: .*timed out"):
        programs.ask_server_binary(["sleep", "600"], "the binary", {})


def test_a_server_binary_gets_nothing_of_the_users(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MINE", "1")
    done = programs.ask_server_binary(["env"], "the binary", {"OF_BUILD": "2"}, tmp_path)
    assert set(done.stdout.split()) == {"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C", "OF_BUILD=2"}
