import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from ibench_lib.capture.devices import Devices, devices
from ibench_lib.capture.session import Capture
from tests.capture.scenes import Sink, clock, scene, until_sampled
from tests.waiting import until

DISKSTATS = b"""   7       0 loop0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
 253       0 zram0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
 259       0 nvme0n1 100 5 2048 1500 200 7 4096 2500 3 3000 4000 9 0 8 1 50 600
 259       1 nvme0n1p1 99 5 2040 1400 199 7 4090 2400 0 2900 3900 9 0 8 1 0 0
   8       0 sda 1 0 8 2 3 0 16 4 0 5 6
"""
MIB = 1 << 20


def test_diskstats_of_new_and_old_kernels() -> None:
    by_name = {row.pop("device"): row for row in devices(DISKSTATS)}
    assert list(by_name) == ["loop0", "zram0", "nvme0n1", "nvme0n1p1", "sda"]
    assert by_name["nvme0n1"] == {
        "reads": 100,
        "read_bytes": 2048 * 512,
        "read_s": 1.5,
        "writes": 200,
        "written_bytes": 4096 * 512,
        "write_s": 2.5,
        "in_flight": 3,
        "busy_s": 3.0,
        "queue_s": 4.0,
        "flushes": 50,
        "flush_s": 0.6,
    }
    assert by_name["sda"]["flushes"] is None and by_name["sda"]["queue_s"] == 0.006


class Text:
    def __init__(self, text: bytes) -> None:
        self.text = text

    def read(self) -> bytes:
        return self.text


def test_whole_devices_only_and_no_idle_virtual_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("loop0", "zram0", "nvme0n1", "sda"):
        (tmp_path / name).mkdir()
    monkeypatch.setattr(Devices, "block", tmp_path)
    monkeypatch.setattr("ibench_lib.capture.devices.device_below", lambda _path: ("nvme0n1", None))
    sink, watched = Sink(), scene(tmp_path, datadir=tmp_path)
    collector = Devices(watched, sink)
    collector.open()
    collector._stats = Text(DISKSTATS)  # type: ignore[assignment]
    collector.sample(1, clock(watched))
    assert [(row["device"], row["holds_data"]) for row in sink["device_samples"]] == [
        ("nvme0n1", True),
        ("sda", False),
    ]
    assert collector.null_reasons == {
        "device_samples.flushes": "this kernel, before 5.5, does not count flushes",
        "device_samples.flush_s": "this kernel, before 5.5, does not count flushes",
    }


def test_a_virtual_device_comes_with_what_it_had_before_its_first_activity(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "loop0").mkdir()
    monkeypatch.setattr(Devices, "block", tmp_path)
    sink, watched = Sink(), scene(tmp_path)
    collector = Devices(watched, sink)
    collector.open()
    for tick, sectors in enumerate((8, 8, 24, 24), start=1):
        line = f"7 0 loop0 0 0 0 0 {sectors // 8} 0 {sectors} 1 0 1 1 0 0 0 0 0 0\n"
        collector._stats = Text(line.encode())  # type: ignore[assignment]
        collector.sample(tick, clock(watched))
    assert [(row["tick"], row["written_bytes"]) for row in sink["device_samples"]] == [
        (2, 4096),
        (3, 12288),
        (4, 12288),
    ]


def test_where_there_is_no_device_nothing_is_marked_and_it_says_why(tmp_path: Path) -> None:
    sink = Sink()
    with Capture(scene(tmp_path, datadir=Path("/dev/shm")), sink, [Devices]) as capture:
        until(lambda: sink["device_samples"], "a sample")
    assert not any(row["holds_data"] for row in sink["device_samples"])
    reason = capture.null_reasons()["device_samples.holds_data"]
    assert reason == "no device is marked: /dev/shm lies on a file system (tmpfs) without a block device of its own"


@pytest.fixture
def loop_device(tmp_path: Path) -> Iterator[Path]:
    """A loop device on a file of 300 MiB."""
    if os.geteuid() != 0:
        pytest.skip("attaching a loop device needs root")
    backing = tmp_path / "backing"
    with open(backing, "wb") as file:
        os.posix_fallocate(file.fileno(), 0, 300 * MIB)
    command = ["losetup", "--find", "--show", str(backing)]
    made = subprocess.run(command, capture_output=True, text=True, check=False)
    if made.returncode != 0:
        pytest.skip(f"no loop device here: {made.stderr.strip()}")
    device = Path(made.stdout.strip())
    try:
        yield device
    finally:
        subprocess.run(["losetup", "--detach", str(device)], check=True)


@pytest.mark.measurement("M12")
@pytest.mark.slow
def test_direct_writes_are_captured_within_one_percent(loop_device: Path, tmp_path: Path) -> None:
    written = 256 * MIB
    sink = Sink()
    watched = scene(tmp_path, datadir=tmp_path)
    with Capture(watched, sink, [Devices]) as capture:
        until(lambda: sink["device_samples"], "a sample")
        command = ["dd", "if=/dev/zero", f"of={loop_device}", "bs=1M", "count=256", "oflag=direct", "conv=notrunc"]
        subprocess.run(command, check=True, capture_output=True)
        until_sampled(lambda: sink["device_samples"], watched)
    mine = [row for row in sink["device_samples"] if row["device"] == loop_device.name]
    assert mine[-1]["written_bytes"] - mine[0]["written_bytes"] == pytest.approx(written, rel=0.01)
    assert mine[-1]["busy_s"] > mine[0]["busy_s"] and mine[-1]["writes"] > mine[0]["writes"]
    (report,) = capture.reports()
    assert report.cpu_s / report.samples < 0.005
