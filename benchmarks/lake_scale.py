"""The lake at the size of the first published comparison: bytes, seconds and memory of the questions of a post.

    python -m benchmarks.lake_scale --lakes <folder>            make the lakes, measure, write the page
    python -m benchmarks.lake_scale --lakes <folder> --quick    a 200th, two dbms, print only
    python -m benchmarks.lake_scale --lakes <folder> --many     only a lake of many runs: listing it and opening it

Two lakes are made below the folder, one with all seconds and one with a tenth, and stay there to be used again. Each
question is asked on a connection of its own, in rounds that alternate between the lakes; a round is one process, whose
peak memory is taken. pandas answers the same questions from the tenth, written as CSV, once: its figures for the
whole are ten times those, and it would not fit into memory.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from math import lgamma
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import psutil
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq

from benchmarks.performance_page import write_section
from benchmarks.scale_lake import EXPERIMENT, Numbers, Size, make_lake, plan, shares, step_ops
from ibench_lib import paths
from ibench_lib.paths import Workspace
from ibench_lib.schema import TABLES
from ibench_lib.show.throughput.tables import throughput_table
from ibench_lib.store import catalogue, parquet, reader
from ibench_lib.store.checksums import YOUNG_NS
from ibench_lib.store.derive import response_times
from ibench_lib.store.manifest import FILE_NAME, read_manifest, write_manifest

ROUNDS = 5
PIECES = 0.05
"""The share of 40,000 seconds whose rows are made for what a row weighs and costs."""
BASE = "my8033.cy10a"
SERIES = "one-second series"
SERIES_STEP = "qr100"
POINTS = 2000
TARGETS: dict[str, float] = {
    "throughput": 1.0,
    "relative": 1.0,
    "sla": 1.0,
    "fairness": 1.0,
    "histogram": 1.0,
    SERIES: 1.5,
}
QUESTIONS = {
    "throughput": "step_throughput",
    "relative": "step_throughput",
    "sla": "sla",
    "fairness": "fairness",
    "histogram": "response_time_histogram",
    SERIES: "one_second",
}


def ask(workspace: Workspace, what: str) -> tuple[float, float]:
    """(seconds to open the lake, seconds of the question) on a connection of its own."""
    start = time.perf_counter()
    lake = reader.lake(workspace)
    opened = time.perf_counter()
    steps = [SERIES_STEP] if what == SERIES else []
    runs = [run for (run,) in lake.execute("SELECT unnest(runs_of($name))", {"name": EXPERIMENT}).fetchall()]
    values = {"runs": runs, "steps": steps, "points": POINTS}
    name = QUESTIONS[what]
    frame = reader.question(lake, name, **{k: v for k, v in values.items() if k in catalogue.parameters_of(name)})
    if what == "relative":
        throughput_table(frame, BASE)
    assert len(frame)
    return opened - start, time.perf_counter() - opened


def one_round(root: str) -> dict[str, float]:
    """Seconds of every question, of opening the lake, and the process's peak memory in MiB."""
    workspace = Workspace(Path(root))
    found = {}
    opened = []
    for what in TARGETS:
        open_s, found[what] = ask(workspace, what)
        opened.append(open_s)
    return {**found, "open": statistics.median(opened), "memory": peak_mib()}


def peak_mib() -> float:
    """Peak resident size of this process in MiB."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


def in_child(job: Callable[..., Any], *arguments: Any) -> Any:
    """What a process of its own returns."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(job, *arguments).result()


def lake_of(folder: Path, size: Size) -> Workspace:
    """The lake of `size`, made when it is not there."""
    few = "" if size.dbms == Size.dbms else f"-of-{size.dbms}"
    workspace = Workspace(folder / f"scale-{size.scale:g}-{size.queries_per_s:g}-{size.seed}{few}")
    if not (workspace.root / "made").exists():
        start = time.perf_counter()
        make_lake(workspace, size)
        (workspace.root / "made").write_text(f"{time.perf_counter() - start:.0f} s\n")
    return workspace


def file_bytes(workspace: Workspace, table: str) -> tuple[int, int]:
    """(bytes, rows) of a table's files in all runs."""
    paths = sorted(workspace.runs.glob(f"*/{table}.parquet"))
    return sum(path.stat().st_size for path in paths), sum(pq.read_metadata(path).num_rows for path in paths)


# A lake of many runs.


def many_runs(folder: Path, count: int) -> Workspace:
    """A lake of `count` runs, copies of those of data/sample under other names, made when it is not there.

    Of each run only the manifest and `steps` are files of its own; the others are hard links, whose rows do not count,
    as they are of another run. Opening a lake and listing its runs read none of them.
    """
    workspace = Workspace(folder / f"many-{count}")
    if (workspace.root / "made").exists():
        return workspace
    samples = sorted(path for path in paths.workspace().sample.iterdir() if path.is_dir())
    read = [(path, read_manifest(path), pq.read_table(path / "steps.parquet")) for path in samples]
    for number in range(count):
        sample, manifest, steps = read[number % len(read)]
        run_dir = workspace.run_dir(f"{sample.name.removesuffix('-r1')}-n{number:05d}-r1")
        run_dir.mkdir(parents=True)
        for path in sample.iterdir():
            if path.name not in (FILE_NAME, "steps.parquet"):
                os.link(path, run_dir / path.name)
        at = steps.schema.get_field_index("run_id")
        own = steps.set_column(at, "run_id", pa.array([run_dir.name] * len(steps)))
        manifest.run_id = run_dir.name
        manifest.files["steps.parquet"] = parquet.write_table(run_dir / "steps.parquet", TABLES["steps"], [own])
        write_manifest(run_dir, manifest)
    (workspace.root / "made").touch()
    return workspace


LISTING = "from ibench_lib.cli.main import main; main()"
OPENING = "import ibench_lib; assert ibench_lib.lake()"
COUNTING = "s = 0\nfor i in range(10_000_000): s += i"


def cpu_of(code: str, workspace: Workspace, *arguments: str) -> tuple[float, float]:
    """(CPU seconds, peak MiB) of a Python process that does this."""
    process = subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        env={**os.environ, "IBENCH_HOME": str(workspace.root)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, code
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def report_many(folder: Path, count: int) -> str:
    """The section of docs/benchmarks/lake_scale.md on a lake of many runs."""
    workspace = many_runs(folder, count)
    for path in workspace.data.glob(".*"):
        path.unlink()
    time.sleep(2 + YOUNG_NS / 1e9)  # what is younger is not remembered
    first = cpu_of(OPENING, workspace)
    work = {"opening the lake": (OPENING,), "`ibench runs`": (LISTING, "runs"), "counting to ten million": (COUNTING,)}
    found: dict[str, list[tuple[float, float]]] = {what: [] for what in work}
    for _ in range(ROUNDS):
        for what, (code, *arguments) in work.items():
            found[what].append(cpu_of(code, workspace, *arguments))
    size = sum(path.stat().st_size for path in workspace.data.glob(".index-*"))
    lines = [
        "# A lake of many runs",
        "",
        f"Made by `python -m benchmarks.lake_scale --many`: {count:,} runs, copies of the sample under other names.",
        "CPU of a whole process, with Python's start and imports; median (min to max) of its rounds. Counting to ten",
        "million in a loop says how fast the machine was meanwhile.",
        "",
        "| what | target, CPU s | CPU s | peak MiB (target 400) |",
        "|---|---|---|---|",
        f"| the first opening, which makes the index | - | {first[0]:.0f} | {first[1]:.0f} |",
    ]
    for what, measured in found.items():
        goal = "-" if what.startswith("counting") else "1.5"
        lines.append(
            f"| {what} | {goal} | {spread([cpu for cpu, _ in measured])} | {max(mib for _, mib in measured):.0f} |"
        )
    lines += ["", f"The index has {size / 1e6:.1f} MB."]
    return "\n".join(lines) + "\n"


# What the bytes are made of.


def entropy_bits(means: Numbers) -> float:
    """Entropy of independent Poisson counts: what no lossless code can do without, even if it knew every mean."""
    k = np.arange(0, 2000)
    log_factorials = np.array([lgamma(n + 1) for n in k])
    levels = np.exp(np.linspace(np.log(1e-6), np.log(1000), 400))
    logs = k[None, :] * np.log(levels)[:, None] - levels[:, None] - log_factorials[None, :]
    at_level = -(np.exp(logs) * logs).sum(axis=1) / np.log(2)
    return float(np.interp(means[means > 1e-6], levels, at_level).sum())


def floor_bytes(size: Size) -> float:
    """Bytes a row that the histograms of the base's run cannot go below."""
    bits = rows = 0.0
    for step in plan(size, 1.0, 1.0):
        for work in step.work:
            rows += step.seconds
            if step.kind != "index":
                # The intended times of paced work follow from the service times but for the client's lag.
                bits += step.seconds * entropy_bits(shares(work.median_us, work.parts) * work.per_s)
    return bits / 8 / rows


def bytes_by_rate(rates: tuple[float, ...], scale: float) -> list[tuple[float, float, float, float]]:
    """(queries/s of a client, bins of a query second, bytes a row, floor) of one short run each."""
    found = []
    for rate in rates:
        size = Size(scale=scale, dbms=1, queries_per_s=rate)
        pieces = [step_ops(np.random.default_rng(1), "run", step, 8) for step in plan(size, 1.0, 1.0)]
        rows = sum(piece.num_rows for piece in pieces)
        queries = pieces[3].filter(pc.equal(pieces[3]["operation"], "range_query"))
        bins = pc.mean(pc.list_value_length(queries["service_bins"])).as_py()
        found.append((rate, bins, written(pieces)[0] / rows, floor_bytes(size)))
    return found


def written(pieces: list[pa.Table]) -> tuple[int, float]:
    """(bytes, seconds) of sealing `ops`."""
    path = Path(os.environ.get("TMPDIR", "/tmp")) / f"ibench-ops-{os.getpid()}.parquet"
    start = time.perf_counter()
    try:
        record = parquet.write_table(path, TABLES["ops"], pieces)
        return record.bytes, time.perf_counter() - start
    finally:
        path.unlink(missing_ok=True)


def sealing_cost(scale: float) -> tuple[float, float]:
    """Seconds to write, and to roll up, a million rows of `ops`: the best of three."""
    pieces = [step_ops(np.random.default_rng(1), "run", step, 8) for step in plan(Size(scale=scale), 1.0, 1.0)]
    rows = sum(piece.num_rows for piece in pieces) / 1e6

    def roll_up() -> float:
        start = time.perf_counter()
        for piece in pieces:
            response_times(piece)
        return time.perf_counter() - start

    return min(written(pieces)[1] for _ in range(3)) / rows, min(roll_up() for _ in range(3)) / rows


# The same questions, answered by pandas from CSV.


def write_csv(workspace: Workspace) -> tuple[Path, int]:
    """The lake's `ops`, `steps` and `workers` as one CSV file a run and table, lists as text. (folder, bytes)"""
    folder = workspace.root / "csv"
    folder.mkdir(exist_ok=True)
    for name in ("ops", "steps", "workers"):
        for source in workspace.runs.glob(f"*/{name}.parquet"):
            target = folder / f"{source.parent.name}.{name}.csv"
            if target.exists():
                continue
            with pq.ParquetFile(source) as file:
                first = _flat(file.schema_arrow.empty_table())
                with pyarrow.csv.CSVWriter(target.with_suffix(".tmp"), first.schema) as writer:
                    for batch in file.iter_batches(20_000):
                        writer.write_table(_flat(pa.Table.from_batches([batch])))
            target.with_suffix(".tmp").rename(target)
    return folder, sum(path.stat().st_size for path in folder.iterdir())


def _flat(table: pa.Table) -> pa.Table:
    """`table` with its lists as text."""
    for position, field in enumerate(table.schema):
        if pa.types.is_list(field.type):
            # Arrow joins lists of text only.
            column = table.column(position).combine_chunks()
            column = column.chunk(0) if isinstance(column, pa.ChunkedArray) else column
            text = pa.ListArray.from_arrays(column.offsets, column.values.cast(pa.string()), mask=column.is_null())
            table = table.set_column(position, field.name, pc.binary_join(text, " "))
    return table


def read_csv(folder: Path, table: str, columns: list[str]) -> pd.DataFrame:
    """The columns of a table of all runs."""
    paths = sorted(folder.glob(f"*.{table}.csv"))
    return pd.concat([pd.read_csv(path, usecols=columns) for path in paths], ignore_index=True)


KEY = ["run_id", "step_id"]


def pandas_throughput(folder: Path) -> pd.DataFrame:
    ops = read_csv(folder, "ops", [*KEY, "operation", "ops", "rows", "service_max_us"])
    steps = read_csv(folder, "steps", [*KEY, "duration_s"])
    sums = ops.groupby([*KEY, "operation"], as_index=False).agg({"ops": "sum", "rows": "sum", "service_max_us": "max"})
    rates = sums.merge(steps, on=KEY)
    rates[["ops", "rows"]] = rates[["ops", "rows"]].div(rates["duration_s"], axis=0)
    return rates


def pandas_relative(folder: Path) -> pd.DataFrame:
    rates = pandas_throughput(folder)
    rates["relative"] = rates["rows"] / rates.groupby(["step_id", "operation"])["rows"].transform("first")
    return rates


def pandas_sla(folder: Path) -> pd.DataFrame:
    ops = read_csv(folder, "ops", [*KEY, "operation", "rows"])
    steps = read_csv(folder, "steps", [*KEY, "clients", "target_rows_per_s", "duration_s"]).set_index(KEY)
    rates = ops.groupby([*KEY, "operation"])["rows"].sum().unstack().div(steps["duration_s"], axis=0)
    return rates.lt(0.95 * steps["clients"] * steps["target_rows_per_s"], axis=0)


def pandas_fairness(folder: Path) -> pd.DataFrame:
    workers = read_csv(folder, "workers", [*KEY, "client", "start_s", "end_s"])
    spans = workers.groupby([*KEY, "client"]).agg({"start_s": "min", "end_s": "max"})
    return (spans["end_s"] - spans["start_s"]).groupby(KEY).agg(["min", "max"])


def pandas_histogram(folder: Path) -> pd.DataFrame:
    found = []
    for path in sorted(folder.glob("*.ops.csv")):
        ops = pd.read_csv(path, usecols=[*KEY, "operation", "service_bins", "service_counts"]).dropna()
        for key, rows in ops.groupby([*KEY, "operation"]):
            bins = np.fromstring(" ".join(rows["service_bins"].astype(str)), dtype=np.int64, sep=" ")
            counts = np.fromstring(" ".join(rows["service_counts"].astype(str)), dtype=np.int64, sep=" ")
            share = np.bincount(bins, counts).cumsum() / counts.sum()
            found.append((*key, *np.searchsorted(share, [0.5, 0.9, 0.99, 0.999])))
    return pd.DataFrame(found)


def pandas_series(folder: Path) -> pd.DataFrame:
    ops = read_csv(folder, "ops", ["run_id", "step", "client", "operation", "second", "ops", "rows", "service_max_us"])
    ops = ops[ops["step"] == SERIES_STEP]
    ops["amount"] = ops["rows"].where(ops["operation"].isin(["insert", "delete"]), ops["ops"])
    ops["bucket"] = ops["second"] // max(1, -(-int(ops["second"].max() + 1) // POINTS))
    key = ["run_id", "operation", "second", "bucket"]
    together = ops.groupby(key).agg({"amount": "sum", "service_max_us": "max"}).reset_index().assign(client=0)
    both = pd.concat([together, ops[[*key, "client", "amount", "service_max_us"]]])
    return both.groupby(["run_id", "operation", "client", "bucket"]).agg(
        {"amount": ["min", "mean", "max"], "service_max_us": "max"}
    )


PANDAS: dict[str, Callable[[Path], pd.DataFrame]] = {
    "throughput": pandas_throughput,
    "relative": pandas_relative,
    "sla": pandas_sla,
    "fairness": pandas_fairness,
    "histogram": pandas_histogram,
    SERIES: pandas_series,
}


def pandas_answer(what: str, folder: str) -> tuple[float, float]:
    """(seconds, peak MiB) of one question."""
    start = time.perf_counter()
    assert len(PANDAS[what](Path(folder)))
    return time.perf_counter() - start, peak_mib()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lakes", type=Path, required=True, help="folder for the lakes: 12 GB")
    parser.add_argument("--scale", type=float, default=1.0, help="share of 40,000 seconds (default 1)")
    parser.add_argument("--quick", action="store_true", help="a 200th, two dbms, one round, print only")
    parser.add_argument("--many", action="store_true", help="only the lake of many runs")
    parser.add_argument("--runs", type=int, default=5000, help="how many runs it has (default 5000)")
    arguments = parser.parse_args()
    if arguments.many:
        text = report_many(arguments.lakes, arguments.runs)
        print(text)
        if not arguments.quick:
            write_section("many_runs", text, by="lake_scale")
        return
    size = Size(scale=0.005, dbms=2) if arguments.quick else Size(scale=arguments.scale)
    tenth = replace(size, scale=size.scale / 10)
    lakes = [lake_of(arguments.lakes, each) for each in (tenth, size)]
    rounds: list[list[dict[str, float]]] = [[], []]
    for number in range(1 if arguments.quick else ROUNDS):
        for lake, found in zip(lakes, rounds, strict=True):
            found.append(in_child(one_round, str(lake.root)))
            print(number, lake.root.name, {what: round(value, 3) for what, value in found[-1].items()}, flush=True)
    folder, csv_bytes = write_csv(lakes[0])
    by_pandas = {}
    for what in PANDAS:
        by_pandas[what] = in_child(pandas_answer, what, str(folder))
        print("pandas", what, *(round(value, 1) for value in by_pandas[what]), flush=True)
    text = report(size, lakes, rounds, by_pandas, csv_bytes, PIECES / 10 if arguments.quick else PIECES)
    print(text)
    if not arguments.quick:
        write_section("lake_scale", text)


def report(
    size: Size,
    lakes: list[Workspace],
    rounds: list[list[dict[str, float]]],
    by_pandas: dict[str, tuple[float, float]],
    csv_bytes: int,
    pieces: float,
) -> str:
    """The section of docs/benchmarks/lake_scale.md."""
    whole = lakes[1]
    ops_bytes, ops_rows = file_bytes(whole, "ops")
    worst = statistics.median(b[SERIES] / a[SERIES] for a, b in zip(*rounds, strict=True))
    lines = [
        "# The lake at scale",
        "",
        f"Measured with `python -m benchmarks.lake_scale`: {size.dbms} dbms, {size.clients} clients, "
        f"{size.rows:,} rows of `ops` with",
        f"histograms, {psutil.cpu_count()} shared cores. Figures are the median (min to max) of "
        f"{len(rounds[1])} rounds, "
        "which alternate with rounds on a lake",
        "with a tenth of the seconds. Each question has its own connection; the files are in the page "
        "cache. Ratios are",
        "computed within a round.",
        "",
        "| question | target, s | s | a tenth of the rows, s | ratio | pandas on CSV, s |",
        "|---|---|---|---|---|---|",
    ]
    for what, goal in TARGETS.items():
        small, large = ([found[what] for found in each] for each in rounds)
        ratios = [b / a for a, b in zip(small, large, strict=True)]
        csv_s = f"{10 * by_pandas[what][0]:,.0f}"
        lines.append(f"| {what} | {goal:g} | {spread(large)} | {spread(small)} | {spread(ratios, 1)} | {csv_s} |")
    sums = [[sum(f[what] for what in TARGETS if what != SERIES) for f in each] for each in rounds]
    ratios = [b / a for a, b in zip(*sums, strict=True)]
    csv_s = f"{10 * sum(s for what, (s, _) in by_pandas.items() if what != SERIES):,.0f}"
    lines.append(
        f"| the first five together | 5 | {spread(sums[1])} | {spread(sums[0])} | {spread(ratios, 1)} | {csv_s} |"
    )
    opened = [[found["open"] for found in each] for each in rounds]
    lines.append(f"| opening the lake | - | {spread(opened[1])} | {spread(opened[0])} | - | - |")
    memory = max(found["memory"] for found in rounds[1])
    pandas_gib = max(mib for _, mib in by_pandas.values()) / 1024
    lines += [
        "",
        "| what | target | measured |",
        "|---|---|---|",
        f"| peak memory of a process that opens the lake and asks all questions | 2 GB | {memory / 1024:.2f} GiB |",
        f"| time for ten times the rows | <= 11 times | {worst:.1f} times (the one-second series) |",
        f"| bytes per row of `ops` | <= 48 | {ops_bytes / ops_rows:.1f} "
        f"(the theoretical minimum is {floor_bytes(size):.1f}) |",
        "",
        f"pandas read a tenth of the rows, {csv_bytes / 2**30:.1f} GiB of CSV; the table shows ten times "
        f"the time that it",
        f"took. It needed up to {pandas_gib:.1f} GiB for that tenth, although it read only the columns that",
        "each question needs.",
        "",
        "| table | rows | bytes per row | MB |",
        "|---|---|---|---|",
    ]
    for name in TABLES:
        amount, rows = file_bytes(whole, name)
        if rows:
            lines.append(f"| `{name}` | {rows:,} | {amount / rows:.1f} | {amount / 1e6:,.1f} |")
    lines += [
        "",
        "## What is read",
        "",
        *FILES.strip().splitlines(),
        "",
        "## What a row's bytes are",
        "",
        *BYTES.strip().splitlines(),
        "",
        "| queries/s per client | bins per second | bytes per row | entropy of the histograms, bytes per row |",
        "|---|---|---|---|",
    ]
    for rate, bins, amount_per_row, floor in bytes_by_rate((4500, 2000, 1000, 500, 250, 100), pieces):
        lines.append(f"| {rate:,.0f} | {bins:.0f} | {amount_per_row:.1f} | {floor:.1f} |")
    write_s, roll_up_s = sealing_cost(pieces)
    lines += [
        "",
        f"Writing a million such rows takes {write_s:.1f} s, and summing up their response times {roll_up_s:.1f} s. "
        "A step of 8 clients and 5,400",
        "seconds has 130,000 rows.",
    ]
    return "\n".join(lines) + "\n"


FILES = """
`WHERE run_id = ...` opens only the files of that run, 1 of 200; `tests/store/test_scale.py` tests this. Posts and
commands open the files of their runs only (`store/narrow.py`). Your own join with `run_steps` opens all files, but
reads only the row groups of its runs and steps; only short steps share a row group. Histograms and worst responses come
from `response_times`, and from `ops` only for steps without such rows.
"""

BYTES = """
Assumptions for each client of the base: 500 insert statements a second in l.i0 and 350 in l.i1 (200 million rows per
client in 11,500 s, from the published fairness table); 2, 10 and 20 paced statements of 50 rows; and 4,500 queries a
second. Response times are spread as widely as in real runs: 7,400 queries a second fill about 300 bins, 150 insert
statements about 100. The slowest and the fastest dbms differ by a factor of two.

A histogram of n answers is n draws from a distribution. Even an encoding that knew the exact distribution of each
second would need the entropy of the draws. At thousands of queries a second, this alone is more than the target. Most
of what we need beyond it describes which bins are used, because each list of bins starts from scratch, and intended
times. Before encodings were chosen by type, a row took 162 bytes.

We also tried dictionaries (140 bytes for the counts of a second of 4,500 queries; 122 if stored byte by byte),
differences (139), zstd at level 19 (116, at fifty times the time), brotli (112; 5 bytes less for a whole row), and
storing a zero for a single empty bin between two others (2 to 3 % less).
"""


def spread(values: list[float], digits: int = 2) -> str:
    return f"{statistics.median(values):,.{digits}f} ({min(values):,.{digits}f} to {max(values):,.{digits}f})"


if __name__ == "__main__":
    main()
