"""Temporary directories that go with their process."""

import os
import stat
import subprocess
import sys
from pathlib import Path

from ibench_lib.base.scratch import MARKER, scratch_directory, sweep_scratch
from tests.places import ROOT


def test_it_is_private_and_gone_in_the_end_whatever_is_in_it(tmp_path: Path) -> None:
    with scratch_directory("x-", tmp_path) as folder:
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        (folder / "deep").mkdir()
        (folder / "deep" / "file").touch()
        (folder / "link").symlink_to(tmp_path)
        assert sweep_scratch("x-", tmp_path) == [], "its process lives"
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_process_leaves_is_removed_and_nothing_else(tmp_path: Path) -> None:
    program = (
        "import os, sys; from pathlib import Path; from ibench_lib.base.scratch import scratch_directory\n"
        "with scratch_directory('x-', Path(sys.argv[1])): os.kill(os.getpid(), 9)"
    )
    subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)], env={**os.environ, "PYTHONPATH": str(ROOT)}, check=False
    )
    (left,) = tmp_path.iterdir()
    (tmp_path / "x-of-the-user").mkdir()
    (tmp_path / "x-file").touch()
    assert (left / MARKER).is_file()
    assert sweep_scratch("x-", tmp_path) == [left] and not left.exists()
    assert {path.name for path in tmp_path.iterdir()} == {"x-of-the-user", "x-file"}
