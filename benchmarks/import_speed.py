"""What it costs to import logs of others: time and memory for a million lines of each format, sealed in a lake.

    python -m benchmarks.import_speed            measure, write docs/performance.md
    python -m benchmarks.import_speed --print    print only

Each import is a process of its own, next to one of a log of a few lines: the difference is what the lines cost. It is
CPU time, which depends less than wall time on what else the machine does. Threads of Arrow and DuckDB count in it. Wall
time is from the start of the process to its end, when the last run is sealed.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.performance_page import write_section

FILES, LINES = 100, 10_000
_IMPORT = """
import sys
from pathlib import Path
from ibench_lib.importers.intake import import_file
from ibench_lib.paths import Workspace
import_file(Path(sys.argv[1]), "others", "made up", Workspace(Path(sys.argv[2])), setup="small")
"""


def sysbench_logs(at: Path, files: int, lines: int) -> int:
    """Logs of sysbench, one for each number of threads. Their bytes."""
    folder = at / "my8033.cy10a"
    folder.mkdir(parents=True)
    for threads in range(1, files + 1):
        rates = [500 + second * 37 % 400 for second in range(lines)]
        rows = "".join(
            f"[ {second}s ] thds: {threads} tps: {tps}.00 qps: {20 * tps}.00 "
            f"(r/w/o: {14 * tps}.00/{4 * tps}.00/{2 * tps}.00) "
            "lat (ms,95%): 12.30 err/s: 0.00 reconn/s: 0.00\n"
            for second, tps in enumerate(rates, start=1)
        )
        total = sum(rates)
        (folder / f"oltp_read_write.{threads}.log").write_text(
            "sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3)\n\nRunning the test with following options:\n"
            f"Number of threads: {threads}\nReport intermediate results every 1 second(s)\n\n{rows}SQL statistics:\n"
            f"    queries performed:\n        read:  {14 * total}\n        write:  {4 * total}\n"
            f"        other:  {2 * total}\n        total:  {20 * total}\n"
            f"    transactions:  {total}  (600.00 per sec.)\n"
            f"General statistics:\n    total time:  {lines}.0011s\n"
        )
    return sum(path.stat().st_size for path in folder.iterdir())


def iibench_folders(at: Path, files: int, lines: int) -> int:
    """Ten clients of each step of queries, with inserts and deletes. Their bytes."""
    columns = (
        "i_sec t_sec i_ips t_ips i_dps t_dps i_qps t_qps max_i max_d max_q t_ins t_del t_query retry_i retry_d retry_q"
    )
    clients = min(10, files)
    for number in range(files):
        step, client = number // clients + 1, number % clients + 1
        folder = at / "my8033.cy10a" / f"qr{100 * step}.L{step}"
        folder.mkdir(parents=True, exist_ok=True)
        rows = "".join(
            f"1.0\t{second}.0\t100\t100\t100\t100\t8000\t8000\t1500\t1600\t1700\t{100 * second}\t{100 * second}\t"
            f"{8000 * second}\t0\t0\t0\n"
            for second in range(1, lines + 1)
        )
        (folder / f"o.ib.dop{clients}.{client}").write_text(
            f"iibench.py --rows_per_commit=50 --query_threads=1 --my_id={client}\n"
            + columns.replace(" ", "\t")
            + f"\n{rows}Totals: {lines}.0 secs, 100.0 rows/sec, {100 * lines} rows, "
            "0 0 0 insert-delete-query retry\nDone\n"
        )
    return sum(path.stat().st_size for path in at.rglob("o.ib.*"))


FORMATS: dict[str, Callable[[Path, int, int], int]] = {"sysbench": sysbench_logs, "iibench.py": iibench_folders}


def measured(given: Path, root: Path) -> tuple[float, float, float]:
    """(CPU seconds, wall seconds, MB at the peak) of a process that imports a folder into a new lake."""
    root.mkdir()
    began = time.monotonic()
    process = subprocess.Popen([sys.executable, "-P", "-c", _IMPORT, str(given), str(root)])
    _, status, used = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"the import of {given} failed")
    return used.ru_utime + used.ru_stime, time.monotonic() - began, used.ru_maxrss / 1024


def section() -> str:
    """The section of docs/performance.md."""
    rows = []
    for name, make in FORMATS.items():
        with tempfile.TemporaryDirectory() as folder:
            at = Path(folder)
            make(at / "few", 1, 10)
            size = make(at / "many", FILES, LINES)
            few_s, _, few_mb = measured(at / "few", at / "lake of few")
            many_s, wall_s, many_mb = measured(at / "many", at / "lake of many")
        rows.append(
            f"| {name} | {size / 1e6:,.0f} MB | {wall_s:.1f} s | {many_s:.1f} s | {many_s - few_s:.1f} s | "
            f"{FILES * LINES / (many_s - few_s):,.0f} | {many_mb:,.0f} MB | {few_mb:,.0f} MB |"
        )
    return "\n".join(
        [
            "## Importing logs of others",
            "",
            f"A million lines in {FILES} files become sealed runs. CPU time is that of the whole process. What the",
            "lines cost is that less the CPU time of importing ten lines, most of which is starting Python, Arrow and",
            "DuckDB. Wall time is to the end of the process.",
            "",
            "| logs of | text | wall | CPU | for the lines | lines per second of CPU | peak memory | with ten lines |",
            "|---|---|---|---|---|---|---|---|",
            *rows,
        ]
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--print", action="store_true", help="print only")
    text = section()
    print(text)
    if not parser.parse_args().print:
        write_section("import_speed", text)
