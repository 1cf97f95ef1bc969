"""The strip that says what was run: its facts follow the answers that it is made from."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import polars as pl
import pytest

from ibench_lib.show.kit.what_was_run import setups_said, what_was_run

RUN = {
    "build": "mysql-9.7", "config": "base", "setup": "cached", "dbms": "mysql-9.7.base", "dbms_position": 1,
    "repeat": 1, "clients": 2, "server_version": "9.7.0", "cell_order": "shuffle 42", "source": None,
    "origin": None, "origin_wall": datetime(2026, 11, 21, 15, 52),
}  # fmt: skip
STEP = {
    "setup": "cached", "dbms": "mysql-9.7.base", "dbms_position": 1, "repeat": 1, "step": "l.i0", "step_id": 0,
    "step_status": "complete", "kind": "load", "duration_s": 12.0, "clients": 2, "connections": 2, "compared": True,
}  # fmt: skip
HOST = {
    "runs": 1, "usable_cpus": 2, "logical_cpus": 2, "cpu_model": "EPYC <7>", "memory_bytes": 24 * 2**30,
    "filesystem": "ext4", "holds_data": True, "hypervisor": True,
}  # fmt: skip
TEXTS = dict.fromkeys(("server_version", "cell_order", "source", "origin"), pl.String)


Rows = Sequence[dict[str, Any]]


def facts(runs: Rows = ({},), steps: Rows = ({},), hosts: Rows = ({},), gaps: Rows = ()) -> dict[str, str]:
    """The cells of a strip, of rows that differ from those above."""
    schema = {"dbms": pl.String, "problem": pl.String}
    shown = what_was_run(
        pl.DataFrame([RUN | run for run in runs], schema_overrides={**TEXTS, "clients": pl.Int64}),
        pl.DataFrame([STEP | step for step in steps], schema_overrides={"duration_s": pl.Float64}),
        pl.DataFrame([HOST | host for host in hosts], schema=None if hosts else dict.fromkeys(HOST, pl.Int64)),
        pl.DataFrame(gaps, schema=schema),
    )
    cells = re.findall(r"<dt>([^<]*)</dt><dd>([^<]*)</dd>", shown.markup)
    return {name: html.unescape(text) for name, text in cells}


def test_each_fact_of_one_run_is_said() -> None:
    assert facts() == {
        "Server": "mysql-9.7 (9.7.0)",
        "Configuration": "base",
        "Setup": "cached",
        "Runs": "1, 21 Nov 2026",
        "Load": "2 clients",
        "Step": "l.i0 (12 s)",
        "Time": "12 s in the completed steps shown",
        "Host": "2 CPUs (EPYC <7>), 24.0 GiB, ext4, a virtual machine",
        "Missing": "no step, no second",
    }


def test_many_names_are_counted_and_repeats_have_an_order() -> None:
    runs = [
        {"config": f"c{n}", "dbms": f"mysql-9.7.c{n}", "repeat": repeat, "origin_wall": datetime(2026, 11, 20 + repeat)}
        for n in range(5)
        for repeat in (1, 2)
    ]
    found = facts(runs)
    assert found["Configurations"] == "5: c0, c1, c2, and 2 more"
    assert found["Runs"] == "10: 2 of each, shuffled, 21 Nov to 22 Nov 2026"
    assert facts(runs[:-1])["Runs"].startswith("9: up to 2 of each")


def test_seconds_are_those_of_complete_steps() -> None:
    steps = [{"step": "l.i0", "repeat": n, "duration_s": 10.0 * n} for n in (1, 2, 3)]
    steps += [{"step": "l.x", "step_id": 1, "step_status": "failed", "duration_s": 99.0}]
    found = facts(steps=steps)
    assert found["Steps"] == "l.i0 (10 to 30 s) and l.x" and found["Time"] == "60 s in the completed steps shown"
    many = [{"step": f"t{n}", "step_id": n} for n in range(9)]
    assert facts(steps=many)["Steps"] == "9: t0, t1, t2, and 6 more"


@pytest.mark.parametrize("origin", ["published", "imported"])
def test_what_was_not_measured_here_has_no_date_and_nothing_missing(origin: str) -> None:
    published = {"source": "a report", "origin": origin, "clients": None}
    found = facts([published], hosts=[])
    assert {"Load", "Host", "Missing"}.isdisjoint(found) and "2026" not in found["Runs"]
    assert origin in found["Runs"] and "Hosts" not in found
    mixed = facts([published, {"repeat": 2}])
    assert "2026" in mixed["Runs"] and mixed["Host"].endswith("a virtual machine (1 of 2 runs)")


def test_hosts_that_differ_and_gaps_are_said() -> None:
    gap = {"dbms": "mysql-9.7.base", "problem": "seconds without data"}
    found = facts(hosts=[{}, {"usable_cpus": 4}], gaps=[gap, gap])
    alike = facts(hosts=[{}, {"cpu_model": None}])
    assert alike["Hosts"] == "no recorded property differs"
    assert found["Hosts"] == "2 different ones" and found["Missing"] == "seconds without data, in 1 of 1 result"


def test_no_run_has_no_strip() -> None:
    none = pl.DataFrame([RUN]).clear()
    assert not what_was_run(none, pl.DataFrame([STEP]).clear(), pl.DataFrame([HOST]).clear(), pl.DataFrame())


@pytest.mark.parametrize(
    ("data", "caches", "said"),
    [
        ((45, 252), (40, 40), " (database files of 45 to 252 MiB, buffer pool of 40 MiB)"),
        ((2733, 2733), (512, 4096), " (database files of 2.7 GiB, buffer pool of 512 MiB to 4 GiB)"),
        ((0.25, 9.5), (24, None), " (database files of 256 KiB to 9.5 MiB, buffer pool of 24 MiB)"),
        ((0, None), (None, None), " (database files of 0 KiB)"),
        ((None, None), (None, None), ""),
    ],
)
def test_a_setup_has_the_sizes_of_its_data_and_caches(
    data: tuple[float | None, ...], caches: tuple[float | None, ...], said: str
) -> None:
    def of(mib: float | None) -> int | None:
        return None if mib is None else int(mib * 2**20)

    rows = [
        {"setup": "cached", "data_bytes": of(size), "cache": "buffer pool", "cache_bytes": of(cache)}
        for size, cache in zip(data, caches, strict=True)
    ]
    sizes = dict.fromkeys(("data_bytes", "cache_bytes"), pl.Int64)
    found = setups_said(pl.DataFrame([RUN]), pl.DataFrame(rows, schema_overrides=sizes))
    assert found.replace("\N{NO-BREAK SPACE}", " ") == f"setup cached{said}"
