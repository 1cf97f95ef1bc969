import subprocess
from pathlib import Path

import pytest

from ibench_lib.capture.proc import ProcFile


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
