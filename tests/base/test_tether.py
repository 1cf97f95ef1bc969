import subprocess
import sys

import psutil
import pytest

from ibench_lib.base.tether import tethered
from tests.faults import survivors


@pytest.mark.fault("F2")
def test_a_tethered_process_dies_with_its_parent() -> None:
    script = (
        "import subprocess, sys, time; from ibench_lib.base.tether import tethered;"
        "child = subprocess.Popen(tethered(['sleep', '60'])); print(child.pid, flush=True); time.sleep(60)"
    )
    parent = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    child = psutil.Process(int(parent.stdout.readline()))
    parent.kill()
    parent.wait()
    assert survivors([child]) == []


def test_exit_status_and_arguments_pass_through() -> None:
    result = subprocess.run(tethered(["sh", "-c", 'printf "%s" "$1"; exit 3', "sh", "a b"]), capture_output=True)
    assert (result.returncode, result.stdout) == (3, b"a b")


def test_a_command_that_is_not_there_is_named() -> None:
    result = subprocess.run(tethered(["/no/such/program"]), capture_output=True, text=True)
    assert result.returncode == 1
    assert "/no/such/program: No such file" in result.stderr
