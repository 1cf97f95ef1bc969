"""The state of a process: stopped, at work, waiting or ended."""

import os
import signal
import subprocess

from ibench_lib.base.process_state import is_stopped
from tests.waiting import until


def test_only_a_process_that_is_stopped_is() -> None:
    with subprocess.Popen(["sleep", "600"]) as process:
        try:
            assert not is_stopped(process.pid) and not is_stopped(os.getpid())
            process.send_signal(signal.SIGSTOP)
            until(lambda: is_stopped(process.pid), "it is stopped")
            process.send_signal(signal.SIGCONT)
            until(lambda: not is_stopped(process.pid), "it goes on")
        finally:
            process.kill()
    assert not is_stopped(process.pid)
