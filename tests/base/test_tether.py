import os
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


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a process another user")
def test_a_process_of_another_user_is_tethered_too() -> None:
    script = (
        "import signal, subprocess, sys, time; from ibench_lib.base.tether import tethered;"
        "signal.signal(signal.SIGQUIT, signal.SIG_IGN);"
        "print(subprocess.run(tethered(['id', '-u'], (65534, 65534)), capture_output=True, text=True).stdout.strip());"
        "trap = 'trap \"echo asked; exit\" QUIT; echo $$; while :; do sleep 0.05; done';"
        "child = subprocess.Popen(tethered(['sh', '-c', trap], (65534, 65534), signal.SIGQUIT)); time.sleep(60)"
    )
    parent = subprocess.Popen([sys.executable, "-u", "-c", script], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    assert parent.stdout.readline().strip() == "65534"
    child = psutil.Process(int(parent.stdout.readline()))
    assert child.uids().real == 65534
    parent.kill()
    parent.wait()
    assert survivors([child]) == []
    assert parent.stdout.read() == "asked\n", "the signal that was wanted"


def test_exit_status_and_arguments_pass_through() -> None:
    result = subprocess.run(tethered(["sh", "-c", 'printf "%s" "$1"; exit 3', "sh", "a b"]), capture_output=True)
    assert (result.returncode, result.stdout) == (3, b"a b")


def test_a_command_that_is_not_there_is_named() -> None:
    result = subprocess.run(tethered(["/no/such/program"]), capture_output=True, text=True)
    assert result.returncode == 1
    assert "/no/such/program: No such file" in result.stderr
