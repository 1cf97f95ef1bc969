"""What scripts note of a host: CPUs, memory, kernel and system are kept, and nothing that tells which host it is."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from ibench_lib.errors import UsageError
from ibench_lib.importers.host_summaries import Facts, is_of_a_host, read_host
from ibench_lib.importers.lines import LineBlocks
from tests.importers.host_text import vmstat
from tests.importers.saved_outputs import VARIABLES, tabbed
from tests.importers.test_fuzz import damaged

PT_SUMMARY = """\
# Percona Toolkit System Summary Report ######################
        Date | 2023-08-01 00:00:00 UTC (local TZ: CEST +0200)
    Hostname | db7.example.com
    Platform | Linux
     Release | Ubuntu 22.04.3 LTS (jammy)
      Kernel | 5.15.0-78-generic
# Processor ##################################################
  Processors | physical = 2, cores = 8, virtual = 16, hyperthreading = yes
      Speeds | 16x2260.936
      Models | 16xMaker(R) Model 7 CPU @ 2.27GHz
# Memory #####################################################
       Total | 62.5G
# Notable Processes ##########################################
       Total | 9.0G
"""
OUTPUTS = """\
=== uname ===
Linux db7.example.com 5.15.0-78-generic #85-Ubuntu SMP Fri Jul 7 2023 x86_64 GNU/Linux
=== CPU ===
Architecture:        x86_64
CPU(s):              16
On-line CPU(s) list: 0-15
Model name:          Maker(R) Model 7 CPU @ 2.27GHz
BIOS Model name:     Another
Thread(s) per core:  2
Core(s) per socket:  4
Socket(s):           2
NUMA node0 CPU(s):   0-15
=== Memory ===
               total        used        free
Mem:            62Gi        11Gi       146Gi
=== meminfo ===
MemTotal:       65536000 kB
=== system ===
PRETTY_NAME="Ubuntu 22.04.3 LTS"
HOME_URL="https://db7.example.com"
"""
FACTS = {
    "cpu_model": "Maker(R) Model 7 CPU @ 2.27GHz", "kernel": "5.15.0-78-generic", "logical_cpus": "16",
    "os": "Ubuntu 22.04.3 LTS", "physical_cores": "8",
}  # fmt: skip
BOTH = {"pt-summary": PT_SUMMARY, "outputs": OUTPUTS}


def read(content: str | bytes) -> Facts:
    return read_host(LineBlocks(Path("host.txt"), [content.encode() if isinstance(content, str) else content]))


def test_facts_are_those_that_a_manifest_has() -> None:
    assert all(map(is_of_a_host, BOTH.values()))
    assert read(PT_SUMMARY) == {**FACTS, "memory_printed": "62.5G"}
    exact = {"memory_printed": "62Gi", "memory_bytes": 65536000 * 1024, "machine": "x86_64"}
    assert read(OUTPUTS) == {**FACTS, **exact}


def test_other_text_is_not_of_a_host() -> None:
    assert not any(map(is_of_a_host, ("", vmstat([5]), tabbed(VARIABLES), "Architecture: x86_64\n")))


@pytest.mark.parametrize(
    ("old", "new", "lost"),
    [
        ("Model 7 CPU @ 2.27GHz", "Model 7 CPU, 8xOther", {"cpu_model"}),
        ("16xMaker", "8xMaker", {"cpu_model"}),
        ("cores = 8", "cores = 4", {"physical_cores"}),
        ("cores = 8", "cores = 0", {"physical_cores"}),
        ("Ubuntu 22.04.3 LTS (jammy)", "AliceOS 3", {"os"}),
        ("Kernel | 5.15.0-78-generic", "Kernel | alice", {"kernel"}),
    ],
)
def test_what_is_not_known_for_certain_is_no_fact(old: str, new: str, lost: set[str]) -> None:
    assert read(PT_SUMMARY.replace(old, new)) == {
        name: value for name, value in read(PT_SUMMARY).items() if name not in lost
    }


def test_words_of_a_kernel_that_no_distributor_uses_are_masked() -> None:
    assert read(PT_SUMMARY.replace("-generic", "-alice"))["kernel"] == "5.15.0-78-<masked>"
    assert read(PT_SUMMARY.replace("5.15.0-78-generic", "2.6.32-573.el6.x86_64"))["kernel"] == "2.6.32-573.el6.x86_64"


@pytest.mark.parametrize("name", BOTH)
def test_a_fact_with_two_values_has_none(name: str) -> None:
    text = BOTH[name]
    two = read(text + text.replace("5.15", "6.1"))
    assert two == {fact: value for fact, value in read(text).items() if fact != "kernel"}


@pytest.mark.slow
@pytest.mark.parametrize("name", BOTH)
def test_no_damage_makes_a_fact(name: str) -> None:
    whole = read(BOTH[name])
    for what, content in damaged(BOTH[name], vmstat([5]), random.Random("host")):
        try:
            found = read(content)
        except UsageError:
            continue
        assert found.items() <= whole.items(), what
