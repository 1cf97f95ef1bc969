"""LinkBench in an experiment file: its options and its setups."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from ibench_lib.workloads.workload import CommonOptions, CommonSetup, Seconds

Requesters = Annotated[int, Field(ge=1, le=4096)]


class Setup(CommonSetup):
    """A size of the graph. `seconds` are those of each measured step, `warm_up` those of the step before them."""

    nodes: Annotated[int, Field(ge=1, le=1_000_000_000)]
    seconds: Seconds
    warm_up: Seconds


PRESET_SETUPS = {
    setup.name: setup
    for setup in (
        Setup(name="tiny", nodes=10_000, seconds=5.0, warm_up=2.0),
        Setup(name="small", nodes=100_000, seconds=30.0, warm_up=10.0),
        Setup(name="1x", nodes=10_000_000, seconds=600.0, warm_up=600.0),
        Setup(name="10x", nodes=100_000_000, seconds=600.0, warm_up=600.0),
    )
}


class Options(CommonOptions):
    """The `workload:` part of an experiment. `clients` processes load, and share the requesters.

    `requesters` are those of each measured step. `control`: a last step repeats the first, which shows how much the
    growth of the graph has changed in between. `tables` and `statements` are those of the original of May 2013 or of
    2015. `partitions` of linktable; 0 for an ordinary table. `degree_tail`: see `degrees.degrees`. `secondary_index`
    is there before the load, or is made after it in a step of its own. `rate` limits the operations per second of all
    requesters. `checked_ids`: up to so many nodes, each count is compared with the links that are shown.
    """

    benchmark: Literal["linkbench"]
    clients: Annotated[int, Field(ge=1, le=1024)] = 2
    engine: Literal["innodb"] = "innodb"
    requesters: Annotated[list[Requesters], Field(min_length=1, max_length=64)] = Field(
        default_factory=lambda: [1, 2, 4, 8, 16]
    )
    control: bool = True
    tables: Literal["2015", "2013"] = "2015"
    statements: Literal["2015", "2013"] = "2015"
    partitions: Annotated[int, Field(ge=0, le=1024)] = 16
    degree_tail: Literal["original", "scaled"] = "original"
    secondary_index: Literal["before", "after"] = "before"
    rate: Annotated[float, Field(gt=0, le=1e7, allow_inf_nan=False)] | None = None
    checked_ids: Annotated[int, Field(ge=0, le=1_000_000_000)] = 100_000

    @model_validator(mode="after")
    def _fits_together(self) -> Options:
        if len(set(self.requesters)) < len(self.requesters):
            raise ValueError("requesters: a number is named twice, so two steps would have one name")
        return self
