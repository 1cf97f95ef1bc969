"""The Insert Benchmark's tables, and the client processes of its steps.

One table per client (`pi1` ... `piN`), or one for all. Per client one connection and one process for each role:
inserter, deleter in steps that delete, queriers in steps that query. What those processes send is in `client.py`.
"""

from __future__ import annotations

from dataclasses import dataclass

from ibench_lib.client.spec import Spec
from ibench_lib.workloads import workload
from ibench_lib.workloads.insert_benchmark.options import Options
from ibench_lib.workloads.insert_benchmark.steps import Step
from ibench_lib.workloads.workload import Operation

OPERATIONS = (
    Operation("insert", "insert", "rows", "inserts/s"),
    Operation("delete", "delete", "rows", "deletes/s"),
    Operation("create_index", "index", "ops", "rows indexed/s"),
    Operation("point_query", "query", "ops", "queries/s"),
    Operation("range_query", "query", "ops", "queries/s"),
)

CLIENT_MODULE = "ibench_lib.workloads.insert_benchmark.client"


@dataclass(frozen=True, kw_only=True)
class Worker(workload.Worker):
    """`probes`: it does its client's get_min."""

    table: str
    probes: bool = False


def tables(options: Options) -> list[str]:
    """Names of the benchmark tables."""
    return [f"pi{client}" for client in range(1, (options.clients if options.tables == "per_client" else 1) + 1)]


def workers(options: Options, step: Step) -> list[Worker]:
    """The client processes of a step, by client."""
    team = []
    for client in range(1, options.clients + 1):
        table = tables(options)[client - 1 if options.tables == "per_client" else 0]
        if step.kind == "index":
            if client <= len(tables(options)) and options.secondary_indexes:
                operations = ("create_index",)
                team.append(Worker(client=client, role="indexer", operations=operations, table=table, probes=True))
            continue
        team.append(
            Worker(
                client=client,
                role="inserter",
                operations=("insert",),
                table=table,
                pair="deleter" if step.deletes else None,
                probes=not step.deletes,
            )
        )
        if step.deletes:
            # The deleter needs the smallest key anyway: its first look is the client's get_min probe.
            # It shares it with the point queriers, which never ask for it themselves.
            team.append(
                Worker(
                    client=client,
                    role="deleter",
                    operations=("delete",),
                    table=table,
                    leads=False,
                    probes=True,
                    shares=step.query == "point",
                )
            )
        if step.query:
            queries = (f"{step.query}_query",)
            team += [
                Worker(
                    client=client,
                    role="querier",
                    operations=queries,
                    table=table,
                    leads=False,
                    number=number,
                    shares=step.query == "point",
                )
                for number in range(options.queriers)
            ]
    return team


def spec(options: Options, step: Step, worker: Worker, step_id: int) -> Spec:
    """The specification of a client process."""
    writes = worker.role in ("inserter", "deleter")
    statements: int | None = None
    if worker.role == "indexer":
        # MyRocks builds one index per ALTER, as its users do.
        statements = options.secondary_indexes if options.engine == "rocksdb" else 1
    elif writes and step.amount is not None:
        statements = step.amount // step.rows_per_commit
    return Spec(
        module=CLIENT_MODULE,
        role=worker.role,
        client=worker.client,
        number=worker.number,
        operations=worker.operations,
        statements=statements,
        seconds=step.seconds,
        tick_ns=step.tick_ns if writes else None,
        timeout_s=options.statement_timeout_s,
        seed=options.seed,
        probes=worker.probes,
        details={
            "step_id": step_id,
            "clock_s": step.clock_s,
            "table": worker.table,
            "rows_per_commit": step.rows_per_commit,
            "query": step.query,
            "query_rows": options.query_rows,
            "data_length": list(options.data_length),
            "secondary_indexes": options.secondary_indexes,
            "engine": options.engine,
            "bulk_load": options.rocksdb_bulk_load and step.kind == "load",
            "protocol": options.protocol,
        },
    )
