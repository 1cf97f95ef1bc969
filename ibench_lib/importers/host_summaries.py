"""Reads what scripts note of a host: pt-summary, and files with the output of lscpu, uname, free and the like.

Of all that these print, only CPUs, memory, kernel and operating system are kept; names of hosts, addresses and programs
are next to them. A figure that is rounded stays as it is printed: 187Gi is no number of bytes. A fact of which a file
has several values has none.
"""

from __future__ import annotations

import re

from ibench_lib.base.mask import MASKED
from ibench_lib.importers.lines import LineBlocks

Facts = dict[str, str | int]

_PT_SUMMARY = re.compile(r"# [A-Za-z]{1,20} Toolkit System Summary Report #", re.ASCII)
_LSCPU = (re.compile(r"^Architecture:\s+\w", re.MULTILINE), re.compile(r"^CPU\(s\):\s+\d", re.MULTILINE))
_WORDS_OF_KERNELS = (
    r"generic|lowlatency|virtual|kvm|aws|azure|gcp|gke|oracle|cloud|hwe|default|pve|rt|lts|server|amd64|x86_64|aarch64"
    r"|arm64|i686|el\d\w*|fc\d+|amzn\d*|uek|stable|deb\d+|bpo|Debian|Ubuntu|rc\d+"
)
_KERNEL = re.compile(rf"\d+(?:[.-]\d+)+(?:[.+-](?:{_WORDS_OF_KERNELS}|\d+))*", re.ASCII)
_SYSTEM = re.compile(
    r"(?:Ubuntu|Debian GNU/Linux|CentOS(?: Linux| Stream)?|Red Hat Enterprise Linux(?: Server)?|Rocky Linux|AlmaLinux"
    r"|Fedora(?: Linux)?|Oracle Linux(?: Server)?|Amazon Linux|openSUSE Leap|SUSE Linux Enterprise Server)"
    r"(?: AMI)?(?: release)? \d+(?:\.\d+)*(?: LTS)?",
    re.ASCII,
)
_MODEL = r"[A-Z][A-Za-z0-9 ()@./_+-]{2,80}"
_SIZE = r"\d{1,9}(?:\.\d{1,3})?(?:[KMGT]i?B?)"
# What a line is, and the facts that its groups are.
_LINES: tuple[tuple[re.Pattern[str], tuple[str, ...]], ...] = tuple(
    (re.compile(form, re.ASCII), names)
    for form, names in (
        (r"Architecture: +(x86_64|aarch64|ppc64le|s390x|i686|riscv64)", ("machine",)),
        (r"CPU\(s\): +(\d{1,5})", ("logical_cpus",)),
        (rf"Model name: +({_MODEL})", ("cpu_model",)),
        (r"Thread\(s\) per core: +(\d{1,2})", ("threads of a core",)),
        (r"Core\(s\) per socket: +(\d{1,4})", ("cores of a socket",)),
        (r"Socket\(s\): +(\d{1,3})", ("sockets",)),
        (r"Linux \S{1,255} (\d\S{1,80}) #.*", ("kernel",)),
        (rf"Mem: +({_SIZE})(?: +[\d.]+[KMGTBi]*)*", ("memory_printed",)),
        (r"MemTotal: +(\d{1,12}) kB", ("memory_kib",)),
        (r'PRETTY_NAME="?([^"]{1,80})"?', ("os",)),
        (r"Kernel \| (\d\S{1,80})", ("kernel",)),
        (r"Release \| (.{1,80})", ("os",)),
        (rf"Models \| (\d{{1,5}})x({_MODEL})", ("cpus of the model", "cpu_model")),
        (
            r"Processors \| physical = (\d{1,3}), cores = (\d{1,4}), virtual = (\d{1,5}), hyperthreading = (yes|no)",
            ("sockets", "cores", "logical_cpus", "hyperthreading"),
        ),
    )
)
_TOTAL = re.compile(r"Total \| (\d{1,9}(?:\.\d{1,3})?[kMGT])", re.ASCII)
_SECTION = re.compile(r"# ([A-Za-z ]{1,60}) #+", re.ASCII)
_LONGEST = 400


def is_of_a_host(beginning: str) -> bool:
    """Whether a file is of this kind, by its beginning."""
    return _PT_SUMMARY.match(beginning) is not None or all(one.search(beginning) for one in _LSCPU)


def read_host(blocks: LineBlocks) -> Facts:
    """Facts of a host under the names that they have in manifests, without names of hosts and people."""
    found: dict[str, set[str]] = {}
    section = ""
    for first, lines in blocks:
        for number, text in enumerate(lines, start=first):
            line = text.strip()
            if number == blocks.unterminated or len(line) > _LONGEST or not line.isprintable():
                continue  # it may be cut, it is a list of flags, or damaged
            if match := _SECTION.fullmatch(line):
                section = match[1]
            elif section == "Memory" and (match := _TOTAL.fullmatch(line)):
                found.setdefault("memory_printed", set()).add(match[1])
            for form, names in _LINES:
                if match := form.fullmatch(line):
                    for name, value in zip(names, match.groups(), strict=True):
                        found.setdefault(name, set()).add(value.strip())
    return _facts({name: values.pop() for name, values in found.items() if len(values) == 1})


def _facts(read: dict[str, str]) -> Facts:
    """What is known for certain of what was read."""
    cpus = int(read.get("logical_cpus", 0))
    facts: Facts = {name: read[name] for name in ("logical_cpus", "machine", "memory_printed") if name in read}
    # pt-summary lists each model with its number of CPUs: one that not all have is not the host's.
    if "cpu_model" in read and int(read.get("cpus of the model", cpus)) == cpus:
        facts["cpu_model"] = read["cpu_model"]
    if cores := _cores(read, cpus):
        facts["physical_cores"] = str(cores)
    if "memory_kib" in read:
        facts["memory_bytes"] = 1024 * int(read["memory_kib"])
    if "kernel" in read and (match := _KERNEL.match(read["kernel"])):
        is_whole = match[0] == read["kernel"]
        facts["kernel"] = match[0] if is_whole else f"{match[0]}-{MASKED}"
    if "os" in read and (match := _SYSTEM.match(read["os"])):
        facts["os"] = match[0]
    return facts


def _cores(read: dict[str, str], cpus: int) -> int:
    """The cores of all sockets, 0 if they and their threads are not all CPUs: pt-summary counts them wrong at times."""
    if "cores" in read:
        cores, threads = int(read["cores"]), 2 if read.get("hyperthreading") == "yes" else 1
    else:
        cores = int(read.get("sockets", 0)) * int(read.get("cores of a socket", 0))
        threads = int(read.get("threads of a core", 0))
    return cores if cores * threads == cpus else 0
