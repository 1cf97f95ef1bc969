from pathlib import Path

import pytest

from ibench_lib.capture.host import Host, memory_columns, paging_columns, pressure_columns, stat_columns
from ibench_lib.capture.network import Network
from ibench_lib.capture.session import Capture
from tests.capture.scenes import Sink, clock, scene

STAT = b"""cpu  1000 20 300 40000 50 6 7 80 90 10
cpu0 500 10 150 20000 25 3 3 40 45 5
cpu1 500 10 150 20000 25 3 4 40 45 5
intr 123456 0 9 0 0
ctxt 987654321
btime 1700000000
processes 4321
procs_running 3
procs_blocked 2
softirq 11 0 1
"""
MEMINFO = b"""MemTotal:       16000000 kB
MemFree:         1000000 kB
MemAvailable:    9000000 kB
Buffers:           20000 kB
Cached:          5000000 kB
SwapCached:            7 kB
Dirty:               300 kB
Writeback:            40 kB
SwapTotal:       2000000 kB
SwapFree:        1500000 kB
HugePages_Total:       0
"""


def test_proc_stat() -> None:
    assert stat_columns(STAT) == {
        "cpu_user_s": 10.20,
        "cpu_system_s": 3.13,
        "cpu_iowait_s": 0.5,
        "cpu_steal_s": 0.8,
        "cpu_idle_s": 400.0,
        "context_switches": 987654321,
        "interrupts": 123456,
        "runnable": 3,
        "blocked": 2,
    }


def test_proc_pressure_with_and_without_a_line_for_all_tasks() -> None:
    some = b"some avg10=4.52 avg60=6.06 avg300=7.73 total=1844890594\n"
    full = b"full avg10=0.01 avg60=0.53 avg300=4.63 total=515464373\n"
    assert pressure_columns("io", some + full) == {"io_some_pressed_s": 1844.890594, "io_all_pressed_s": 515.464373}
    assert pressure_columns("memory", some) == {"memory_some_pressed_s": 1844.890594, "memory_all_pressed_s": None}
    assert pressure_columns("cpu", some + full) == {"cpu_some_pressed_s": 1844.890594}


def test_a_kernel_without_pressure_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ibench_lib.capture.host.PRESSURES", {"nothing": {b"some": "cpu_some_pressed_s"}})
    sink, watched = Sink(), scene(tmp_path)
    collector = Host(watched, sink)
    collector.open()
    collector.sample(1, clock(watched))
    assert sink["host_samples"][0]["cpu_some_pressed_s"] is None
    reason = "/proc/pressure/nothing: No such file or directory (the kernel needs CONFIG_PSI and psi=1)"
    assert collector.null_reasons["host_samples.cpu_some_pressed_s"] == reason


def test_proc_meminfo_with_and_without_an_estimate_of_what_is_available() -> None:
    assert memory_columns(MEMINFO) == {
        "memory_available_bytes": 9_000_000 * 1024,
        "memory_free_bytes": 1_000_000 * 1024,
        "page_cache_bytes": 5_020_000 * 1024,
        "dirty_bytes": 300 * 1024,
        "writeback_bytes": 40 * 1024,
        "swap_used_bytes": 500_000 * 1024,
    }
    old = MEMINFO.replace(b"MemAvailable:    9000000 kB\n", b"")
    assert memory_columns(old)["memory_available_bytes"] is None


def test_proc_vmstat() -> None:
    text = b"nr_free_pages 5\npgfault 99\npgmajfault 7\npswpin 11\npswpout 13\n"
    assert paging_columns(text) == {"swapped_in_pages": 11, "swapped_out_pages": 13, "major_faults": 7}


@pytest.mark.slow
def test_a_busy_host_is_seen_and_watching_it_costs_little(tmp_path: Path) -> None:
    sink = Sink()
    with Capture(scene(tmp_path), sink, [Host, Network]) as capture:
        while len(sink["host_samples"]) < 2 or len(sink["network_samples"]) < 2:
            pass
    samples = sink["host_samples"]
    first, last = samples[0], samples[-1]
    assert last["tick"] - first["tick"] >= 1
    cpu_s = [row["cpu_user_s"] + row["cpu_system_s"] for row in (first, last)]
    assert cpu_s[1] - cpu_s[0] >= 0.3
    assert last["context_switches"] > first["context_switches"]
    assert last["memory_available_bytes"] > 0
    assert "lo" in {row["interface"] for row in sink["network_samples"]}
    for report in capture.reports():
        assert report.reason is None
    assert report.cpu_s / report.samples < 0.005
