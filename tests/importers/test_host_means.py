"""The files of iostat and vmstat next to a log become costs of its step, over real seconds."""

from __future__ import annotations

from pathlib import Path

import pytest

from ibench_lib.importers.host_means import HostMeans, log_of, sidecar_of
from ibench_lib.importers.lines import LineBlocks
from tests.importers.host_text import iostat, vmstat


def blocks(text: str | bytes) -> LineBlocks:
    return LineBlocks(Path("o.io"), [text.encode() if isinstance(text, str) else text])


def means(iostat_text: str | None = None, vmstat_text: str | None = None) -> HostMeans:
    found = HostMeans()
    for kind, text in (("iostat", iostat_text), ("vmstat", vmstat_text)):
        if text is not None:
            found.add(f"a.{kind}.txt", kind, blocks(text))
    return found


def test_means_of_samples_are_the_costs_of_a_step_with_real_seconds() -> None:
    """Of 4 s, 2 samples are of 2 s each. The first sample of iostat is of the time since boot."""
    rows, said = means(iostat([9, 100, 300]), vmstat([1000, 3000])).costs("a.t4", 10.0, 4.1)
    grown = {(row["source"], row["name"], row["counter"]): row["end_value"] for row in rows}
    assert said == [] and {(row["start_s"], row["end_s"]) for row in rows} == {(10.0, 14.0)}
    assert grown["device", "vda", "reads"] == 800 and grown["host", "", "context_switches"] == 8000
    assert grown["host", "", "cpu_user_s"] == pytest.approx(0.6 * 2 * 4)


def test_samples_of_another_time_or_of_several_devices_are_no_costs() -> None:
    rows, said = means(None, vmstat([1000] * 90)).costs("a.t4", 0.0, 60.0)
    assert rows == [] and said == ["90 samples of vmstat are not of its 60 s: left out"]
    rows, said = means(iostat([9, 100, 300], devices=("vda", "vdb"))).costs("a.t4", 0.0, 2.0)
    assert rows == [] and "nothing says which device held the data, vda and vdb did something" in said[0]
    idle = iostat([9, 100, 300], devices=("vda", "loop0"))
    at_rest = "\n".join(
        " ".join("0.00" if word != "loop0" else word for word in line.split()) if line.startswith("loop0") else line
        for line in idle.split("\n")
    )
    assert list(means(at_rest).devices) == ["vda"], "a device that does nothing holds no data"


def test_a_file_next_to_a_log_is_called_as_it_is() -> None:
    assert sidecar_of("a/Tier32G_RW_64th.iostat.txt") == ("a/Tier32G_RW_64th.txt", "iostat")
    assert sidecar_of("a/Tier32G_RW_64th.sysbench.txt") is None and sidecar_of("a/notes.txt") is None
    assert sidecar_of("x/sb.vm.scan.range100.pk1.dop4") == ("x/sb..scan.range100.pk1.dop4", "vmstat")
    assert log_of("x/sb.o.scan.range100.pk1.dop4") == "x/sb..scan.range100.pk1.dop4"
    assert log_of("a/Tier32G_RW_64th.sysbench.txt") == "a/Tier32G_RW_64th.txt" and log_of("run.log") == "run.log"
