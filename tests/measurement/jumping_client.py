"""The Insert Benchmark's client on a machine whose wall clock is set forward by an hour a second after it started."""

from __future__ import annotations

import time

from ibench_lib.workloads.insert_benchmark.client import make_role

__all__ = ["make_role"]

_JUMP_S = 3600
_real, _real_ns = time.time, time.time_ns
_from_ns = time.monotonic_ns() + 1_000_000_000


def _jump_s() -> int:
    return _JUMP_S if time.monotonic_ns() >= _from_ns else 0


time.time = lambda: _real() + _jump_s()
time.time_ns = lambda: _real_ns() + _jump_s() * 1_000_000_000
