import os
import signal
import threading

import pytest

from ibench_lib.base.signals import Patience, signals_as_interrupts, signals_held_back


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_interrupts_once_and_the_handlers_come_back(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    with pytest.raises(KeyboardInterrupt), signals_as_interrupts():
        try:
            os.kill(os.getpid(), number)
        finally:
            os.kill(os.getpid(), number)  # is ignored while the run is wound up
    assert signal.getsignal(number) is before


def test_the_first_ctrl_c_only_asks() -> None:
    told: list[str] = []
    patience = Patience(lambda: told.append("asked"))
    with pytest.raises(KeyboardInterrupt), signals_as_interrupts(patience):
        os.kill(os.getpid(), signal.SIGINT)
        assert patience.asked_to_stop and told == ["asked"]
        os.kill(os.getpid(), signal.SIGINT)
    assert told == ["asked"]


def test_signals_wait_until_the_work_is_done_whatever_thread_gets_them() -> None:
    done, over = False, threading.Event()
    other = threading.Thread(target=over.wait)
    other.start()
    arrived, arrives = os.pipe()
    os.set_blocking(arrives, False)
    before = signal.set_wakeup_fd(arrives)
    try:
        with pytest.raises(KeyboardInterrupt), signals_as_interrupts(), signals_held_back():
            assert other.ident is not None
            signal.pthread_kill(other.ident, signal.SIGTERM)
            assert os.read(arrived, 1), "it has arrived, and waits"
            done = True
    finally:
        signal.set_wakeup_fd(before)
        over.set()
        other.join()
        os.close(arrived)
        os.close(arrives)
    assert done
