"""Where the browser is found."""

from pathlib import Path

import pytest

from ibench_lib.base import chromium, debian
from ibench_lib.base.chromium import VARIABLE, find_chromium, install_chromium
from ibench_lib.errors import IbenchError
from ibench_lib.paths import Workspace


def test_the_named_program_comes_before_that_on_path_and_the_unpacked_one_is_last(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setattr(chromium, "_FOLDERS", "")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    assert find_chromium(workspace) is None
    launcher = workspace.build_dir("chromium") / "chromium-unpacked"
    launcher.parent.mkdir(parents=True)
    launcher.touch()
    assert find_chromium(workspace) == launcher
    program = tmp_path / "bin" / "chromium"
    program.parent.mkdir()
    program.touch(mode=0o755)
    assert find_chromium(workspace) == program
    monkeypatch.setenv(VARIABLE, "/opt/my-chrome")
    assert find_chromium(workspace) == Path("/opt/my-chrome")


def test_without_apt_the_hint_says_what_to_do(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(debian, "has_apt", lambda: False)
    with pytest.raises(IbenchError, match="no apt-get on this machine") as refused:
        install_chromium(workspace)
    assert VARIABLE in (refused.value.hint or "")
