"""What a collector did in a run and what it cost, for the manifest."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class CollectorReport:
    """Samples made and missed, what they cost, and why some are missing.

    `cpu_s` is of the collector's threads and of processes that it started; `busy_s` is the wall time of its samples
    and of what it did at the ends of steps, including the server's answers. `reason` says why samples were missed.
    """

    name: str
    every_s: int
    samples: int
    missed: int
    cpu_s: float
    busy_s: float
    reason: str | None = None

    __pydantic_config__ = {"allow_inf_nan": False}  # noqa: RUF012 - for manifests, as pydantic wants it
