"""The steps of a user's commands, and their client process."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ibench_lib.client.spec import Spec
from ibench_lib.errors import ExperimentError
from ibench_lib.workloads import workload
from ibench_lib.workloads.command.options import Command, MeasuredCommand, Options, Setup
from ibench_lib.workloads.command.placeholders import OF_THE_SERVER, PASSWORD, PYTHON
from ibench_lib.workloads.workload import Check, Operation, StepKind, Work, Worker

OPERATIONS = (
    Operation("command", "command", "ops", "commands/s"),
    Operation("operation", "operation", "ops", "operations/s"),
)
KINDS = (
    StepKind("prepare", main="command", compared=False),
    StepKind("command", main="operation"),
    StepKind("cleanup", main="command", compared=False),
)
_GUESSED_S = 60.0
"""For a command whose time nobody knows yet."""
_GUESSED_PER_S = 1000.0


@dataclass(frozen=True, kw_only=True)
class Step(workload.Step):
    """One step. `values` are those of the placeholders that do not depend on the server."""

    command: Command
    threads: int
    values: dict[str, str]


def names(options: Options) -> list[str]:
    """The names of all steps, in order."""
    return [name for _, _, name, _ in _all(options)]


def plan(options: Options, setup: Setup, scale: float) -> list[Step]:
    """The steps of a run: seconds and amounts times `scale`, whole and at least one.

    Raises
    ------
    ExperimentError : a command has a placeholder for which nothing stands, as in this setup.
    """
    planned: list[Step] = []
    for kind, command, name, threads in _all(options):
        seconds = float(max(1, round(setup.seconds * scale)))
        own: dict[str, object] = {**setup.values, "seed": options.seed, "threads": threads}
        amount = getattr(command, "amount", None)
        if amount is not None:
            own["amount"] = amount = max(1, round(amount * scale))
        named = options.placeholders(command)
        is_timed = "seconds" in named
        if is_timed:
            own["seconds"] = f"{seconds:g}"
        files = {*options.scripts, *options.private_files}
        known = {*own, *OF_THE_SERVER, *files, PASSWORD, PYTHON}
        for place in named:
            if place not in known:
                raise ExperimentError(
                    f"step {command.name} has {{{place}}}, and nothing in setup {setup.name} stands for it",
                    hint=f"give it in `values` of the setup, or in `scripts` or `private_files`; "
                    f"{{{{{place}}}}} stands for {{{place}}} itself",
                )
        if both := sorted(files & setup.values.keys()):
            raise ExperimentError(f"{{{both[0]}}} is a value of setup {setup.name} and a file: rename one of them")
        planned.append(
            Step(
                name=name,
                form=command.name,
                kind=kind,
                seconds=seconds if is_timed else None,
                amount=amount,
                churns=True,
                command=command,
                threads=threads,
                values={place: str(value) for place, value in own.items()},
            )
        )
    return planned


def spec(options: Options, step: Step, worker: Worker, step_id: int) -> Spec:
    """The specification of the process that runs the command of a step."""
    command = step.command
    measured = command if isinstance(command, MeasuredCommand) else None
    return Spec(
        module="ibench_lib.workloads.command.client",
        role=worker.role,
        client=worker.client,
        number=worker.number,
        operations=worker.operations,
        statements=None,
        seconds=step.seconds,
        tick_ns=None,
        timeout_s=options.statement_timeout_s,
        seed=options.seed,
        connections=worker.connections,
        drives=True,
        details={
            "argv": [str(argument) for argument in command.argv],
            "values": step.values,
            "scripts": {name: list(place) for name, place in options.places.items()},
            "private_files": options.private_files,
            "lines": measured.lines.model_dump() if measured and measured.lines else None,
            "total": measured.total if measured else None,
            "amount": step.amount if measured else 1,
            "at_most_s": None if step.seconds is not None else command.at_most_s,
        },
    )


def workers(options: Options, step: Step) -> list[Worker]:
    """One command; what it connects with is its own, as many connections as it has threads."""
    operation = "operation" if step.kind == "command" else "command"
    return [Worker(client=1, role="command", operations=(operation,), connections=step.threads)]


def checks(step: Step) -> list[Check]:
    """The statements that the user has given, with what each has to return."""
    return [
        Check(check.statement, check.expected, "given", f"`{check.statement}`", "the experiment expects")
        for check in step.command.checks
    ]


def work(steps: Sequence[Step]) -> list[Work]:
    """What ends the steps: seconds, an amount, or the command itself."""
    return [
        Work(step.amount, _GUESSED_PER_S)
        if step.amount is not None
        else Work(None if step.seconds is not None else 1, 1 / _GUESSED_S)
        for step in steps
    ]


def _all(options: Options) -> Iterator[tuple[str, Command, str, int]]:
    """Kind, command, name and number of threads of each step."""
    most = max(options.threads or [1])
    for command in options.prepare:
        yield "prepare", command, command.name, most
    for measured in options.steps:
        for threads in options.threads or [1]:
            yield "command", measured, measured.name + (f".t{threads}" if options.threads else ""), threads
    for command in options.cleanup:
        yield "cleanup", command, command.name, most
