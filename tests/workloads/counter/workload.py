"""The smallest workload: one table, an operation of one statement and one of a transaction. It proves the seam."""

from collections.abc import Mapping, Sequence
from typing import Any

from ibench_lib.client.spec import Spec
from ibench_lib.workloads.workload import (
    Check,
    CommonOptions,
    CommonSetup,
    Needs,
    Operation,
    Step,
    StepKind,
    Work,
    Worker,
    rows_check,
)


class Options(CommonOptions):
    connections: int = 1
    rate: float | None = None


class Setup(CommonSetup):
    rows: int
    seconds: float


class Counter:
    name, title, Options, Setup = "counter", "Counter", Options, Setup
    presets: Mapping[str, CommonSetup] = {"small": Setup(name="small", rows=100, seconds=2.0)}
    operations = (
        Operation("add", "add", "rows", "adds/s"),
        Operation("bump", "hit", "ops", "hits/s"),
        Operation("move", "hit", "ops", "hits/s"),
    )
    kinds = (StepKind("fill", main="add", equal_work=True), StepKind("play", main="hit"))

    def steps(self, options: Options, setup: Setup, scale: float) -> list[Step]:
        return [
            Step(name="fill", form="fill", kind="fill", amount=round(setup.rows * scale), rows_per_commit=1),
            Step(name="play", form="play", kind="play", seconds=setup.seconds, target_per_s=options.rate, churns=True),
        ]

    def step_names(self, options: Options) -> list[str]:
        return ["fill", "play"]

    def kind_of(self, step: str) -> str | None:
        return step if step in ("fill", "play") else None

    def needs(self, options: Options) -> Needs:
        return Needs()

    def tables(self, options: Options, setup: Setup) -> list[str]:
        return [f"counter{client}" for client in range(1, options.clients + 1)]

    def prepare(self, options: Options, setup: Setup, family: str) -> list[str]:
        return [
            f"CREATE TABLE {table} (id INT PRIMARY KEY, n BIGINT NOT NULL)" for table in self.tables(options, setup)
        ]

    def workers(self, options: Options, step: Step) -> list[Worker]:
        operations, connections = (("add",), 1) if step.kind == "fill" else (("bump", "move"), options.connections)
        return [
            Worker(client=client, role=step.kind, operations=operations, connections=connections)
            for client in range(1, options.clients + 1)
        ]

    def spec(self, options: Options, step: Step, worker: Worker, step_id: int) -> Spec:
        return Spec(
            module="tests.workloads.counter.client",
            role=worker.role,
            client=worker.client,
            number=worker.number,
            operations=worker.operations,
            statements=step.amount,
            seconds=step.seconds,
            tick_ns=round(1e9 / step.target_per_s) if step.target_per_s else None,
            timeout_s=options.statement_timeout_s,
            seed=options.seed,
            connections=worker.connections,
            details={"table": f"counter{worker.client}"},
        )

    def checks(self, options: Options, step: Step, rows: Mapping[str, int]) -> list[Check]:
        tables = {name: n for name, n in rows.items() if "." not in name}
        counts = [rows_check(table, n, "clients have added") for table, n in tables.items()]
        sums = [
            Check(
                f"SELECT SUM(n) % 10 FROM {table}",
                0,
                "units",
                f"the last digit of the sum of {table}",
                "each move keeps the sum, each bump adds ten to make",
            )
            for table in tables
        ]
        tens = [
            Check(
                f"SELECT SUM(n) DIV 10 FROM {name.partition('.')[0]}",
                n,
                "ledger",
                "the tens",
                "clients have acknowledged",
            )
            for name, n in rows.items()
            if name not in tables
        ]
        return [*counts, *sums, *tens]

    def background(self, options: Options, step: Step) -> list[str]:
        return []

    def work(self, options: Options, steps: Sequence[Step]) -> list[Work]:
        return [Work(None if step.amount is None else step.amount * options.clients, 1000.0) for step in steps]

    def disk_bytes(self, options: Options, steps: Sequence[Step]) -> int:
        return 1 << 20

    def loaded_rows(self, options: Options, steps: Sequence[Step]) -> int:
        return (steps[0].amount or 0) * options.clients

    def load_key(self, options: Options, steps: Sequence[Step]) -> dict[str, str]:
        return {"rows": str(steps[0].amount)}

    def edition(self, options: Options) -> int | None:
        return None

    def describe(self, options: Options, setup: Setup, steps: Sequence[Step]) -> dict[str, Any]:
        resolved = [{"name": step.name, "kind": step.kind, "amount": step.amount} for step in steps]
        return {**options.model_dump(), "setup": setup.model_dump(), "resolved_steps": resolved}


WORKLOAD = Counter()
