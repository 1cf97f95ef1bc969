"""A workload whose client is a program of another make. It proves the seam of programs."""

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
)


class Options(CommonOptions):
    pass


class Setup(CommonSetup):
    seconds: float


class Driven:
    name, title, Options, Setup = "driven", "Driven", Options, Setup
    presets: Mapping[str, CommonSetup] = {"short": Setup(name="short", seconds=6.0)}
    operations = (Operation("update", "update", "ops", "updates/s"),)
    kinds = (StepKind("update", main="update"),)
    step_forms = "update"

    def steps(self, options: Options, setup: Setup, scale: float) -> list[Step]:
        return [Step(name="update", form="update", kind="update", seconds=setup.seconds, churns=True)]

    def step_names(self, options: Options) -> list[str]:
        return ["update"]

    def kind_of(self, step: str) -> str | None:
        return step if step == "update" else None

    def needs(self, options: Options) -> Needs:
        return Needs()

    def tables(self, options: Options, setup: Setup) -> list[str]:
        return ["driven"]

    def prepare(self, options: Options, setup: Setup, family: str) -> list[str]:
        rows = ", ".join(f"({number}, 0)" for number in range(100))
        return ["CREATE TABLE driven (id INT PRIMARY KEY, n BIGINT NOT NULL)", f"INSERT INTO driven VALUES {rows}"]

    def workers(self, options: Options, step: Step) -> list[Worker]:
        return [Worker(client=1, role="program", operations=("update",))]

    def spec(self, options: Options, step: Step, worker: Worker, step_id: int) -> Spec:
        return Spec(
            module="tests.workloads.driven.client",
            role=worker.role,
            client=worker.client,
            number=worker.number,
            operations=worker.operations,
            statements=None,
            seconds=step.seconds,
            tick_ns=None,
            timeout_s=options.statement_timeout_s,
            seed=options.seed,
            drives=True,
        )

    def checks(self, options: Options, step: Step, rows: Mapping[str, int]) -> list[Check]:
        return []

    def background(self, options: Options, step: Step) -> list[str]:
        return []

    def work(self, options: Options, steps: Sequence[Step]) -> list[Work]:
        return [Work(None, 1000.0) for _ in steps]

    def disk_bytes(self, options: Options, steps: Sequence[Step]) -> int:
        return 1 << 20

    def loaded_rows(self, options: Options, steps: Sequence[Step]) -> int:
        return 0

    def load_key(self, options: Options, steps: Sequence[Step]) -> dict[str, str]:
        return {}

    def edition(self, options: Options) -> int | None:
        return None

    def describe(self, options: Options, setup: Setup, steps: Sequence[Step]) -> dict[str, Any]:
        resolved = [{"name": step.name, "kind": step.kind, "seconds": step.seconds} for step in steps]
        return {**options.model_dump(), "setup": setup.model_dump(), "resolved_steps": resolved}


WORKLOAD = Driven()
