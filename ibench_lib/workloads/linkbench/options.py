"""LinkBench in an experiment file: its options and its setups."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Annotated, Any, Literal

from pydantic import Field, PrivateAttr, SerializerFunctionWrapHandler, model_serializer, model_validator

from ibench_lib.workloads.linkbench.distribution import Points, distribution_of, read_points
from ibench_lib.workloads.linkbench.population import Graph
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

    `requesters` are those of each measured step; every repeat but the first takes them in an order of its own.
    `control`: a last step repeats the first one of its run, which shows how much the growth of the graph has changed in
    between. `tables` and `statements` are those of the original of May 2013 or of
    2015. `partitions` of linktable; 0 for an ordinary table. `degree_tail`: see `degrees.degrees`. `distribution`
    is the original's file of distributions, relative to the experiment file; once it is read, the name and digest of
    the file. `secondary_index`
    is there before the load, or is made after it in a step of its own. `rate` limits the operations per second of all
    requesters. `checked_ids`: up to so many nodes, each count is compared with the links that are shown.
    """

    benchmark: Literal["linkbench"]
    clients: Annotated[int, Field(ge=1, le=1024)] = 2
    engine: Literal["innodb", "rocksdb"] = "innodb"
    requesters: Annotated[list[Requesters], Field(min_length=1, max_length=64)] = Field(
        default_factory=lambda: [1, 2, 4, 8, 16]
    )
    control: bool = True
    tables: Literal["2015", "2013"] = "2015"
    statements: Literal["2015", "2013"] = "2015"
    partitions: Annotated[int, Field(ge=0, le=1024)] = 16
    degree_tail: Literal["original", "scaled"] = "original"
    distribution: Annotated[str, Field(min_length=1, max_length=1000)] | None = None
    secondary_index: Literal["before", "after"] = "before"
    rate: Annotated[float, Field(gt=0, le=1e7, allow_inf_nan=False)] | None = None
    checked_ids: Annotated[int, Field(ge=0, le=1_000_000_000)] = 100_000
    _points: Points | None = PrivateAttr(None)

    @model_validator(mode="before")
    @classmethod
    def _without_partitions(cls, given: Any) -> Any:
        """MyRocks has no partitions unless they are asked for, which is refused."""
        if isinstance(given, dict) and given.get("engine") == "rocksdb" and "partitions" not in given:
            return {**given, "partitions": 0}
        return given

    @model_validator(mode="after")
    def _fits_together(self) -> Options:
        if self.engine == "rocksdb" and self.partitions:
            raise ValueError("partitions: tables of engine rocksdb are not partitioned: write 0, or leave it out")
        if len(set(self.requesters)) < len(self.requesters):
            twice = next(number for number in self.requesters if self.requesters.count(number) > 1)
            raise ValueError(f"requesters: {twice} occurs more than once, so two steps would have the same name")
        return self

    def in_repeat(self, repeat: int) -> Options:
        """The same with the requesters in an order of the repeat's own, so that drift does not favour a step.

        The first repeat has the order of the file, no other one has. The seed and the repeat's number decide these.
        """
        order, draw = self.requesters, Random(f"{self.seed} {repeat}")
        while repeat > 1 and len(order) > 1 and order == self.requesters:
            order = draw.sample(self.requesters, len(self.requesters))
        return self.model_copy(update={"requesters": order})

    @model_serializer(mode="wrap")
    def _as_before(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Without a file, a cell has the identity that it had before there were such files."""
        fields: dict[str, Any] = handler(self)
        return {key: value for key, value in fields.items() if key != "distribution" or value is not None}

    def files(self) -> dict[str, str]:
        return {} if self.distribution is None else {"distribution": self.distribution}

    def with_files(self, found: Mapping[str, Path]) -> Options:
        if self.distribution is None:
            return self
        points = read_points(found["distribution"])
        digest = hashlib.sha256(repr(points).encode()).hexdigest()[:16]
        named = {"distribution": f"{Path(self.distribution).name} ({digest})"}
        copy = self.model_copy(update=named)
        copy._points = points
        return copy

    @property
    def points(self) -> Points | None:
        """The points of the file of distributions."""
        return self._points

    def graph(self, nodes: int) -> Graph:
        """The graph of so many nodes."""
        distribution = None if self._points is None else distribution_of(self._points)
        return Graph(nodes, self.degree_tail, distribution)
