"""A server that is slowed in one function by a known amount: does `ibench explain` name it, and does its interval hold?

    python -m benchmarks.explain_truth --build mariadb-10.11.5 --keep PLACE

A library that is loaded before the server replaces the first instructions of one function by a jump to a loop, which
has the function's name, and goes on there. The truth is what the loop takes, measured by itself while the servers run,
times the calls per operation, counted by a third build that counts and does not loop. Both builds run in shuffled
rounds with profiles. It needs gcc, objdump, nm and perf, on x86-64, and a build with function names. The section
`explain_truth` of docs/benchmarks/explain_truth.md says what was found.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.performance_page import write_section
from ibench_lib.analysis.explain import explain
from ibench_lib.analysis.explanation import Explanation
from ibench_lib.ask.pair import pair
from ibench_lib.ask.selection import choose
from ibench_lib.paths import Workspace, workspace
from ibench_lib.servers.find import find_build
from ibench_lib.servers.remote import Remote
from ibench_lib.stats.noise import LEVEL
from ibench_lib.store import reader

_SCALE = 0.002
_EVERY_S = 3.0
_JUMP_BYTES = 13  # movabs to r11, and a jump: r11 is free at the entry of a function

# The loop stands in a frame of its own, so that perf walks from it to the function's caller.
_ASSEMBLY = """
    .text
    .p2align 6
    .local {symbol}
    .type {symbol}, @function
{symbol}:
    push %rbp
    mov %rsp, %rbp
    {body}
    pop %rbp
    {displaced}
    jmp *explain_resume(%rip)
    .size {symbol}, .-{symbol}
    .p2align 6
    .globl explain_loop
    .type explain_loop, @function
explain_loop:
    push %rbp
    mov %rsp, %rbp
    {body}
    pop %rbp
    ret
    .data
    .globl explain_entry
    .hidden explain_entry
explain_entry: .quad {symbol}
    .globl explain_resume
    .hidden explain_resume
explain_resume: .quad 0
    .globl explain_calls
    .hidden explain_calls
explain_calls: .quad 0
    .section .note.GNU-stack,"",@progbits
"""
_LOOP = "mov ${turns}, %r11d\n    .p2align 5\n1:  dec %r11d\n    jnz 1b"
_COUNT = "lock incq explain_calls(%rip)"

_PATCH = """
#define _GNU_SOURCE
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

extern uint64_t explain_entry, explain_resume, explain_calls;
static const unsigned char expected[] = {BYTES};

static int first(struct dl_phdr_info *info, size_t size, void *base) {
    *(uint64_t *)base = info->dlpi_addr;
    return 1;
}

__attribute__((constructor)) static void patch(void) {
    uint64_t base = 0;
    char self[4096] = "";
    if (readlink("/proc/self/exe", self, sizeof self - 1) < 0 || strcmp(self, "SERVER") != 0) return;
    dl_iterate_phdr(first, &base);
    unsigned char *at = (unsigned char *)(base + OFFSET);
    unsigned char jump[] = {0x49, 0xbb, 0, 0, 0, 0, 0, 0, 0, 0, 0x41, 0xff, 0xe3};
    if (memcmp(at, expected, sizeof expected) != 0) abort();  // other code than was disassembled
    explain_resume = (uint64_t)at + sizeof expected;
    memcpy(jump + 2, &explain_entry, 8);
    uint64_t page = (uint64_t)at & ~4095ull;
    if (mprotect((void *)page, 8192, PROT_READ | PROT_WRITE | PROT_EXEC) != 0) { perror("explain_truth"); abort(); }
    memcpy(at, jump, sizeof jump);
    mprotect((void *)page, 8192, PROT_READ | PROT_EXEC);
}

__attribute__((destructor)) static void tell(void) {
    FILE *file = explain_calls ? fopen("COUNTS", "a") : NULL;
    if (file) { fprintf(file, "%llu\\n", (unsigned long long)explain_calls); fclose(file); }
}
"""

_TIMER = """
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <time.h>
extern void explain_loop(void);
int main(void) {
    for (int round = 0; round < 21; round++) {
        struct timespec a, b;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &a);
        for (int i = 0; i < 20000; i++) explain_loop();
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &b);
        printf("%.6f\\n", ((b.tv_sec - a.tv_sec) * 1e6 + (b.tv_nsec - a.tv_nsec) / 1e3) / 20000);
    }
}
"""

_EXPERIMENT = """
title: A server that is slowed in one function
builds: [{builds}]
configs: [{{name: c, fragments: [cy10a]}}]
setups: [{{name: small, l_i0_rows: {rows}, l_i1_rows: 1000, l_i2_rows: 1000, query_seconds: 1000}}]
scale: {scale}   # the configuration is made for a large server
repeats: {repeats}
workload: {{benchmark: insert_benchmark, clients: {clients}, steps: [l.i0]}}
{capture}
"""
_PROFILED = "capture: {profile: {seconds: 4, every_s: 5, frequency: 199}}"


def entry(server: Path, function: str) -> tuple[str, int, bytes, list[str]]:
    """Symbol, offset, first bytes and instructions of a function, as many as a jump needs.

    Raises
    ------
    SystemExit : there is no such function, or its first instructions depend on where they are.
    """
    listed = subprocess.run(["nm", "--defined-only", server], capture_output=True, text=True, check=True).stdout
    found = [line.split() for line in listed.splitlines() if re.search(rf"(?:_ZL?\d+| ){function}(?:P|R|m|b|$)", line)]
    symbols = [(name, int(address, 16)) for address, kind, name in found if kind in "tT"]
    if len(symbols) != 1:
        raise SystemExit(f"{function} is {len(symbols)} functions of {server}")
    name, offset = symbols[0]
    text = subprocess.run(
        ["objdump", "-d", f"--start-address={offset}", f"--stop-address={offset + 64}", server],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    code, instructions = b"", list[str]()
    for line in text.splitlines():
        parts = re.fullmatch(r"\s+[0-9a-f]+:\t((?:[0-9a-f]{2} )+)\s*\t(.*)", line)
        if parts and len(code) < _JUMP_BYTES:
            if re.search(r"%rip|\bj\w+\b|\bcall", parts[2]):
                raise SystemExit(f"{function} begins with an instruction that cannot be moved: {parts[2]}")
            code += bytes.fromhex(parts[1])
            instructions.append(parts[2].partition("#")[0].strip())
    return name, offset, code, instructions


def made_library(folder: Path, server: Path, function: str, body: str) -> Path:
    """The library that puts `body` before a function of the server. `folder/timer` measures it."""
    symbol, offset, code, _ = entry(server, function)
    folder.mkdir(parents=True, exist_ok=True)
    displaced = ".byte " + ", ".join(f"{byte:#x}" for byte in code)
    (folder / "loop.s").write_text(_ASSEMBLY.format(symbol=symbol, body=body, displaced=displaced))
    patch = _PATCH.replace("{BYTES}", "{" + ", ".join(map(str, code)) + "}").replace("OFFSET", f"{offset:#x}")
    (folder / "patch.c").write_text(
        patch.replace('"SERVER"', f'"{server.resolve()}"').replace('"COUNTS"', f'"{folder / "calls"}"')
    )
    (folder / "timer.c").write_text(_TIMER)
    library = folder / "slow.so"
    subprocess.run(["gcc", "-O1", "-shared", "-fPIC", "-o", library, "patch.c", "loop.s"], cwd=folder, check=True)
    subprocess.run(["gcc", "-O1", "-o", "timer", "timer.c", "loop.s"], cwd=folder, check=True)
    return library


def add_build(place: Workspace, base: str, label: str, library: Path | None) -> None:
    """A build of the place that is one of this project's, with a library loaded before it."""
    source, folder = workspace().builds / base, place.builds / label
    folder.mkdir(parents=True, exist_ok=True)
    for path in source.iterdir():
        if path.name != "build.json" and not (folder / path.name).exists():
            (folder / path.name).symlink_to(path.resolve())
    build = json.loads((source / "build.json").read_text())
    if library is not None:
        build["environment"] = {**build["environment"], "LD_PRELOAD": str(library)}
    (folder / "build.json").write_text(json.dumps(build))


@contextlib.contextmanager
def timed_loop(folder: Path) -> Iterator[None]:
    """Measure the loop again and again next to what runs meanwhile: the speed of a shared processor changes."""
    end = threading.Event()
    path = folder / "loops"

    def measure() -> None:
        while not end.wait(_EVERY_S):
            told = subprocess.run([folder / "timer"], capture_output=True, text=True, check=True).stdout
            with open(path, "a", encoding="ascii") as file:
                file.write(f"{statistics.median(map(float, told.split()))}\n")

    thread = threading.Thread(target=measure, daemon=True)
    thread.start()
    try:
        yield
    finally:
        end.set()
        thread.join()


def loop_us(folder: Path) -> tuple[float, float, float]:
    """What the loop took once: the median of its measurements, and from where to where half of them lie."""
    low, middle, high = statistics.quantiles(map(float, (folder / "loops").read_text().split()), n=4)
    return middle, low, high


def run(place: Workspace, name: str, builds: str, repeats: int, capture: str, chosen: argparse.Namespace) -> None:
    """Run an experiment in the place; cells that are done are not run again."""
    path = place.root / f"{name}.yaml"
    text = _EXPERIMENT.format(
        builds=builds,
        rows=round(chosen.rows / _SCALE),
        scale=_SCALE,
        clients=chosen.clients,
        repeats=repeats,
        capture=capture,
    )
    path.write_text(text)
    program = "from ibench_lib.cli.main import main; main()"
    subprocess.run(
        [sys.executable, "-c", program, "run", path], env={**os.environ, "IBENCH_HOME": str(place.root)}, check=True
    )


def report(found: Explanation, calls: float, loop: tuple[float, float, float], chosen: argparse.Namespace) -> str:
    """The section of docs/benchmarks/explain_truth.md."""
    if not any(one.cost.name == chosen.function for one in found.self_costs):
        raise SystemExit("; ".join(found.cannot))
    names = [one.cost.name for one in found.self_costs if one.cost.is_clear]
    one = next(one for one in found.self_costs if one.cost.name == chosen.function)
    low, high = one.cost.difference.interval(LEVEL) if one.cost.difference else (float("nan"), float("nan"))
    judged = one.cost.interval or (float("nan"), float("nan"))
    whole = sum(part.b for part in found.subsystems) - sum(part.a for part in found.subsystems)
    truth, least, most = (calls * us for us in loop)
    rank = names.index(chosen.function) + 1 if chosen.function in names else None
    return f"""
# A slowed function, explained

`python -m benchmarks.explain_truth`: {chosen.build}, whose function `{chosen.function}` was slowed by a loop, next to
the same server without it; l.i0 of the Insert Benchmark, {chosen.clients} clients, {chosen.repeats} shuffled rounds
with profiles.

| | |
|---|---|
| truth: calls per insert, counted | {calls:.3f} |
| truth: the loop, timed next to the servers; half of its times | {loop[0]:.3f} us; {loop[1]:.3f} to {loop[2]:.3f} |
| truth: per insert | {truth:.3f} us, {least:.3f} to {most:.3f} |
| `ibench explain`: `{chosen.function}` by itself | {one.cost.a:.3f} to {one.cost.b:.3f} us, +{one.cost.change:.3f} |
| 95 % interval; allowing for all functions | {low:.3f} to {high:.3f}; {judged[0]:.3f} to {judged[1]:.3f} |
| the interval overlaps the truth | {"yes" if low <= most and least <= high else "no"} |
| its place among the functions that differ | {rank or "not found"} of {len(names)} |
| change of the server's CPU per insert | {whole:+.3f} us |
| samples of A and B | {found.samples[0]:,} and {found.samples[1]:,} |
"""


def main() -> None:
    """Make the builds, run them, explain the difference, and write the section."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="mariadb-10.11.5")
    parser.add_argument("--function", default="page_cur_insert_rec_low")
    parser.add_argument("--turns", type=int, default=1500, help="turns of the loop per call")
    parser.add_argument("--rows", type=int, default=2_200_000, help="rows of each client")
    parser.add_argument("--clients", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=4)
    parser.add_argument(
        "--keep", type=Path, required=True, help="folder for builds and runs; runs there are used again"
    )
    parser.add_argument("--only", choices=("count", "measure", "report"), help="one part; by default all")
    chosen = parser.parse_args()
    place = Workspace(chosen.keep.resolve())
    place.root.mkdir(parents=True, exist_ok=True)
    build = find_build(chosen.build, workspace())
    if isinstance(build, Remote):
        raise SystemExit(f"{chosen.build} is a remote server")
    server = Path(build.command[0])
    slow = made_library(place.root / "slow", server, chosen.function, _LOOP.format(turns=chosen.turns))
    counting = made_library(place.root / "counting", server, chosen.function, _COUNT)
    for label, library in (("plain", None), ("slowed", slow), ("counting", counting)):
        add_build(place, chosen.build, label, library)
    calls_file = place.root / "counting" / "calls"
    if chosen.only in (None, "count"):
        calls_file.unlink(missing_ok=True)
        run(place, f"count-{time.strftime('%H%M%S')}", "counting", 1, "", chosen)
    if chosen.only in (None, "measure"):
        (place.root / "slow" / "loops").unlink(missing_ok=True)
        with timed_loop(place.root / "slow"):
            run(place, "truth", "plain, slowed", chosen.repeats, _PROFILED, chosen)
    if chosen.only in (None, "report"):
        calls = max(map(int, calls_file.read_text().split())) / (chosen.rows * chosen.clients)
        loop = loop_us(place.root / "slow")
        found = explain(pair(choose(reader.lake(place), "truth"), "plain.c", "slowed.c"), "l.i0")
        text = report(found, calls, loop, chosen)
        print(text)
        write_section("explain_truth", text)


if __name__ == "__main__":
    main()
