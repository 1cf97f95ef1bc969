"""A kernel that was started early: it runs notebooks, leaves nothing behind, and its end is noticed."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from ibench_lib.paths import Workspace
from ibench_lib.publish.execution import run_notebook
from ibench_lib.publish.kernel import connection_file, started_kernel
from tests.faults import survivors
from tests.publish.kernels import notebook
from tests.synthetic import Run, write_runs
from tests.waiting import until

pytestmark = pytest.mark.slow


def test_it_runs_in_its_own_directory_with_the_lake_of_its_workspace(tmp_path: Path) -> None:
    source = notebook(tmp_path, "number = 1", "import os; print(number, os.getcwd(), os.environ['IBENCH_HOME'])")
    with started_kernel(tmp_path) as kernel:
        assert stat.S_IMODE(kernel.private.stat().st_mode) == 0o700
        assert json.loads(connection_file(kernel.private).read_text())["transport"] == "ipc"
        ran = run_notebook(source, tmp_path / "ran.ipynb", {"number": 2}, kernel)
        assert ran.cells[-1].outputs[0].text.split() == ["2", str(kernel.private), str(tmp_path)]
        process = psutil.Process(kernel.process.pid)
    assert not kernel.private.exists() and not process.is_running()


def test_one_that_waits_opens_the_lake_when_it_is_told_to(tmp_path: Path) -> None:
    place = Workspace(tmp_path)
    write_runs(place, Run())

    def written() -> list[Path]:
        return list(place.data.glob(".*"))  # whoever opens a lake keeps its views, or its index

    with started_kernel(tmp_path, waits=True) as kernel:
        until_idle(psutil.Process(kernel.process.pid))
        assert written() == []
        kernel.open_lake()
        until(written, "the kernel has opened the lake")


def until_idle(process: psutil.Process) -> None:
    """Until it has imported, and no longer uses the CPU."""
    used = [0.0]

    def is_idle() -> bool:
        used.append(sum(process.cpu_times()[:2]))
        return used[-1] > 0.5 and len(used) > 20 and used[-1] - used[-20] < 0.01

    until(is_idle, "a kernel waits")


ORPHAN = """
import os, signal, sys
from pathlib import Path
from ibench_lib.publish.kernel import started_kernel
with started_kernel(Path(sys.argv[1])) as kernel:
    print(kernel.process.pid, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_it_ends_with_a_builder_that_is_killed_while_it_starts(tmp_path: Path, adopting: None) -> None:
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    command = [sys.executable, "-c", ORPHAN, str(tmp_path)]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as builder:
        assert builder.stdout is not None
        kernel = psutil.Process(int(builder.stdout.readline()))
        assert builder.wait() == -signal.SIGKILL
    try:
        assert survivors([kernel]) == []
    finally:
        with contextlib.suppress(psutil.NoSuchProcess):
            kernel.kill()


@pytest.fixture
def adopting() -> Iterator[None]:
    """Orphans become children of this process, as they do below a user's systemd: the parent is not process 1."""
    libc = ctypes.CDLL(None)
    libc.prctl(36, 1, 0, 0, 0)
    yield
    libc.prctl(36, 0, 0, 0, 0)
