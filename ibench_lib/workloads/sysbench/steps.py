"""The steps of sysbench and their client process."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ibench_lib.client.spec import Spec
from ibench_lib.workloads import workload
from ibench_lib.workloads.sysbench.options import CHANGES_ROWS, TESTS, ChosenTest, Options, Setup
from ibench_lib.workloads.workload import Check, Operation, StepKind, Work, Worker, rows_check

OPERATIONS = (
    Operation("row", "row", "ops", "rows/s"),
    Operation("transaction", "transaction", "ops", "transactions/s"),
    *(Operation(name, "query", "ops", "queries/s") for name in ("read", "write", "other")),
)
KINDS = (
    StepKind("prepare", main="row"),
    StepKind("warm_up", main="transaction", compared=False),
    StepKind("test", main="transaction"),
)
PREPARE, WARM_UP = "prepare", ".warm_up"
ANY_TEST = ChosenTest(test="oltp_read_write")
"""All tests have the same tables."""
BYTES_OF_ROW = 240
"""On disk, as observed with MariaDB 10.11: clustered index and secondary index."""
# Of two cores. Used only if the lake has no run of this host.
_GUESSED_RATES = {"prepare": 40_000.0, "warm_up": 500.0, "test": 500.0}


@dataclass(frozen=True, kw_only=True)
class Step(workload.Step):
    """One step. `tables` and `table_size` are those of the setup, `test` and `threads` those of its client."""

    test: ChosenTest
    threads: int
    tables: int
    table_size: int


def names(options: Options) -> list[str]:
    """The names of the steps if every test has a warm-up; without one, those of the warm-ups are missing."""
    found: list[str] = []
    for preparation, test, threads in _rounds(options):
        found += [*filter(None, [preparation]), _name(test, threads) + WARM_UP, _name(test, threads)]
    return found


def plan(options: Options, setup: Setup, scale: float) -> list[Step]:
    """The steps of a run: the setup's rows and seconds times `scale`, whole and at least one."""
    size = max(1, round(setup.table_size * scale))
    of_all: dict[str, Any] = {"tables": setup.tables, "table_size": size}
    loaders = min(setup.tables, os.cpu_count() or 1)
    found = []
    for preparation, test, threads in _rounds(options):
        if preparation:
            found.append(
                Step(name=preparation, form=preparation, kind="prepare", test=ANY_TEST, threads=loaders, **of_all)
            )
        of_test: dict[str, Any] = {"test": test, "churns": _churns(test), "target_per_s": test.rate, **of_all}
        name = _name(test, threads)
        for kind, called, seconds in (("warm_up", name + WARM_UP, setup.warm_up), ("test", name, setup.seconds)):
            if seconds:
                timed = float(max(1, round(seconds * scale)))
                found.append(Step(name=called, form=called, kind=kind, seconds=timed, threads=threads, **of_test))
    return found


def kind_of(step: str) -> str | None:
    """The kind of a step by its name."""
    if re.fullmatch(rf"{PREPARE}(\.[2-9]|\.[1-9][0-9]+)?", step):
        return "prepare"
    test, _, threads = step.removesuffix(WARM_UP).rpartition(".t")
    if test not in TESTS or not threads.isdecimal():
        return None
    return "warm_up" if step.endswith(WARM_UP) else "test"


def workers(options: Options, step: Step) -> list[Worker]:
    """One sysbench, with a connection for each thread."""
    operations = ("row",) if step.kind == "prepare" else ("transaction", "read", "write", "other")
    return [Worker(client=1, role="sysbench", operations=operations, connections=step.threads)]


def spec(options: Options, step: Step, worker: Worker, step_id: int) -> Spec:
    """The specification of the process that drives sysbench."""
    return Spec(
        module="ibench_lib.workloads.sysbench.client",
        role=worker.role,
        client=worker.client,
        number=worker.number,
        operations=worker.operations,
        statements=None,
        seconds=step.seconds,
        tick_ns=None,
        timeout_s=options.statement_timeout_s,
        seed=options.seed + step_id,
        connections=worker.connections,
        drives=True,
        details={
            "command": "prepare" if step.kind == "prepare" else "run",
            "test": step.test.test,
            "options": step.test.options,
            "rate": step.test.rate,
            "threads": step.threads,
            "tables": step.tables,
            "table_size": step.table_size,
            "engine": "innodb",
            "rand_type": options.rand_type,
            "db_ps_mode": options.db_ps_mode,
        },
    )


def checks(options: Options, step: Step) -> list[Check]:
    """That each table has the rows that were prepared, where a test does not change their number."""
    if step.test.test in CHANGES_ROWS or not (options.count_rows or step.kind == "prepare"):
        return []
    proves = "sysbench was told to prepare"
    return [rows_check(f"sbtest{number}", step.table_size, proves) for number in range(1, step.tables + 1)]


def work(steps: Sequence[Step]) -> list[Work]:
    """The rows that are prepared; tests end by the clock."""
    return [
        Work(step.tables * step.table_size if step.kind == "prepare" else None, _GUESSED_RATES[step.kind])
        for step in steps
    ]


def _rounds(options: Options) -> Iterator[tuple[str | None, ChosenTest, int]]:
    """Each test with each number of threads, and the name of the preparation that it needs."""
    number, is_fresh = 0, False
    for test in options.tests:
        for threads in options.threads:
            preparation = None
            if not is_fresh:
                number += 1
                preparation = PREPARE if number == 1 else f"{PREPARE}.{number}"
            yield preparation, test, threads
            is_fresh = test.test not in CHANGES_ROWS


def _name(test: ChosenTest, threads: int) -> str:
    return f"{test.label}.t{threads}"


def _churns(test: ChosenTest) -> bool:
    return not test.test.startswith("select") and test.test not in ("oltp_point_select", "oltp_read_only")
