"""The steps of LinkBench and their client processes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ibench_lib.client.spec import Spec
from ibench_lib.workloads import workload
from ibench_lib.workloads.linkbench import inputs, population, tables
from ibench_lib.workloads.linkbench.options import Options, Setup
from ibench_lib.workloads.workload import Operation, StepKind, Work, Worker, sharing

OPERATIONS = (
    Operation("insert", "insert", "rows", "rows/s"),
    Operation("create_index", "index", "ops", "rows indexed/s"),
    *(Operation(name, "request", "ops", "ops/s") for name in inputs.OPERATIONS),
)

KINDS = (
    StepKind("load", main="insert"),
    StepKind("index", main="index", of_existing_rows=True),
    StepKind("warm_up", main="request", compared=False),
    StepKind("requests", main="request"),
    StepKind("control", main="request", compared=False),
)

CONTROL = "control"

CLIENT_MODULE = "ibench_lib.workloads.linkbench.client"

# Of all clients, as assumed for two cores. Used only if the lake has no run of this host.
_GUESSED_RATES = {"load": 60_000.0, "index": 300_000.0, "warm_up": 6000.0, "requests": 6000.0, "control": 6000.0}


@dataclass(frozen=True, kw_only=True)
class Step(workload.Step):
    """One step. `nodes` are those of the load; `requesters` are 0 in steps that send no requests."""

    nodes: int
    requesters: int


def names(options: Options) -> list[str]:
    """The names of the steps, in order."""
    return [name for name, _, _ in _forms(options)]


def plan(options: Options, setup: Setup, scale: float) -> list[Step]:
    """The steps of a run: the setup's nodes and seconds times `scale`, whole and at least one."""
    nodes = max(1, round(setup.nodes * scale))
    seconds = {"warm_up": setup.warm_up, "requests": setup.seconds, "control": setup.seconds}
    return [
        Step(
            name=name,
            form=name,
            kind=kind,
            seconds=float(max(1, round(seconds[kind] * scale))) if kind in seconds else None,
            # Loaders have about the same amount.
            amount=_loaded(options, nodes) // options.clients if kind == "load" else None,
            target_per_s=options.rate / _processes(options, requesters) if options.rate and requesters else None,
            churns=requesters > 0,
            nodes=nodes,
            requesters=requesters,
        )
        for name, kind, requesters in _forms(options)
    ]


def kind_of(step: str) -> str | None:
    """The kind of a step by its name."""
    fixed = {"load": "load", "index": "index", "warm_up": "warm_up", CONTROL: "control"}
    return fixed.get(step) or ("requests" if step[:1] == "t" and step[1:].isdecimal() else None)


def workers(options: Options, step: Step) -> list[Worker]:
    """The client processes of a step: no more than there are requesters or parts to load; one makes the index."""
    if step.kind == "load":
        count = population.loaders(options.graph(step.nodes), options.clients)
        return [Worker(client=client, role="loader", operations=("insert",)) for client in range(1, count + 1)]
    if step.kind == "index":
        return [Worker(client=1, role="indexer", operations=("create_index",))]
    return sharing(step.requesters, options.clients, "requester", inputs.OPERATIONS)


def spec(options: Options, step: Step, worker: Worker, step_id: int) -> Spec:
    """The specification of a client process."""
    processes = len(workers(options, step))
    statements: int | None = None
    if step.kind == "load":
        parts = population.parts_of(options.graph(step.nodes), worker.client - 1, processes)
        statements = sum(part.statements for part in parts)
    elif step.kind == "index":
        statements = 1
    return Spec(
        module=CLIENT_MODULE,
        role=worker.role,
        client=worker.client,
        number=worker.number,
        operations=worker.operations,
        statements=statements,
        seconds=step.seconds,
        tick_ns=round(1e9 / step.target_per_s) if step.target_per_s else None,
        timeout_s=options.statement_timeout_s,
        seed=options.seed,
        connections=worker.connections,
        details={
            "step_id": step_id,
            "nodes": step.nodes,
            "tail": options.degree_tail,
            "points": options.points,
            "engine": options.engine,
            "processes": processes,
            "statements": options.statements,
            "tables": options.tables,
        },
    )


def work(options: Options, steps: Sequence[Step]) -> list[Work]:
    """The rows that are loaded, and that the index is made of."""
    rows = _loaded(options, steps[0].nodes) if steps else 0
    return [Work(rows if step.seconds is None else None, _GUESSED_RATES[step.kind]) for step in steps]


def disk_bytes(options: Options, steps: Sequence[Step]) -> int:
    """About how large the tables are on disk, as observed with MariaDB 10.11: not an upper limit. 0 without a step.

    What the requests add is counted at their rate, or at the assumed one.
    """
    if not steps:
        return 0
    rows = population.rows_by_table(options.graph(steps[0].nodes))
    each = {
        tables.NODE: tables.BYTES_OF_NODE,
        tables.LINK: tables.BYTES_OF_LINK,
        tables.COUNT: tables.BYTES_OF_COUNT,
    }
    rate = options.rate or _GUESSED_RATES["requests"]
    added = rate * sum(step.seconds or 0.0 for step in steps) * tables.BYTES_OF_OPERATION
    return sum(rows[table] * size for table, size in each.items()) + round(added)


def described(step: Step) -> dict[str, Any]:
    """A step in the manifest."""
    return {
        "name": step.name,
        "form": step.form,
        "kind": step.kind,
        "seconds": step.seconds,
        "rate": step.target_per_s,
        "requesters": step.requesters,
    }


def _forms(options: Options) -> list[tuple[str, str, int]]:
    """Name, kind and requesters of each step. The warm-up has the most requesters: it reads what they will need."""
    forms = [("load", "load", 0)]
    if options.secondary_index == "after":
        forms.append(("index", "index", 0))
    forms.append(("warm_up", "warm_up", max(options.requesters)))
    forms += [(f"t{requesters}", "requests", requesters) for requesters in options.requesters]
    if options.control:
        forms.append((CONTROL, "control", options.requesters[0]))
    return forms


def _processes(options: Options, requesters: int) -> int:
    return min(options.clients, requesters)


def _loaded(options: Options, nodes: int) -> int:
    return sum(population.rows_by_table(options.graph(nodes)).values())
