"""LinkBench, as the runner finds it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from ibench_lib.client.driver import DriverMissing, statements_of
from ibench_lib.client.spec import Spec
from ibench_lib.workloads.linkbench import checks, population, statements, steps, tables
from ibench_lib.workloads.linkbench import options as files
from ibench_lib.workloads.linkbench.inputs import MIX
from ibench_lib.workloads.linkbench.steps import Step
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

EDITION = 2
"""Of the statements that the same options send: 2 sends several in one packet, and shuffles the steps of repeats."""

LOAD_EDITION = 1
"""Of the rows that the same options load."""


class LinkBench(Workload):
    """Reads and writes of a social graph, after the LinkBench of Facebook."""

    name = "linkbench"
    title = "LinkBench"
    Options: type[CommonOptions] = files.Options
    Setup: type[CommonSetup] = files.Setup
    presets: Mapping[str, CommonSetup] = files.PRESET_SETUPS
    operations: tuple[Operation, ...] = steps.OPERATIONS
    kinds: tuple[StepKind, ...] = steps.KINDS
    step_forms = "load, index, warm_up, t1 for one requester, control"

    def steps(self, options: files.Options, setup: files.Setup, scale: float) -> list[Step]:
        return steps.plan(options, setup, scale)

    def step_names(self, options: files.Options) -> list[str]:
        return steps.names(options)

    def kind_of(self, step: str) -> str | None:
        return steps.kind_of(step)

    def needs(self, options: files.Options) -> Needs:
        return Needs.of(options.engine)

    def tables(self, options: files.Options, setup: files.Setup) -> list[str]:
        return list(tables.NAMES)

    def prepare(self, options: files.Options, setup: files.Setup, family: str) -> list[str]:
        sql = statements_of(statements, family)
        if why := sql.why_not(options):
            raise DriverMissing(why)
        made: list[str] = sql.create(
            options.tables, options.partitions, options.engine, secondary=options.secondary_index == "before"
        )
        return made

    def workers(self, options: files.Options, step: Step) -> list[Worker]:
        return steps.workers(options, step)

    def spec(self, options: files.Options, step: Step, worker: Worker, step_id: int) -> Spec:
        return steps.spec(options, step, worker, step_id)

    def checks(self, options: files.Options, step: Step, rows: Mapping[str, int]) -> list[Check]:
        made: list[Check] = []
        if step.kind == "load":
            made += checks.population(rows, population.rows_by_table(options.graph(step.nodes)))
        if options.count_rows:
            made += checks.row_counts(rows) + checks.sums(rows)
        return made + checks.counts(min(step.nodes, options.checked_ids))

    def background(self, options: files.Options, step: Step) -> list[str]:
        return []

    def work(self, options: files.Options, planned: Sequence[Step]) -> list[Work]:
        return steps.work(options, planned)

    def disk_bytes(self, options: files.Options, planned: Sequence[Step]) -> int:
        return steps.disk_bytes(options, planned)

    def loaded_rows(self, options: files.Options, planned: Sequence[Step]) -> int:
        return sum(population.rows_by_table(options.graph(planned[0].nodes)).values())

    def load_key(self, options: files.Options, planned: Sequence[Step]) -> dict[str, str]:
        """What decides the rows. Before any request, cells that differ in requesters or seconds share a load."""
        decisive = {"benchmark", "engine", "tables", "partitions", "degree_tail", "distribution"}
        decisive |= {"secondary_index", "seed"}
        churned = any(step.churns for step in planned)
        values = {
            "workload": json.dumps(options.model_dump(include=None if churned else decisive), sort_keys=True),
            "edition": str(EDITION if churned else LOAD_EDITION),
            "nodes": str(planned[0].nodes),
            "steps": ", ".join(step.name for step in planned),
        }
        if churned:
            values["seconds"] = ", ".join(str(step.seconds) for step in planned)
        return values

    def edition(self, options: files.Options) -> int | None:
        return EDITION

    def describe(self, options: files.Options, setup: files.Setup, planned: Sequence[Step]) -> dict[str, Any]:
        graph = options.graph(planned[0].nodes)
        return {
            **options.model_dump(),
            "edition": EDITION,
            "setup": setup.model_dump(),
            "resolved_steps": [steps.described(step) for step in planned],
            "nodes_used": graph.nodes,
            "loaded": population.rows_by_table(graph),
            "mix": MIX,
        }


WORKLOAD: Workload = LinkBench()
