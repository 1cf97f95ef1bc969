"""What commands have printed: printed again without computing it, as long as nothing has changed."""

import contextlib
import io
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from ibench_lib import plugins
from ibench_lib.cli import kept
from ibench_lib.paths import LAKE_VARIABLE, Workspace, say_once
from ibench_lib.store import state

RUN = "20261121T070508Z-demo-small-system.cy10a-r1"
WORDS = ("summary", "demo")


@pytest.fixture(autouse=True)
def _place(workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A lake with a file, a library of a file, and an empty cache of the user's."""
    for variable, folder in {"IBENCH_HOME": workspace.root, "XDG_CACHE_HOME": tmp_path / "cache"}.items():
        monkeypatch.setenv(variable, str(folder))
    monkeypatch.setattr(state, "YOUNG_NS", 0)
    monkeypatch.setattr(state, "PACKAGE", tmp_path / "library")
    for file in (tmp_path / "library" / "analysis.py", workspace.runs / RUN / "steps.parquet"):
        file.parent.mkdir(parents=True)
        file.write_text("content")


@pytest.fixture(name="folder")
def _folder(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "ibench" / "printed"


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def _print(
    words: tuple[str, ...] = WORDS,
    code: int = 0,
    meanwhile: Callable[[], object] = lambda: None,
    stream: io.StringIO | None = None,
) -> str:
    """What is printed to both streams; ` (computed)` follows where it was computed."""
    both, computed = stream or io.StringIO(), []

    def command() -> None:
        computed.append(" (computed)")
        print("12 % [faster]", file=sys.stdout)
        with pytest.raises(TypeError):
            sys.stdout.write(b"")  # type: ignore[arg-type]  # so libraries find out what a stream takes
        print("left out: r2", file=sys.stderr)
        assert not hasattr(sys.stdout, "buffer")
        sys.stdout.writelines(["end", "\n"])
        meanwhile()
        sys.exit(code)

    with contextlib.redirect_stdout(both), contextlib.redirect_stderr(both), contextlib.suppress(SystemExit):
        kept.printed(words, command)
    return both.getvalue() + "".join(computed)


SAID = "12 % [faster]\nleft out: r2\nend\n"


def test_the_same_is_printed_again_and_computed_once(folder: Path) -> None:
    assert [_print(), _print(), _print()] == [f"{SAID} (computed)", SAID, SAID]
    assert len(list(folder.iterdir())) == 1 and folder.stat().st_mode & 0o777 == 0o700


def _rewrite(file: Path) -> None:
    """Other content of the same size, with the same time of modification."""
    before = file.stat()
    file.write_text(file.read_text().upper())
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))


CHANGES: dict[str, Callable[[Workspace, Path], object]] = {
    "a file of a run": lambda here, _: _rewrite(here.runs / RUN / "steps.parquet"),
    "a file less": lambda here, _: (here.runs / RUN / "steps.parquet").unlink(),
    "a note": lambda here, _: (here.runs / RUN / "annotations.json").write_text("{}"),
    "a new run": lambda here, _: (here.runs / f"{RUN}2").mkdir(),
    "a link": lambda here, _: (here.runs / f"{RUN}2").symlink_to(here.runs / RUN),
    "a sample": lambda here, _: (here.sample / RUN).mkdir(parents=True),
    "an experiment": lambda here, _: shutil.copytree(here.runs / RUN, here.root / "experiments"),
    "the library": lambda _, tmp_path: _rewrite(tmp_path / "library" / "analysis.py"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_of_any_file_is_noticed(change: str, workspace: Workspace, tmp_path: Path) -> None:
    _print()
    CHANGES[change](workspace, tmp_path)
    assert _print() == f"{SAID} (computed)"
    assert _print() == SAID


def test_other_words_another_environment_or_terminal_is_another_output(monkeypatch: pytest.MonkeyPatch) -> None:
    _print()
    assert "computed" in _print(("summary", "other")) and "computed" in _print(("stalls", "demo"))
    with monkeypatch.context() as patch:
        patch.setenv("NO_COLOR", "1")
        assert "computed" in _print()
    assert "computed" in _print(stream=_Terminal())
    monkeypatch.setattr(sys, "path", [str(Path(__file__).parent), *sys.path])
    assert "computed" in _print()


def test_nothing_is_kept_of_what_may_change_without_showing_it(
    workspace: Workspace, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(2):
        assert "computed" in _print(("sql", "SELECT now()")) and "computed" in _print(("runs",))
        assert "computed" in _print(code=2)
        assert "computed" in _print(meanwhile=(workspace.runs / RUN / "more.parquet").touch)
        (workspace.runs / RUN / "more.parquet").unlink()
        with monkeypatch.context() as patch:
            patch.setenv(LAKE_VARIABLE, str(workspace.data))
            assert "computed" in _print()
        with monkeypatch.context() as patch:
            patch.setattr(state, "YOUNG_NS", 3600 * 10**9)
            assert "computed" in _print()
        with monkeypatch.context() as patch:
            patch.setattr(plugins, "added", lambda kind: {"queue": "acme"} if kind == "workloads" else {})
            assert "computed" in _print()
        say_once.cache_clear()
        assert "computed" in _print(meanwhile=lambda: say_once("the index is damaged"))
        (workspace.runs / RUN / "journal").mkdir()
        assert "computed" in _print()
        (workspace.runs / RUN / "journal").rmdir()
    assert not folder.exists() or not list(folder.iterdir())


def test_only_the_users_own_files_are_printed(folder: Path, tmp_path: Path) -> None:
    _print()
    (file,) = folder.iterdir()
    good = file.read_text()
    for content in ("", "[", "1", '[[7, "x"]]', "[1]", good[:-1]):
        file.write_text(content)
        assert _print() == f"{SAID} (computed)", content
    planted = tmp_path / "planted"
    planted.write_text(json.dumps([[1, "planted"]]))
    file.unlink()
    file.symlink_to(planted)
    assert _print() == f"{SAID} (computed)"
    file.write_text(good)
    folder.chmod(0o777)
    assert _print() == f"{SAID} (computed)"


def test_a_cache_that_cannot_be_written_is_done_without(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.parent.parent.touch()
    assert _print() == _print() == f"{SAID} (computed)"


def test_the_oldest_outputs_go(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "_MOST", 3)
    for number in range(5):
        _print(("summary", str(number)))
    assert len(list(folder.iterdir())) == 3
    assert "computed" not in _print(("summary", "4")) and "computed" in _print(("summary", "0"))


def test_what_prints_them_imports_nothing_that_computes() -> None:
    program = "import sys, ibench_lib.cli.main; print(*{name.partition('.')[0] for name in sys.modules})"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    assert not {"typer", "rich", "pydantic", "duckdb", "polars", "pyarrow", "numpy", "ruamel"} & set(loaded)
