"""The steps of TPC-C and their client processes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ibench_lib.client.spec import Spec
from ibench_lib.errors import ExperimentError
from ibench_lib.workloads import workload
from ibench_lib.workloads.tpcc import tables
from ibench_lib.workloads.tpcc.mix import TYPES, mean_s
from ibench_lib.workloads.tpcc.options import Options, Setup
from ibench_lib.workloads.tpcc.parts import statements_of
from ibench_lib.workloads.tpcc.profiles import PROFILES
from ibench_lib.workloads.workload import Operation, StepKind, Work, Worker, sharing

OPERATIONS = (
    Operation("insert", "insert", "rows", "rows/s"),
    Operation("create_index", "index", "ops", "rows indexed/s"),
    *(Operation(name, "transaction", "ops", "transactions/s") for name in TYPES),
)

KINDS = (
    StepKind("load", main="insert"),
    StepKind("index", main="index", of_existing_rows=True),
    StepKind("ramp_up", main="transaction", compared=False),
    StepKind("run", main="transaction"),
)

_MOST_PREPARED = 16_382
"""The default of max_prepared_stmt_count."""

CLIENT_MODULE = "ibench_lib.workloads.tpcc.client"

# Of all clients, as measured on two cores with MariaDB 10.11. Used only if the lake has no run of this host.
_GUESSED_RATES = {"load": 150_000.0, "index": 400_000.0, "ramp_up": 500.0, "run": 500.0}


@dataclass(frozen=True, kw_only=True)
class Step(workload.Step):
    """One step. `sets`, `warehouses` of each set, and `terminals` are the resolved size."""

    sets: int
    warehouses: int
    terminals: int


def plan(options: Options, setup: Setup, scale: float) -> list[Step]:
    """The steps of a run: the setup's warehouses and seconds times `scale`, whole and at least one.

    Raises
    ------
    ExperimentError : so many transactions that a column would overflow, at the rate or the assumed one.
    """
    warehouses = max(1, round(setup.warehouses * scale))
    size: dict[str, Any] = {"sets": setup.sets, "warehouses": warehouses, "terminals": setup.terminals}
    rows = tables.loaded_rows(setup.sets, warehouses)
    seconds = {"ramp_up": setup.ramp_up, "run": setup.seconds}
    _require_few_prepared(options, setup)
    _require_columns_that_fit(options, setup, warehouses, scale * sum(seconds.values()))
    return [
        # Loaders have about the same amount: the lines of an order are random.
        Step(name="load", form="load", kind="load", amount=rows // _loaders(options, setup.sets, warehouses), **size),
        Step(name="index", form="index", kind="index", **size),
        *(
            Step(
                name=name,
                form=name,
                kind=name,
                seconds=float(max(1, round(planned * scale))),
                # As that of each of the `clients` of the step: a process without a terminal leaves its share to others.
                target_per_s=options.rate and options.rate / options.clients,
                churns=True,
                **size,
            )
            for name, planned in seconds.items()
        ),
    ]


def _assumed_rate(options: Options, terminals: int) -> float:
    """Transactions/s of all terminals: the one that the options name, or the assumed one; at most what waits allow."""
    if options.think_time is not None:
        return min(_GUESSED_RATES["run"], terminals / (options.think_time * mean_s(options.weights)))
    return options.rate or _GUESSED_RATES["run"]


def _require_few_prepared(options: Options, setup: Setup) -> None:
    if protocol_of(options) != "prepared":
        return
    profile = PROFILES[options.profile]
    of_set = len(profile.statements) + (0 if profile.all_dists else tables.DISTRICTS - 1)
    needed = of_set * setup.sets * setup.terminals
    if needed > _MOST_PREPARED:
        raise ExperimentError(
            f"setup {setup.name}: its terminals would prepare {needed:,} statements, {of_set} for each set, but a "
            f"server has room for {_MOST_PREPARED:,} (max_prepared_stmt_count)",
            hint="use fewer sets or terminals in the setup, or set protocol: text",
        )


def _require_columns_that_fit(options: Options, setup: Setup, warehouses: int, seconds: float) -> None:
    rate, used = _assumed_rate(options, setup.terminals), setup.sets * warehouses
    if options.home == "fixed":
        used = min(used, setup.terminals)
    limits = [("payment", "payments to", "the sum w_ytd", tables.MOST_PAYMENTS)]
    if not PROFILES[options.profile].peer_stock:
        limits.append(("new_order", "new orders of", "the counts s_order_cnt", tables.MOST_NEW_ORDERS))
    for operation, what, column, most in limits:
        share = options.weights[TYPES.index(operation)] / sum(options.weights)
        expected = share * rate * seconds / used
        if expected > most:
            raise ExperimentError(
                f"setup {setup.name}: about {expected / 1e6:,.1f} million {what} each warehouse, at {rate:,.0f} "
                f"transactions/s, would overflow {column}, which {'has' if column.startswith('the sum') else 'have'} "
                f"room for {most / 1e6:g} million",
                hint="use more warehouses or fewer seconds in the setup",
            )


def _loaders(options: Options, sets: int, warehouses: int) -> int:
    """How many processes load: each has a part of a district at least."""
    return min(options.clients, sets * warehouses * tables.DISTRICTS)


def workers(options: Options, step: Step) -> list[Worker]:
    """The client processes of a step: no more than there are districts to load, sets to index, or terminals."""
    if step.kind == "load":
        loaders = _loaders(options, step.sets, step.warehouses)
        return [Worker(client=client, role="loader", operations=("insert",)) for client in range(1, loaders + 1)]
    if step.kind == "index":
        return [
            Worker(client=client, role="indexer", operations=("create_index",))
            for client in range(1, min(options.clients, step.sets) + 1)
        ]
    return sharing(step.terminals, options.clients, "terminal", TYPES)


def spec(options: Options, step: Step, worker: Worker, step_id: int) -> Spec:
    """The specification of a client process."""
    processes = len(workers(options, step))
    details = {
        "step_id": step_id,
        "sets": step.sets,
        "warehouses": step.warehouses,
        "processes": processes,
        "engine": options.engine,
        "foreign_keys": options.foreign_keys,
        "indexes": options.indexes,
        "isolation": options.isolation,
        "home": options.home,
        "weights": options.weights,
        "profile": options.profile,
        "protocol": protocol_of(options),
        "think_time": options.think_time,
    }
    statements: int | None = None
    if step.kind == "load":
        statements = statements_of(step.sets, step.warehouses, worker.client - 1, processes)
    elif step.kind == "index":
        statements = len(tables.index_statements(details, worker.client))
    return Spec(
        module=CLIENT_MODULE,
        role=worker.role,
        client=worker.client,
        number=worker.number,
        operations=worker.operations,
        statements=statements,
        seconds=step.seconds,
        tick_ns=round(1e9 * processes / (step.target_per_s * options.clients)) if step.target_per_s else None,
        timeout_s=options.statement_timeout_s,
        seed=options.seed,
        connections=worker.connections,
        details=details,
    )


def protocol_of(options: Options) -> str:
    """The protocol of the statements: the one that the options name, or that of the profile."""
    return options.protocol or PROFILES[options.profile].protocol


def work(steps: Sequence[Step]) -> list[Work]:
    """The rows that are loaded, and that indexes are made of."""
    return [
        Work(
            tables.loaded_rows(step.sets, step.warehouses) if step.seconds is None else None, _GUESSED_RATES[step.kind]
        )
        for step in steps
    ]


def disk_bytes(options: Options, steps: Sequence[Step]) -> int:
    """About how large the tables are on disk, as observed with MariaDB 10.11: not an upper limit.

    What the transactions add is counted at their rate, or at the assumed one. 0 without a step.
    """
    if not steps:
        return 0
    size = steps[0]
    loaded = size.sets * (tables.BYTES_OF_ITEMS + size.warehouses * tables.BYTES_OF_WAREHOUSE)
    rate = _assumed_rate(options, size.terminals)
    seconds = sum(step.seconds or 0.0 for step in steps)
    new_orders = options.weights[0] / sum(options.weights)
    return loaded + round(new_orders * rate * seconds * tables.BYTES_OF_NEW_ORDER)


def described(step: Step) -> dict[str, Any]:
    """A step in the manifest."""
    return {
        "name": step.name,
        "form": step.form,
        "kind": step.kind,
        "seconds": step.seconds,
        "rate": step.target_per_s,
    }
