"""Names below $TMPDIR, where everybody may write: nobody guesses ours, and a planted one is left alone."""

from __future__ import annotations

import ast
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from ibench_lib.base.scratch import PREFIX, scratch_directory
from ibench_lib.errors import HostUnfit
from ibench_lib.runner import capturing
from ibench_lib.servers import sandbox_directory
from ibench_lib.servers.sandbox_directory import Claim
from ibench_lib.store import reader
from tests.places import ROOT

pytestmark = pytest.mark.lake

KNOWN_PLACES = {
    "base/mask.py": "takes the name out of what is printed",
    "base/scratch.py": "looks for directories of dead processes",
    "cli/main.py": "looks for room with a file without a name",
    "servers/sandbox_directory.py": "a short path for a socket; the name is random, and mkdir fails where it is taken",
}
"""The modules that name a place below $TMPDIR by themselves, and why nobody can be there first."""

GUESSED, FREE = "guessed0", "notknown"


@pytest.fixture
def shared(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A folder for temporary files, in which the first name that is tried is the one that was guessed."""

    def names() -> Iterator[str]:
        yield GUESSED
        yield FREE

    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    monkeypatch.setattr(tempfile, "_get_candidate_names", names)
    return folder


def planted(kind: str, path: Path, victim: Path) -> None:
    victim.mkdir()
    (victim / "mine").touch()
    if kind == "link":
        path.symlink_to(victim)
    elif kind == "link to nothing":
        path.symlink_to(victim / "absent")
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        path.mkdir()
        (path / "mine").touch()


KINDS = ("link", "link to nothing", "pipe", "folder")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("prefix", [PREFIX, capturing._SCRATCH, f"{PREFIX}cell-", f"{PREFIX}options-"])
def test_a_planted_name_is_passed_over(kind: str, prefix: str, shared: Path, tmp_path: Path) -> None:
    planted(kind, shared / f"{prefix}{GUESSED}", tmp_path / "victim")
    before = (shared / f"{prefix}{GUESSED}").lstat()
    with scratch_directory(prefix) as folder:
        assert folder == shared / f"{prefix}{FREE}" and folder.stat().st_mode & 0o777 == 0o700
        (folder / "ours").touch()
    assert not folder.exists()
    assert os.path.samestat((shared / f"{prefix}{GUESSED}").lstat(), before)
    assert [path.name for path in (tmp_path / "victim").iterdir()] == ["mine"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_query_spills_into_no_planted_folder(kind: str, shared: Path, tmp_path: Path) -> None:
    planted(kind, shared / f"{PREFIX}sql-{GUESSED}", tmp_path / "victim")
    assert reader._spill_folder.__wrapped__() == shared / f"{PREFIX}sql-{FREE}"
    assert [path.name for path in (tmp_path / "victim").iterdir()] == ["mine"]


@pytest.mark.parametrize("kind", KINDS)
def test_no_socket_is_made_in_a_planted_folder_which_stays(
    kind: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    shared = tmp_path / "t"
    shared.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(shared) if len(str(shared)) < sandbox_directory._LONG else None)
    letters = os.urandom(4).hex()
    again = iter(letters)
    monkeypatch.setattr(sandbox_directory.secrets, "choice", lambda _letters: next(again))
    socket_dir = Path(tempfile.gettempdir()) / f"{sandbox_directory._SOCKET_PREFIX}{letters}"
    planted(kind, socket_dir, tmp_path / "victim")
    before = socket_dir.lstat()
    try:
        with pytest.raises(HostUnfit):
            Claim(tmp_path / "sandbox")
        assert os.path.samestat(socket_dir.lstat(), before)
        assert [path.name for path in (tmp_path / "victim").iterdir()] == ["mine"]
        assert kind != "folder" or (socket_dir / "mine").exists()
        assert not (tmp_path / "sandbox").exists()
    finally:
        if socket_dir.parent != shared:
            socket_dir.rename(tmp_path / "away")


def names_a_shared_place(source: str) -> bool:
    tree = ast.parse(source)
    return any(
        (isinstance(node, ast.Attribute) and node.attr in ("gettempdir", "gettempdirb", "tempdir", "mktemp"))
        or (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and node.value.startswith(("/tmp", "/var/tmp"))
        )
        or (isinstance(node, ast.Constant) and node.value in ("TMPDIR", "TEMP", "TMP"))
        for node in ast.walk(tree)
    )


def test_no_other_module_makes_up_a_name() -> None:
    library = ROOT / "ibench_lib"
    found = {
        path.relative_to(library).as_posix()
        for path in library.rglob("*.py")
        if names_a_shared_place(path.read_text(encoding="utf-8"))
    }
    assert found - {"servers/sandbox.py"} == KNOWN_PLACES.keys(), "a sandbox only sets $TMPDIR of its server"


@pytest.mark.parametrize(
    "source", ["Path(tempfile.gettempdir(), f'x-{os.getpid()}')", "open('/tmp/x')", "os.environ['TMPDIR']"]
)
def test_a_name_that_is_made_up_is_seen(source: str) -> None:
    assert names_a_shared_place(source)
