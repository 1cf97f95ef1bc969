import os
import time

from ibench_lib.client.coupling import WINDOW, make_pair


def test_the_inserter_is_never_more_than_the_window_ahead() -> None:
    inserter, deleter = make_pair()
    soon = time.monotonic_ns() + 20_000_000
    ahead = 0
    while inserter.take(soon):
        inserter.give()
        ahead += 1
    assert ahead == WINDOW
    assert deleter.take(None)
    deleter.give()
    assert inserter.take(None)
    for side in (inserter, deleter):
        os.close(side.take_fd)


def test_the_deleter_waits_for_the_inserter_until_its_deadline() -> None:
    inserter, deleter = make_pair()
    deadline = time.monotonic_ns() + 30_000_000
    assert not deleter.take(deadline)
    assert time.monotonic_ns() >= deadline
    for side in (inserter, deleter):
        os.close(side.take_fd)
