"""The Insert Benchmark, as the runner finds it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from ibench_lib.client.driver import statements_of
from ibench_lib.client.spec import Spec
from ibench_lib.workloads.insert_benchmark import options as files
from ibench_lib.workloads.insert_benchmark import statements, step_kinds, steps, workers
from ibench_lib.workloads.insert_benchmark.steps import Step
from ibench_lib.workloads.insert_benchmark.workers import Worker
from ibench_lib.workloads.workload import (
    Check,
    CommonOptions,
    CommonSetup,
    Needs,
    Operation,
    StepKind,
    Work,
    Workload,
    rows_check,
)

EDITION = 2
"""Of the rows and statements that the same options make. `results/deviations.json` says what each edition does."""


class InsertBenchmark(Workload):
    """Inserts and deletes at the two ends of tables with three secondary indexes, and queries on them."""

    name = "insert_benchmark"
    title = "Insert Benchmark"
    Options: type[CommonOptions] = files.Options
    Setup: type[CommonSetup] = files.Setup
    presets: Mapping[str, CommonSetup] = files.PRESET_SETUPS
    operations: tuple[Operation, ...] = workers.OPERATIONS
    kinds: tuple[StepKind, ...] = steps.KINDS
    step_forms = "l.i0, l.x, l.i1, l.i2, and q100, qr100 or qp100 for queries"

    def steps(self, options: files.Options, setup: files.Setup, scale: float) -> list[Step]:
        return steps.plan(options, setup, scale)

    def step_names(self, options: files.Options) -> list[str]:
        return files.step_names(options)

    def kind_of(self, step: str) -> str | None:
        return step_kinds.kind_of(step)

    def needs(self, options: files.Options) -> Needs:
        return Needs.of(options.engine)

    def tables(self, options: files.Options, setup: files.Setup) -> list[str]:
        return workers.tables(options)

    def prepare(self, options: files.Options, setup: files.Setup, family: str) -> list[str]:
        sql = statements_of(statements, family)
        return [sql.create_table(table, options.engine) for table in workers.tables(options)]

    def workers(self, options: files.Options, step: Step) -> list[Worker]:
        return workers.workers(options, step)

    def spec(self, options: files.Options, step: Step, worker: Worker, step_id: int) -> Spec:
        return workers.spec(options, step, worker, step_id)

    def checks(self, options: files.Options, step: Step, rows: Mapping[str, int]) -> list[Check]:
        proves = "the clients' acknowledged inserts and deletes leave"
        if not options.count_rows:
            return []
        return [rows_check(table, count, proves) for table, count in rows.items()]

    def background(self, options: files.Options, step: Step) -> list[str]:
        return [f"SELECT 1 FROM {workers.tables(options)[0]} LIMIT 1"]

    def work(self, options: files.Options, planned: Sequence[Step]) -> list[Work]:
        return steps.work(options, planned)

    def disk_bytes(self, options: files.Options, planned: Sequence[Step]) -> int:
        return steps.disk_bytes(options, planned)

    def loaded_rows(self, options: files.Options, planned: Sequence[Step]) -> int:
        return steps.loaded_rows(options, planned)

    def load_key(self, options: files.Options, planned: Sequence[Step]) -> dict[str, str]:
        """All options, the part of each step that determines its rows, and the edition of the rows themselves."""
        values = {"workload": json.dumps(options.model_dump(), sort_keys=True), "edition": str(EDITION)}
        for number, step in enumerate(planned):
            decisive = {"name": step.name, "form": step.form, "rows": step.amount, "seconds": step.seconds}
            values |= {f"step {number} {key}": str(value) for key, value in decisive.items() if value is not None}
        return values

    def edition(self, options: files.Options) -> int | None:
        """Edition 1, which had none in a cell's identity, is as good wherever its figures are the same.

        They are not in steps of point queries, which waited for the smallest key, nor where rows are compressed.
        """
        points = any(spec.step.startswith("qp") for spec in files.step_specs(options.steps))
        return EDITION if points or options.engine == "rocksdb" else None

    def describe(self, options: files.Options, setup: files.Setup, planned: Sequence[Step]) -> dict[str, Any]:
        return {
            **options.model_dump(),
            "edition": EDITION,
            "setup": setup.model_dump(),
            "resolved_steps": [steps.described(step) for step in planned],
            "tables_used": workers.tables(options),
        }


WORKLOAD: Workload = InsertBenchmark()
