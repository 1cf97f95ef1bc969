"""The files of iostat, vmstat, mpstat and dstat next to a log become costs of its step, over real seconds, once."""

from __future__ import annotations

from pathlib import Path

import pytest

from ibench_lib.importers.host_means import HostMeans, log_of, sidecar_of
from ibench_lib.importers.lines import LineBlocks
from tests.importers.host_text import dstat, dstat_csv, iostat, mpstat, vmstat


def blocks(text: str | bytes) -> LineBlocks:
    return LineBlocks(Path("o.io"), [text.encode() if isinstance(text, str) else text])


def means(iostat_text: str | None = None, vmstat_text: str | None = None, **others: str) -> HostMeans:
    found = HostMeans()
    for kind, text in {"iostat": iostat_text, "vmstat": vmstat_text, **others}.items():
        if text is not None:
            found.add(f"a.{kind}.txt", kind, blocks(text))
    return found


def grown_in(found: HostMeans, duration_s: float) -> dict[tuple[str, str, str], float]:
    """By how much each counter grew. None is there twice."""
    rows, said = found.costs("a.t4", 10.0, duration_s)
    names = [(row["source"], row["name"], row["counter"]) for row in rows]
    assert said == [] and len({*names}) == len(names)
    return {name: row["end_value"] for name, row in zip(names, rows, strict=True)}


def test_mpstat_has_the_cpu_time_if_vmstat_does_not_have_it() -> None:
    """vmstat prints shares, and only the first lines of iostat and mpstat say of how many CPUs."""
    alone = grown_in(means(mpstat=mpstat([20, 40], cpus=8)), 2.3)
    assert alone["host", "", "cpu_user_s"] == pytest.approx(0.3 * 8 * 2) and len(alone) == 5
    both = grown_in(means(None, vmstat([1000, 3000]), mpstat=mpstat([20, 40], cpus=8)), 2.3)
    assert both["host", "", "cpu_user_s"] == pytest.approx(0.6 * 8 * 2), "of vmstat, with the CPUs of mpstat"
    assert both["host", "", "context_switches"] == 4000 and len(both) == 6


def test_a_longer_sample_of_mpstat_has_a_larger_part_in_the_mean() -> None:
    text = mpstat([20, 40, 40], each=False)
    lines = text.splitlines(keepends=True)
    text = "".join([*lines[:4], *lines[5:]])  # the second of three is gone, so the next one is two seconds later
    found = grown_in(means(mpstat=text), 3.0)
    assert found["host", "", "cpu_user_s"] == pytest.approx((0.2 + 2 * 0.4) * 2)


def test_dstat_has_what_no_other_tool_has() -> None:
    alone = grown_in(means(dstat=dstat([20, 40])), 2.0)
    assert alone == {
        ("host", "", "context_switches"): 4000, ("device", "total", "read_bytes"): 2 * 1024**2,
        ("device", "total", "written_bytes"): 2 * 78 * 1024**2,
    }, "it does not say how many CPUs there are"  # fmt: skip
    with_cpus = grown_in(means(iostat([9, 100, 300]), dstat=dstat([20, 40])), 2.0)
    assert with_cpus["host", "", "cpu_user_s"] == pytest.approx(30 / 98 * 2 * 2)
    assert {name for source, name, _ in with_cpus if source == "device"} == {"vda"}, "iostat has the disk"
    every = means(iostat([9, 100, 300]), vmstat([1000, 3000]), mpstat=mpstat([20, 40]), dstat=dstat([20, 40]))
    assert grown_in(every, 2.0) == grown_in(means(iostat([9, 100, 300]), vmstat([1000, 3000])), 2.0)


def test_samples_without_a_clock_stand_for_whole_seconds() -> None:
    found = means(dstat=dstat_csv([20, 40], epoch=False))
    assert grown_in(found, 4.1)["host", "", "context_switches"] == 2000.5 * 4
    assert found.assumptions() == [
        "samples of dstat are of whole seconds, as many as fit the time of a test",
        "shares of dstat are divided by their sum, because it rounds them down; it counts interrupts as user mode",
    ]
    assert means(mpstat=mpstat([20])).assumptions() == []


def test_samples_of_a_tool_that_adds_nothing_are_not_complained_of() -> None:
    found = means(iostat([9, 100, 300]), vmstat([1000, 3000]), mpstat=mpstat([20] * 90))
    assert found.costs("a.t4", 0.0, 2.0)[1] == []
    assert means(mpstat=mpstat([20] * 90)).costs("a.t4", 0.0, 60.0) == (
        [], ["90 samples of mpstat are not of its 60 s: left out"],
    )  # fmt: skip


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
    assert sidecar_of("run1_Tier12G_RW_16th.mpstat.txt") == ("run1_Tier12G_RW_16th.txt", "mpstat")
    assert sidecar_of("a.metrics.txt") is None and sidecar_of("a.metrics.txt", ["metrics"]) == ("a.txt", "metrics")
    assert sidecar_of("x/sb.vm.scan.range100.pk1.dop4") == ("x/sb..scan.range100.pk1.dop4", "vmstat")
    assert log_of("x/sb.o.scan.range100.pk1.dop4") == "x/sb..scan.range100.pk1.dop4"
    assert log_of("a/Tier32G_RW_64th.sysbench.txt") == "a/Tier32G_RW_64th.txt" and log_of("run.log") == "run.log"
