"""Logs that are damaged in every way that we can think of: never a traceback, never a second that the whole log lacks.

Nor an interval, of logs whose lines stand for more than a second.

A log of sysbench has a last part, which is what its totals have beyond its lines; it is no second and not compared.
"""

from __future__ import annotations

import gzip
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ibench_lib.errors import UsageError
from ibench_lib.importers import benchbase, go_tpc, hammerdb, iibench, linkbench, sysbench, tpcc_mysql
from ibench_lib.importers.importer import Importer, ImportRequest
from ibench_lib.importers.source import Source
from tests.importers.benchbase_files import BASE, counts_of, raw, summary, windows
from tests.importers.go_tpc_logs import log as go_tpc_log
from tests.importers.hammerdb_logs import log as hammerdb_log
from tests.importers.iibench_logs import client_log
from tests.importers.linkbench_logs import request_log, stats_csv, stream_csv
from tests.importers.rows import rows_of
from tests.importers.sysbench_logs import json_alone, log, old_log
from tests.importers.tpcc_logs import log as tpcc_log

TOLD = ImportRequest("small", "my8033.cy10a")
OTHER = "   1, trx: 607, 95%: 5.224, 99%: 7.076, max_rt: 17.592, 606|7.066, 61|1.104, 61|14.565, 61|26.283\n" * 3
PLACES = 2_000
QUERIES = client_log(ips=(500, 500, 500, 500), each=50, dps=True, qps=1600, rate=500, get_min_s="0.003")
FUZZED = ((100, 110, 120, 90), (50, 40, 30, 20))
FEW = (20, 30, 40, 10)
LONGER = log((100, 110, 120, 90), every=10, seconds="40.0011")
LONGER_CSV = log((100, 110, 120, 90), every=10, seconds="40.0011", form="csv")
FORMATS: dict[str, tuple[Importer, str, str, str]] = {
    "sysbench": (sysbench.IMPORTER, "oltp_read_write.log", log((100, 110, 120, 90)), QUERIES),
    "sysbench, CSV": (sysbench.IMPORTER, "oltp_read_write.log", log((100, 110, 120, 90), form="csv"), QUERIES),
    "sysbench 0.5": (sysbench.IMPORTER, "oltp_read_write.log", old_log((100, 110, 120, 90)), QUERIES),
    "sysbench, JSON": (sysbench.IMPORTER, "oltp_read_write.log", json_alone((100, 110, 120, 90)), QUERIES),
    "sysbench, 10 s": (sysbench.IMPORTER, "oltp_read_write.log", LONGER, QUERIES),
    "sysbench, CSV of 10 s": (sysbench.IMPORTER, "oltp_read_write.log", LONGER_CSV, QUERIES),
    "sysbench 0.5, 10 s": (sysbench.IMPORTER, "oltp_read_write.log", old_log((100, 110, 120, 90), every=10), QUERIES),
    "sysbench, JSON of 10 s": (sysbench.IMPORTER, "oltp_read_write.log", json_alone((100, 110, 120, 90), 10), QUERIES),
    "iibench": (iibench.IMPORTER, "qr500.L1/o.ib.dop1.1", QUERIES, log()),
    "tpcc-mysql": (tpcc_mysql.IMPORTER, "run.log", tpcc_log(), log()),
    "linkbench": (linkbench.IMPORTER, "req.txt", request_log(FUZZED), log()),
    "linkbench, CSV": (linkbench.IMPORTER, "csv/req.stream.csv", stream_csv(FUZZED), log()),
    "tpcc-mysql, 10 s": (tpcc_mysql.IMPORTER, "run.log", tpcc_log(every=10), log()),
    "linkbench, 10 s": (linkbench.IMPORTER, "req.txt", request_log(FUZZED, every_ms=10_000), log()),
    "linkbench, CSV of 10 s": (linkbench.IMPORTER, "csv/req.stream.csv", stream_csv(FUZZED, 10_000), log()),
    "go-tpc, 10 s": (go_tpc.IMPORTER, "run.log", go_tpc_log(every=10), log()),
    "go-tpc, JSON of 10 s": (go_tpc.IMPORTER, "run.log", go_tpc_log(form="json", every=10, command=None), log()),
    "go-tpc": (go_tpc.IMPORTER, "run.log", go_tpc_log(), log()),
    "go-tpc, table": (go_tpc.IMPORTER, "run.log", go_tpc_log(form="table"), log()),
    "go-tpc, JSON": (go_tpc.IMPORTER, "run.log", go_tpc_log(form="json"), log()),
    "benchbase, requests": (benchbase.IMPORTER, f"bb/{BASE}.raw.csv", raw(FEW), log()),
    "benchbase, windows": (benchbase.IMPORTER, f"bb/{BASE}.results.Payment.csv", windows(FEW), log()),
    "benchbase, summary": (benchbase.IMPORTER, f"bb/{BASE}.summary.json", summary(FEW), log()),
    "hammerdb": (hammerdb.IMPORTER, "run.log", hammerdb_log(), log()),
}
# Further forms of a format whose lines are read in the same way.
FORMS = (
    *("sysbench, CSV of 10 s", "sysbench 0.5, 10 s", "sysbench, JSON of 10 s"),
    *("tpcc-mysql, 10 s", "linkbench, 10 s", "linkbench, CSV of 10 s", "go-tpc, 10 s", "go-tpc, JSON of 10 s"),
    *("sysbench, JSON", "go-tpc, table", "go-tpc, JSON", "benchbase, windows", "benchbase, summary"),
)
# A log without seconds has the figure that it prints, so one whose seconds are damaged has it, too.
PRINTED = {"tpcc-mysql": {("run", "notpm", 6300.0)}, "go-tpc": {("run", "notpm", 6000.0)}}
OF_TYPES = {f"{BASE}.results.{name}.csv": windows(counts) for name, counts in counts_of(FEW).items()}
NEXT_TO_IT = {
    "linkbench, CSV": {"req.csv": stats_csv(FUZZED)},
    "linkbench, CSV of 10 s": {"req.csv": stats_csv(FUZZED)},
    "benchbase, requests": {f"{BASE}.summary.json": summary(FEW)},
    "benchbase, windows": {
        f"{BASE}.summary.json": summary(FEW),
        **{name: text for name, text in OF_TYPES.items() if "Payment" not in name},
    },
    "benchbase, summary": OF_TYPES,
}


def damaged(text: str, other: str, dice: random.Random, places: int = PLACES) -> Iterator[tuple[str, bytes]]:
    """Every kind of damage, each at many places."""
    content = text.encode()
    lines = text.splitlines(keepends=True)
    # A log that is longer than there are places is cut at half of them.
    cuts = range(0, len(content), 1 if len(content) < places else 2 * len(content) // places + 1)
    for place in cuts:
        yield f"cut at byte {place}", content[:place]
    for number in range(places - len(cuts)):
        place = dice.randrange(len(content))
        kind = number % 5
        line = dice.randrange(len(lines))
        if kind == 0:
            yield f"NUL at byte {place}", content[:place] + b"\0" + content[place:]
        elif kind == 1:
            yield f"line {line + 1} twice", "".join([*lines[: line + 1], *lines[line:]]).encode()
        elif kind == 2:
            inserted = dice.choice([OTHER, other])
            yield f"another log at line {line + 1}", "".join([*lines[:line], inserted, *lines[line:]]).encode()
        elif kind == 3:
            yield f"not UTF-8 at byte {place}", content[:place] + b"\xff" + content[place:]
        else:
            words = lines[line].rstrip("\n").split("\t" if "\t" in lines[line] else ",")
            dice.shuffle(words)
            swapped = ("\t" if "\t" in lines[line] else ",").join(words) + "\n"
            yield f"columns of line {line + 1} swapped", "".join([*lines[:line], swapped, *lines[line + 1 :]]).encode()
    yield "CRLF", text.replace("\n", "\r\n").encode()
    yield "CR", text.replace("\n", "\r").encode()
    yield "UTF-16", text.encode("utf-16")
    yield "lines twice", "".join(2 * line for line in lines).encode()
    yield "log twice", 2 * content
    packed = gzip.compress(content)
    yield "packed and cut", packed[: len(packed) // 2]


def seconds_of(importer: Importer, path: Path, whole_s: int) -> set[tuple[Any, ...]]:
    """The seconds before the last part, the intervals, and the figures that were printed."""
    with Source(path) as source:
        found: set[tuple[Any, ...]] = set()
        for run in importer.runs(source, TOLD):
            found |= {(row["step"], row["metric"], row["value"]) for row in rows_of(run, "published")}
            found |= {
                (row["step"], row["client"], row["operation"], row["end_s"], row["seconds"], row["ops_per_s"])
                for row in rows_of(run, "intervals")
            }
            found |= {
                (
                    row["step"],
                    row["client"],
                    row["worker"],
                    row["operation"],
                    row["second"],
                    row["ops"],
                    row.get("rows"),
                )
                for row in rows_of(run, "ops")
                if row["second"] < whole_s
            }
        return found


@pytest.mark.slow
@pytest.mark.parametrize("name", FORMATS)
def test_no_damage_makes_a_second(tmp_path: Path, name: str) -> None:
    importer, file, text, other = FORMATS[name]
    path = tmp_path / file
    path.parent.mkdir(parents=True, exist_ok=True)
    given = path if path.parent == tmp_path else path.parent
    whole_s = 3 if name.startswith("sysbench") else 4
    path.write_text(text)
    for other_file, intact in NEXT_TO_IT.get(name, {}).items():
        (path.parent / other_file).write_text(intact)
    whole = seconds_of(importer, given, whole_s)
    assert whole
    refused = 0
    whole |= PRINTED.get(name.partition(",")[0], set())
    places = PLACES // 4 if name in FORMS else PLACES
    for what, content in damaged(text, other, random.Random(name), places):
        path.write_bytes(content)
        try:
            found = seconds_of(importer, given, whole_s)
        except UsageError as error:
            assert str(tmp_path) in error.what and "\n" not in error.what, what
            refused += 1
            continue
        assert found <= whole, what
    assert refused < places
