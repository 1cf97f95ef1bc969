"""A sampler of /proc that shares no code with the library: run as a program, one line of JSON per sample.

    python -S proc_sampler.py PID EVERY_S [DEVICE]

Standard output has CLOCK_MONOTONIC in seconds, and what has been counted until then by the host, by the process PID,
and by the block device. It ends when its standard input is closed.
"""

import json
import os
import select
import sys
import time

TICK_S = 1 / os.sysconf("SC_CLK_TCK")


def text(path: str) -> str:
    with open(path, encoding="utf-8") as file:
        return file.read()


def sample(pid: str, device: str | None) -> dict[str, float]:
    found: dict[str, float] = {"at_s": time.monotonic()}
    for line in text("/proc/stat").splitlines():
        name, *values = line.split()
        if name == "cpu":
            user, nice, system, _idle, _iowait, irq, softirq = map(int, values[:7])
            found["host_cpu_s"] = (user + nice + system + irq + softirq) * TICK_S
        elif name == "ctxt":
            found["switches"] = int(values[0])
    of_process = text(f"/proc/{pid}/stat").rpartition(")")[2].split()
    found["server_cpu_s"] = (int(of_process[11]) + int(of_process[12])) * TICK_S
    for line in text("/proc/diskstats").splitlines():
        _, _, name, *values = line.split()
        if name == device:
            found |= {"reads": int(values[0]), "writes": int(values[4]), "written_kb": int(values[6]) / 2}
    return found


def main() -> None:
    pid, every_s, device = sys.argv[1], float(sys.argv[2]), sys.argv[3] if len(sys.argv) > 3 else None
    while True:
        try:
            print(json.dumps(sample(pid, device)), flush=True)
        except FileNotFoundError:  # the process has ended
            return
        if select.select([sys.stdin], [], [], every_s)[0]:
            return


if __name__ == "__main__":
    main()
