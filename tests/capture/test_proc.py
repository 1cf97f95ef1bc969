import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ibench_lib.capture import proc
from ibench_lib.capture.proc import ProcFile, children_of


def test_a_file_is_read_as_it_is_now(tmp_path: Path) -> None:
    path = tmp_path / "stat"
    path.write_bytes(b"first")
    file = ProcFile(str(path))
    assert file.read() == b"first"
    path.write_bytes(b"x" * 200_000)
    assert file.read() == b"x" * 200_000, "however many reads that takes"
    file.close()
    file.close()


def test_a_process_that_has_ended_is_an_error_when_it_is_read() -> None:
    process = subprocess.Popen(["sleep", "600"])
    file = ProcFile(f"/proc/{process.pid}/stat")
    assert file.read().startswith(f"{process.pid} (sleep)".encode())
    process.kill()
    process.wait()
    with pytest.raises(OSError):
        file.read()


def test_a_file_that_is_not_there_is_an_error_at_once() -> None:
    with pytest.raises(FileNotFoundError):
        ProcFile("/proc/no/such/file")


@pytest.mark.parametrize("lists", [True, False])
def test_children_are_found_with_or_without_the_kernels_lists(monkeypatch: pytest.MonkeyPatch, lists: bool) -> None:
    if not lists:
        monkeypatch.setattr(proc, "_CHILDREN", "/proc/{pid}/task/{pid}/no_such_list")
    proc._lists_children.cache_clear()
    try:
        program = "import os, time; os.fork(); print(flush=True); time.sleep(600)"
        parent = subprocess.Popen([sys.executable, "-S", "-c", program], stdout=subprocess.PIPE, start_new_session=True)
        assert parent.stdout is not None
        parent.stdout.readline()
        parent.stdout.readline()
        (child,) = children_of(parent.pid)
        assert parent.pid in children_of(os.getpid()) and children_of(child) == []
        os.killpg(parent.pid, signal.SIGKILL)
        parent.wait()
        assert children_of(parent.pid) == []
    finally:
        proc._lists_children.cache_clear()
