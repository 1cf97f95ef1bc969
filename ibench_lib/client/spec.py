"""What a client process is started with: the one interface between the runner and its clients, as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Spec:
    """One client process. It ends after `statements` operations or after `seconds`; one of the two is None.

    `module` has `make_role`, and `operations` are the names under which its roles count. `tick_ns` is the interval of
    a paced worker's operations, all its connections together; None where it is not paced. `probes`: its role times
    single queries before the load. `connections` are those that the process serves, each with a role of its own, told
    apart by `terminal` from 0. `details` are for the workload's own module, and plain data as well.
    """

    module: str
    role: str
    client: int
    number: int
    operations: tuple[str, ...]
    statements: int | None
    seconds: float | None
    tick_ns: int | None
    timeout_s: float
    seed: int
    probes: bool = False
    connections: int = 1
    terminal: int = 0
    details: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, plain: Mapping[str, Any]) -> Spec:
        """The specification that came as JSON."""
        return cls(**{**plain, "operations": tuple(plain["operations"])})
