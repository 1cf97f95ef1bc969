"""What an experiment says about capture: its key `capture`."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field


class Profile(BaseModel):
    """Sample the server's stacks with perf for `seconds`, every `every_s`."""

    model_config = ConfigDict(extra="forbid", strict=True, defer_build=True)

    seconds: Annotated[int, Field(ge=1, le=600)] = 5
    every_s: Annotated[int, Field(ge=2, le=86_400)] = 60
    frequency: Annotated[int, Field(ge=1, le=10_000)] = 99


class CaptureOptions(BaseModel):
    """Collectors to leave out, by name, and those that run only when asked for.

    `waits` switches on performance_schema instruments: such a run is not comparable with one that did not.
    """

    model_config = ConfigDict(extra="forbid", strict=True, defer_build=True)

    off: list[Annotated[str, Field(pattern="^[a-z][a-z_]*$")]] = Field(default_factory=list)
    waits: bool = False
    profile: Profile | None = None
