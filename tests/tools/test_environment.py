"""tools/environment.py, as far as it goes without installing anything."""

import subprocess
import sys
from pathlib import Path

import pytest

from tools import environment


@pytest.fixture
def checkout(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("IBENCH_CORE", "0")  # no compiler is brought
    (tmp_path / "requirements.lock").write_text("a==1\n")
    (tmp_path / "pyproject.toml").write_text("[project]\n")
    (tmp_path / "hatch_build.py").write_text("")
    (tmp_path / "core.c").write_text("")
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    (tmp_path / ".venv" / "bin" / "python").symlink_to(sys.executable)
    for name, path in {
        "ROOT": tmp_path,
        "LOCK": tmp_path / "requirements.lock",
        "CORES": [tmp_path / "core.c"],
        "VENV": tmp_path / ".venv",
        "VENV_PYTHON": tmp_path / ".venv" / "bin" / "python",
        "STAMP": tmp_path / ".venv" / "ibench-environment",
    }.items():
        monkeypatch.setattr(environment, name, [*map(str, path)] if isinstance(path, list) else str(path))
    return tmp_path


def test_what_is_done_is_not_done_again_until_the_lock_the_place_or_python_changes(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = []
    monkeypatch.setattr(environment, "make_with_pip", lambda: made.append("pip"))
    monkeypatch.setattr(environment.shutil, "which", lambda name: None)
    environment.main()
    environment.main()
    assert made == ["pip"]
    (checkout / "requirements.lock").write_text("a==2\n")
    environment.main()
    environment.main()
    assert len(made) == 2
    (checkout / "core.c").write_text("int changed;")
    environment.main()
    environment.main()
    assert len(made) == 3
    monkeypatch.setattr(environment, "ROOT", str(checkout / "elsewhere"))
    monkeypatch.setattr(environment, "fingerprint", lambda: "of another place")
    environment.main()
    assert len(made) == 4
    (checkout / ".venv" / "bin" / "python").unlink()
    environment.main()
    assert len(made) == 5


def test_an_interrupted_installation_is_not_taken_for_done(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(environment, "make_with_pip", interrupted)
    monkeypatch.setattr(environment.shutil, "which", lambda name: None)
    with pytest.raises(KeyboardInterrupt):
        environment.main()
    assert not environment.is_done(environment.fingerprint())


def test_pip_follows_where_uv_fails(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    monkeypatch.setattr(environment, "make_with_pip", lambda: made.append("pip"))
    monkeypatch.setattr(environment.shutil, "which", lambda name: "/bin/false")
    environment.main()
    assert made == ["pip"]


def test_a_python_that_is_too_old_gets_one_clear_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment, "is_usable", lambda python: False)
    with pytest.raises(SystemExit) as caught:
        environment.find_python()
    assert "needs 3.11 or later" in str(caught.value.code)
    assert "\n" not in str(caught.value.code)


def test_the_tool_needs_nothing_but_the_standard_library() -> None:
    script = Path(environment.__file__)
    run = [sys.executable, "-I", "-S", "-c", f"import runpy; runpy.run_path({str(script)!r}, run_name='tool')"]
    subprocess.run(run, check=True)


@pytest.mark.slow
def test_debians_pip_is_fetched_without_the_library_being_importable(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    code = (
        f"import runpy, sys; tool = runpy.run_path({environment.__file__!r}, run_name='tool')\n"
        f"tool['unpack_pip_package']({str(tmp_path)!r})"
    )
    subprocess.run([sys.executable, "-I", "-S", "-c", code], check=True)
    assert list(tmp_path.glob("root/usr/share/python-wheels/pip-*.whl"))
