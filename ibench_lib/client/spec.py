"""The specification of a client process: the only interface between the runner and its clients, as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Spec:
    """One client process. It ends after `statements` operations or after `seconds`; one of the two is None.

    `module` has `make_role`; `operations` are the names under which its roles count. `tick_ns` is the interval of a
    paced worker's operations over all its connections; None if it is not paced. `probes`: its role times single
    queries before the load. `connections` is the number of connections that the process serves. Each has its own role
    and is numbered by `terminal` from 0. `details` are for the workload's own module; they are plain data too.

    `drives`: the client is a program of another make. `module` then has `make_program` (`external.py`) in place of
    `make_role`, both `statements` and `seconds` may be None, and `connections` are the program's own.
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
    drives: bool = False
    details: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, plain: Mapping[str, Any]) -> Spec:
        """The specification from its JSON text."""
        return cls(**{**plain, "operations": tuple(plain["operations"])})
