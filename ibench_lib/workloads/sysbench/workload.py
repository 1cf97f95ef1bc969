"""sysbench, as the runner finds it: a program of another make, driven by `events.lua`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from ibench_lib.client.driver import DriverMissing, statements_of
from ibench_lib.client.spec import Spec
from ibench_lib.workloads.programs import ProgramHere
from ibench_lib.workloads.sysbench import options as files
from ibench_lib.workloads.sysbench import program, servers, steps
from ibench_lib.workloads.sysbench.steps import Step
from ibench_lib.workloads.workload import (
    Check,
    CommonOptions,
    CommonSetup,
    Needs,
    Operation,
    StepKind,
    Work,
    Worker,
    Workload,
)


class Sysbench(Workload):
    """The tests of sysbench 1.0 on its tables, by one sysbench process."""

    name = "sysbench"
    title = "sysbench"
    Options: type[CommonOptions] = files.Options
    Setup: type[CommonSetup] = files.Setup
    presets: Mapping[str, CommonSetup] = files.PRESET_SETUPS
    operations: tuple[Operation, ...] = steps.OPERATIONS
    kinds: tuple[StepKind, ...] = steps.KINDS
    step_forms = "prepare, oltp_read_write.t4 for a test with 4 threads, oltp_read_write.t4.warm_up"

    def programs(self, options: files.Options, family: str | None) -> list[ProgramHere]:
        """What speaks against the driver, the Lua files and the options of tests; one at most."""
        why = program.why_not(options, family)
        return [] if why is None else [why]

    def steps(self, options: files.Options, setup: files.Setup, scale: float) -> list[Step]:
        return steps.plan(options, setup, scale)

    def step_names(self, options: files.Options) -> list[str]:
        return steps.names(options)

    def kind_of(self, step: str) -> str | None:
        return steps.kind_of(step)

    def needs(self, options: files.Options) -> Needs:
        return Needs.of(options.engine)

    def tables(self, options: files.Options, setup: files.Setup) -> list[str]:
        if options.prepare:
            return []  # nobody knows what it makes
        return [f"sbtest{number}" for number in range(1, setup.tables + 1)]

    def prepare(self, options: files.Options, setup: files.Setup, family: str) -> list[str]:
        if why := statements_of(servers, family).why_not(options):
            raise DriverMissing(why)
        return []  # sysbench makes its tables

    def workers(self, options: files.Options, step: Step) -> list[Worker]:
        return steps.workers(options, step)

    def spec(self, options: files.Options, step: Step, worker: Worker, step_id: int) -> Spec:
        return steps.spec(options, step, worker, step_id)

    def checks(self, options: files.Options, step: Step, rows: Mapping[str, int]) -> list[Check]:
        return steps.checks(options, step, rows)

    def background(self, options: files.Options, step: Step) -> list[str]:
        return []

    def work(self, options: files.Options, planned: Sequence[Step]) -> list[Work]:
        return steps.work(planned)

    def disk_bytes(self, options: files.Options, planned: Sequence[Step]) -> int:
        return self.loaded_rows(options, planned) * steps.BYTES_OF_ROW

    def loaded_rows(self, options: files.Options, planned: Sequence[Step]) -> int:
        return next((step.tables * step.table_size for step in planned if step.kind == steps.PREPARE), 0)

    def load_key(self, options: files.Options, planned: Sequence[Step]) -> dict[str, str]:
        """What decides the rows: those of the tables, and all that tests have changed since."""
        churned = any(step.churns for step in planned)
        of_tables = {"benchmark", "engine", "rand_type", "seed"} | ({"prepare", "lua"} if options.prepare else set())
        if any(step.kind == steps.PREPARE_EMPTY for step in planned):
            of_tables |= {"tests", "threads"}  # each has tables of its own
        decisive = None if churned else of_tables
        return {
            "workload": json.dumps(options.model_dump(include=decisive), sort_keys=True),
            "program": program.identity().get("sha256", ""),
            "tables": f"{planned[0].tables} x {planned[0].table_size}" if planned else "",
            "steps": ", ".join(f"{step.name} {step.seconds}" if churned else step.name for step in planned),
        }

    def edition(self, options: files.Options) -> int | None:
        return None

    def describe(self, options: files.Options, setup: files.Setup, planned: Sequence[Step]) -> dict[str, Any]:
        return {
            **options.model_dump(),
            "setup": setup.model_dump(),
            "program": program.identity(),
            "resolved_steps": [
                {
                    "name": step.name,
                    "form": step.form,
                    "kind": step.kind,
                    "seconds": step.seconds,
                    "rate": step.target_per_s,
                    "threads": step.threads,
                    "tables": step.tables,
                    "table_size": step.table_size,
                    "settle_before": step.settle_before,
                    "test": step.test.resolved(),
                }
                for step in planned
            ],
        }


WORKLOAD: Workload = Sysbench()
