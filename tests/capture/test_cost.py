"""What all collectors together take of a core: CPU time, which other work on the machine does not change."""

import time
from pathlib import Path

import pytest

from ibench_lib.capture.collector import Unavailable
from ibench_lib.capture.options import CaptureOptions
from ibench_lib.capture.session import collectors
from tests.capture.scenes import Booted, Sink, clock, scene

ROUNDS = 10


@pytest.mark.measurement("M17")
def test_all_collectors_take_less_than_two_percent_of_a_core(running: Booted, tmp_path: Path) -> None:
    watched = scene(tmp_path, running.address.arguments(), running.pid, datadir=running.box.datadir)
    now_s, share = clock(watched), {}
    for name, kind in collectors("mysql").items():
        if not kind.wanted(CaptureOptions()):
            continue
        collector = kind(watched, Sink())
        try:
            collector.open()
        except Unavailable:  # what this machine does not have costs nothing
            continue
        try:
            collector.sample(1, now_s)  # the first sample prepares what the others use
            begin = time.thread_time()
            for tick in range(2, 2 + ROUNDS):
                collector.sample(tick, now_s)
            share[name] = (time.thread_time() - begin) / ROUNDS / kind.every_s
        finally:
            collector.close()
    assert {"host", "process", "server_counters"} <= share.keys()
    assert sum(share.values()) < 0.02, share
