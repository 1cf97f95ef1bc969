"""A command of a user's own, as the runner finds it: any program that loads a server, described in the experiment."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from ibench_lib.client.external import cannot_start
from ibench_lib.client.spec import Spec
from ibench_lib.workloads.command import options as files
from ibench_lib.workloads.command import steps
from ibench_lib.workloads.command.placeholders import named_in
from ibench_lib.workloads.command.steps import Step
from ibench_lib.workloads.programs import ProgramHere
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


class Command(Workload):
    """Commands with placeholders, one process at a time."""

    name = "command"
    title = "a command of your own"
    Options: type[CommonOptions] = files.Options
    Setup: type[CommonSetup] = files.Setup
    presets: Mapping[str, CommonSetup] = files.PRESET_SETUPS
    operations: tuple[Operation, ...] = steps.OPERATIONS
    kinds: tuple[StepKind, ...] = steps.KINDS
    step_forms = "as the experiment names them"

    def programs(self, options: files.Options, family: str | None) -> list[ProgramHere]:
        """The programs of all commands, as this machine has them."""
        return [_here(name) for name in _programs(options)]

    def steps(self, options: files.Options, setup: files.Setup, scale: float) -> list[Step]:
        return steps.plan(options, setup, scale)

    def step_names(self, options: files.Options) -> list[str]:
        return steps.names(options)

    def kind_of(self, step: str) -> str | None:
        return None  # any name may be one of its steps, so a name says nothing

    def needs(self, options: files.Options) -> Needs:
        return Needs()

    def tables(self, options: files.Options, setup: files.Setup) -> list[str]:
        return []

    def prepare(self, options: files.Options, setup: files.Setup, family: str) -> list[str]:
        return []

    def workers(self, options: files.Options, step: Step) -> list[Worker]:
        return steps.workers(options, step)

    def spec(self, options: files.Options, step: Step, worker: Worker, step_id: int) -> Spec:
        return steps.spec(options, step, worker, step_id)

    def checks(self, options: files.Options, step: Step, rows: Mapping[str, int]) -> list[Check]:
        return steps.checks(step)

    def background(self, options: files.Options, step: Step) -> list[str]:
        return []

    def work(self, options: files.Options, planned: Sequence[Step]) -> list[Work]:
        return steps.work(planned)

    def disk_bytes(self, options: files.Options, planned: Sequence[Step]) -> int:
        return round(options.disk_gb * 1e9)

    def loaded_rows(self, options: files.Options, planned: Sequence[Step]) -> int:
        return 0

    def load_key(self, options: files.Options, planned: Sequence[Step]) -> dict[str, str]:
        """All that these commands are given: what they do with it nobody knows."""
        return {
            "workload": json.dumps(options.model_dump(include={"benchmark", "scripts", "private_files"})),
            "programs": json.dumps({name: _digest(name) for name in _programs(options)}),
            "steps": json.dumps(
                [[step.name, step.command.model_dump(), step.values, step.seconds] for step in planned], default=str
            ),
        }

    def edition(self, options: files.Options) -> int | None:
        return None

    def describe(self, options: files.Options, setup: files.Setup, planned: Sequence[Step]) -> dict[str, Any]:
        return {
            **options.model_dump(),
            "setup": setup.model_dump(),
            "programs": {Path(name).name: _digest(name) for name in _programs(options)},
            "resolved_steps": [
                {
                    "name": step.name,
                    "form": step.form,
                    "kind": step.kind,
                    "seconds": step.seconds,
                    "amount": step.amount,
                    "threads": step.threads,
                    "argv": list(step.command.argv),
                    "values": step.values,
                }
                for step in planned
            ],
        }


def _programs(options: files.Options) -> list[str]:
    """The programs that are named as such; one that is a placeholder is known at its step only."""
    return sorted({command.program for command in options.commands if not named_in(command.program)})


def _here(name: str) -> ProgramHere:
    why = cannot_start(name)
    if why is not None:
        fix = "install it, or give its whole path in `argv`"
        return ProgramHere(name, None, f"benchmark: command needs {why}", fix)
    return ProgramHere(name, shutil.which(name))


@cache
def _digest(name: str) -> str:
    """SHA-256 of a program; empty if it cannot be read."""
    try:
        return hashlib.sha256(Path(shutil.which(name) or name).read_bytes()).hexdigest()
    except OSError:
        return ""


WORKLOAD: Workload = Command()
