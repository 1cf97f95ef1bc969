"""How many connections a cell needs at most, and how many its server accepts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ibench_lib.base.wording import count
from ibench_lib.configs.meaning import meaning
from ibench_lib.configs.resolve import ServerConfig
from ibench_lib.errors import ExperimentError
from ibench_lib.servers.flavours.flavour import flavour_of, rules_of
from ibench_lib.servers.server import AnyBuild
from ibench_lib.servers.variables import known_options
from ibench_lib.workloads.workload import Step, Workload

OWN_CONNECTIONS = 8
"""What ibench opens itself at most: its collectors, a transaction that is held open, and checks after a step."""


@dataclass(frozen=True)
class Demand:
    """The connections of the step that needs most, its clients' and `OWN_CONNECTIONS`."""

    step: str
    of_clients: int
    clients: int

    @property
    def total(self) -> int:
        """All connections that the server must allow."""
        return self.of_clients + OWN_CONNECTIONS


def demand(workload: Workload, options: Any, steps: Sequence[Step]) -> Demand:
    """What the clients of a cell's steps need, by the workload's own plan of its client processes."""
    of_steps = [
        Demand(step.name, sum(worker.connections for worker in workload.workers(options, step)), options.clients)
        for step in steps
    ]
    return max(of_steps, key=lambda one: one.of_clients)


def require_configured(build: AnyBuild, config: ServerConfig, needed: Demand) -> None:
    """Refuse a cell whose configuration, or whose server's default, accepts too few connections.

    What a remote server accepts is known once it is asked (`require_accepted`).

    Raises
    ------
    ExperimentError : it accepts too few.
    """
    if build.local is None:
        return
    known, name = known_options(build.local), flavour_of(build).connection_limit
    limit = _number(build, known.defaults.get(name))
    where = f"the default of {build.flavour} {build.version}"
    for option in config.options:
        if meaning(option, known)[0] == name:
            limit, where = _number(build, option.value), option.place
    _require(build, needed, limit, where)


def require_accepted(build: AnyBuild, variables: Mapping[str, str], needed: Demand) -> None:
    """Refuse to load a server that says, once it runs, that it accepts too few connections.

    Raises
    ------
    ExperimentError : it accepts too few.
    """
    _require(build, needed, _number(build, variables.get(flavour_of(build).connection_limit)), "as the server says")


def _require(build: AnyBuild, needed: Demand, limit: int | None, where: str) -> None:
    """`limit` is None where it is not known."""
    if limit is None or limit >= needed.total:
        return
    name = flavour_of(build).connection_limit
    raise ExperimentError(
        f"step {needed.step} needs {needed.total} connections ({needed.of_clients} for "
        f"{count(needed.clients, 'client')}, up to {OWN_CONNECTIONS} for ibench), but build {build.label} accepts "
        f"{limit} ({where})",
        hint=f"set {name}={needed.total} or more in a fragment, or use fewer clients",
    )


def _number(build: AnyBuild, value: str | None) -> int | None:
    text = rules_of(build).syntax.canonical(value or "")
    return int(text) if text.isascii() and text.isdigit() else None
