"""The steps of sysbench and their client process."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ibench_lib.client.spec import Spec
from ibench_lib.workloads import workload
from ibench_lib.workloads.sysbench.microbenchmarks import TESTS
from ibench_lib.workloads.sysbench.options import ChosenTest, Options, Setup
from ibench_lib.workloads.workload import Check, Operation, StepKind, Work, Worker, rows_check

OPERATIONS = (
    Operation("row", "row", "ops", "rows/s"),
    Operation("preparation", "preparation", "ops", "preparations/s"),
    Operation("transaction", "transaction", "ops", "transactions/s"),
    *(Operation(name, "query", "ops", "queries/s") for name in ("read", "write", "other")),
)
KINDS = (
    StepKind("prepare", main="row"),
    StepKind("prepare_own", main="preparation", compared=False),
    StepKind("prepare_empty", main="preparation", compared=False),
    StepKind("warm_up", main="transaction", compared=False),
    StepKind("test", main="transaction"),
)
PREPARE, PREPARE_OWN, PREPARE_EMPTY, WARM_UP = "prepare", "prepare_own", "prepare_empty", ".warm_up"
_MAKES = (PREPARE, PREPARE_OWN, PREPARE_EMPTY)
SYSBENCH_TPCC = "tpcc"
"""A Lua test of others that is known by its name, because there are many logs of it."""
INSERTED = "inserted rows"
"""The rule that a test that fills empty tables has put in as many rows as it counts."""
ANY_TEST = ChosenTest(test="oltp_read_write")
"""All tests that do not make tables have the same ones."""
BYTES_OF_ROW = 240
"""On disk, as observed with MariaDB 10.11: clustered index and secondary index."""
# Of two cores. Used only if the lake has no run of this host.
_GUESSED_RATES = {"prepare": 40_000.0, "prepare_own": 1 / 60, "prepare_empty": 10.0, "warm_up": 500.0, "test": 500.0}


@dataclass(frozen=True, kw_only=True)
class Step(workload.Step):
    """One step. `tables` and `table_size` are those of the setup, `test` and `threads` those of its client."""

    test: ChosenTest
    threads: int
    tables: int
    table_size: int


def names(options: Options) -> list[str]:
    """The names of the steps if every test has a warm-up; without one, those of the warm-ups are missing."""
    named: list[str] = []
    for preparation, test, threads in _rounds(options):
        warm_up = [] if test.known.warms or test.known.makes_tables else [_name(test, threads) + WARM_UP]
        named += [*filter(None, [preparation]), *warm_up, _name(test, threads)]
    return named


def plan(options: Options, setup: Setup, scale: float) -> list[Step]:
    """The steps of a run: the setup's rows and seconds times `scale`, whole and at least one."""
    size = max(1, round(setup.table_size * scale))
    of_all: dict[str, Any] = {"tables": setup.tables, "table_size": size}
    loaders = min(setup.tables, os.cpu_count() or 1)
    wait_s = _original_wait_s(setup.tables * size) if options.settle == "original" else None
    planned: list[Step] = []
    previous = None
    for preparation, test, threads in _rounds(options):
        if preparation:
            kind, prepares, with_threads = PREPARE, ANY_TEST, loaders
            if test.known.makes_tables:  # one for each of its threads
                kind, prepares, with_threads = PREPARE_EMPTY, test, threads
            elif options.prepare:
                kind, prepares = PREPARE_OWN, options.prepare
            of_step: dict[str, Any] = {"name": preparation, "form": preparation, "kind": kind}
            planned.append(Step(**of_step, test=prepares, threads=with_threads, **of_all))
        of_test: dict[str, Any] = {
            "test": test, "churns": not test.known.reads_only, "target_per_s": test.rate, "threads": threads, **of_all
        }  # fmt: skip
        if previous is not None and previous != test and previous.known.settles and options.settle != "none":
            of_test |= {"settle_before": True, "settle_s": wait_s}
        for of_part, called, seconds in _parts(test, threads, setup):
            timed = float(max(1, round(seconds * scale)))
            planned.append(Step(name=called, form=called, kind=of_part, seconds=timed, **of_test))
            of_test |= {"settle_before": False, "settle_s": None}
        previous = test
    return planned


def kind_of(step: str) -> str | None:
    """The kind of a step by its name."""
    if re.fullmatch(rf"{PREPARE}(\.[2-9]|\.[1-9][0-9]+)?", step):
        return "prepare"
    test, _, threads = step.removesuffix(WARM_UP).rpartition(".t")
    if test not in (*TESTS, SYSBENCH_TPCC) or not threads.isdecimal():
        return None
    return "warm_up" if step.endswith(WARM_UP) or (test in TESTS and TESTS[test].warms) else "test"


def workers(options: Options, step: Step) -> list[Worker]:
    """One sysbench, with a connection for each thread."""
    counted = {PREPARE: ("row",), PREPARE_OWN: ("preparation",), PREPARE_EMPTY: ("preparation",)}
    operations = counted.get(step.kind, ("transaction", "read", "write", "other"))
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
            "command": "prepare" if step.kind in _MAKES else "run",
            "script": step.test.known.script,
            "is_ours": step.test.known.is_ours,
            "makes_tables": step.test.known.makes_tables,
            "ledger": step.name,
            "own": step.test.known.script if step.test.known.is_own else None,
            "lua_files": [asdict(file) for file in options.lua_files.values()],
            "options": step.test.all_options,
            "rate": step.test.rate,
            "threads": step.threads,
            "tables": step.tables,
            "table_size": step.test.known.rows or step.table_size,
            "engine": options.engine,
            "rand_type": options.rand_type,
            "db_ps_mode": options.db_ps_mode,
        },
    )


def checks(options: Options, step: Step, rows: Mapping[str, int]) -> list[Check]:
    """That each table has the rows that were prepared, where a test does not change their number.

    Of a test that fills empty tables, that they have together as many rows as sysbench has counted transactions; `rows`
    has these under the step's name.
    """
    if step.test.known.makes_tables and step.kind == "test" and options.count_rows:
        counts = (f"(SELECT COUNT(*) FROM sbtest{number})" for number in range(1, step.threads + 1))
        subject, proves = "the number of rows of all tables", "sysbench has counted"
        return [Check(f"SELECT {' + '.join(counts)}", rows.get(step.name, 0), INSERTED, subject, proves)]
    if step.test.known.changes_rows or not (options.count_rows or step.kind == PREPARE):
        return []
    if step.kind != PREPARE and (options.prepare or any(test.known.is_own for test in options.tests)):
        return []  # nobody knows what the user's own tests have done
    proves = "sysbench was told to prepare"
    return [rows_check(f"sbtest{number}", step.table_size, proves) for number in range(1, step.tables + 1)]


def work(steps: Sequence[Step]) -> list[Work]:
    """The rows that are prepared; tests end by the clock."""
    return [
        Work(
            {PREPARE: step.tables * step.table_size, PREPARE_OWN: 1, PREPARE_EMPTY: 1}.get(step.kind),
            _GUESSED_RATES[step.kind],
        )
        for step in steps
    ]


def _rounds(options: Options) -> Iterator[tuple[str | None, ChosenTest, int]]:
    """Each test with each number of threads, and the name of the preparation that it needs."""
    number, is_fresh = 0, False
    for test in options.tests:
        for threads in options.threads:
            preparation = None
            if not is_fresh or test.known.makes_tables:
                number += 1
                preparation = PREPARE if number == 1 else f"{PREPARE}.{number}"
            yield preparation, test, threads
            is_fresh = not test.consumes


def _name(test: ChosenTest, threads: int) -> str:
    return f"{test.label}.t{threads}"


def _parts(test: ChosenTest, threads: int, setup: Setup) -> list[tuple[str, str, float]]:
    """Kind, name and seconds of the steps of a test; one that only warms up needs no other warm-up."""
    name = _name(test, threads)
    if test.known.warms:
        return [("warm_up", name, setup.seconds)]
    warms_up = setup.warm_up and not test.known.makes_tables
    return [*([("warm_up", name + WARM_UP, setup.warm_up)] if warms_up else []), ("test", name, setup.seconds)]


def _original_wait_s(rows: int) -> float:
    """How long the scripts of the microbenchmarks let the server settle: a minute, and a second per million rows."""
    return min(60 + rows / 1e6, 1200.0)
