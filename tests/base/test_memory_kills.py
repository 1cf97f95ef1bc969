"""Kills for lack of memory, as the kernel counts them."""

from pathlib import Path

import pytest

from ibench_lib.base import memory_kills as module
from ibench_lib.base.memory_kills import killed_since, memory_kills


def test_kills_are_those_that_the_kernel_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counters = tmp_path / "vmstat"
    monkeypatch.setattr(module, "_COUNTERS", counters)
    assert memory_kills() is None and killed_since(None) is killed_since(3) is None
    counters.write_text("nr_free_pages 12\noom_kill 3\noom_kill_disable 9\n")
    assert memory_kills() == 3 and killed_since(3) is None
    assert killed_since(2) == "meanwhile the kernel killed 1 process of this host for lack of memory"
    assert killed_since(1) == "meanwhile the kernel killed 2 processes of this host for lack of memory"
    for odd in ("nr_free_pages 12\n", "oom_kill many\n", ""):
        counters.write_text(odd)
        assert memory_kills() is None and killed_since(0) is None
