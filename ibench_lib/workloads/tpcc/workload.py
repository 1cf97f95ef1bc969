"""TPC-C, as the runner finds it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from ibench_lib.base.later import later
from ibench_lib.client.driver import DriverMissing, statements_of
from ibench_lib.client.spec import Spec
from ibench_lib.workloads.tpcc import checks, statements, steps, tables
from ibench_lib.workloads.tpcc import options as files
from ibench_lib.workloads.tpcc.profiles import PROFILES, STANDARD, deviations
from ibench_lib.workloads.tpcc.steps import Step
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

if TYPE_CHECKING:
    from ibench_lib.workloads.tpcc import nurand
else:
    nurand = later("ibench_lib.workloads.tpcc.nurand")  # with numpy, which a plan does without

EDITION = 1
"""Of the rows and statements that the same options make."""


class Tpcc(Workload):
    """Orders, payments and deliveries of a wholesale supplier, after the TPC-C specification. Its rate is no tpmC."""

    name = "tpcc"
    title = "TPC-C"
    Options: type[CommonOptions] = files.Options
    Setup: type[CommonSetup] = files.Setup
    presets: Mapping[str, CommonSetup] = files.PRESET_SETUPS
    operations: tuple[Operation, ...] = steps.OPERATIONS
    kinds: tuple[StepKind, ...] = steps.KINDS
    step_forms = ", ".join(files.STEPS)

    def steps(self, options: files.Options, setup: files.Setup, scale: float) -> list[Step]:
        return steps.plan(options, setup, scale)

    def step_names(self, options: files.Options) -> list[str]:
        return list(files.STEPS)

    def kind_of(self, step: str) -> str | None:
        return step if step in files.STEPS else None

    def needs(self, options: files.Options) -> Needs:
        return Needs.of(options.engine)

    def tables(self, options: files.Options, setup: files.Setup) -> list[str]:
        return tables.names(setup.sets)

    def prepare(self, options: files.Options, setup: files.Setup, family: str) -> list[str]:
        sql = statements_of(statements, family)
        if why := sql.why_not(options):
            raise DriverMissing(why)
        made: list[str] = sql.create(
            setup.sets,
            engine=options.engine,
            history_key=options.history_key == "auto_increment",
            charset=options.charset,
        )
        return made

    def workers(self, options: files.Options, step: Step) -> list[Worker]:
        return steps.workers(options, step)

    def spec(self, options: files.Options, step: Step, worker: Worker, step_id: int) -> Spec:
        return steps.spec(options, step, worker, step_id)

    def checks(self, options: files.Options, step: Step, rows: Mapping[str, int]) -> list[Check]:
        # Between ramp-up and run, checks would read all tables into the buffer pool.
        if step.kind not in ("load", "run"):
            return []
        after_load = step.kind == "load"
        made = checks.population(step.sets, step.warehouses, rows) if after_load else []
        made += checks.row_counts(step.sets, rows) if options.count_rows else []
        names = checks.wanted(options.checks, after_load=after_load)
        drawn = checks.drawn(options.checks, step.sets, step.warehouses, options.seed)
        for end in tables.suffixes(step.sets):
            # The load has nothing of the profile's.
            made += checks.conditions(end, names, STANDARD if after_load else PROFILES[options.profile], drawn)
            made += checks.ledger(end, step.warehouses, rows)
        return made

    def background(self, options: files.Options, step: Step) -> list[str]:
        return []

    def work(self, options: files.Options, planned: Sequence[Step]) -> list[Work]:
        return steps.work(planned)

    def disk_bytes(self, options: files.Options, planned: Sequence[Step]) -> int:
        return steps.disk_bytes(options, planned)

    def loaded_rows(self, options: files.Options, planned: Sequence[Step]) -> int:
        return tables.loaded_rows(planned[0].sets, planned[0].warehouses)

    def load_key(self, options: files.Options, planned: Sequence[Step]) -> dict[str, str]:
        """What decides the rows. Cells that differ in terminals or seconds share a load, as long as nothing has run."""
        size = planned[0]
        decisive = options.model_dump(
            include={"benchmark", "profile", "engine", "foreign_keys", "indexes", "history_key", "charset", "seed"}
        )
        values = {
            "workload": json.dumps(decisive, sort_keys=True),
            "edition": str(EDITION),
            "sets": str(size.sets),
            "warehouses": str(size.warehouses),
            "steps": ", ".join(step.name for step in planned),
        }
        if any(step.churns for step in planned):
            values["options"] = json.dumps(options.model_dump(), sort_keys=True)
            values["terminals"] = str(size.terminals)
            values["seconds"] = ", ".join(str(step.seconds) for step in planned)
        return values

    def edition(self, options: files.Options) -> int | None:
        return None

    def describe(self, options: files.Options, setup: files.Setup, planned: Sequence[Step]) -> dict[str, Any]:
        drawn = checks.drawn(options.checks, planned[0].sets, planned[0].warehouses, options.seed)
        return {
            **options.model_dump(),
            "edition": EDITION,
            "protocol": steps.protocol_of(options),
            "deviations": deviations(options.profile),
            "setup": setup.model_dump(),
            "resolved_steps": [steps.described(step) for step in planned],
            "warehouses_used": planned[0].warehouses,
            "drawn_warehouses": drawn,
            "drawn_conditions": checks.of_drawn(options.checks) if drawn else [],
            "nurand_constants": asdict(nurand.Constants.of(options.seed)),
        }


WORKLOAD: Workload = Tpcc()
