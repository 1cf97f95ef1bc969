"""TPC-C in an experiment file: its options and its setups."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer, model_validator

from ibench_lib.workloads.workload import CommonOptions, CommonSetup, Seconds

STEPS = ("load", "index", "ramp_up", "run")

_LATER_KEYS = ("protocol", "think_time")

Weight = Annotated[int, Field(ge=0, le=100)]


class Setup(CommonSetup):
    """A size. `warehouses` are those of each set, `terminals` those of all client processes together."""

    warehouses: Annotated[int, Field(ge=1, le=32_767)]  # as many as a SMALLINT has
    terminals: Annotated[int, Field(ge=1, le=4096)]
    seconds: Seconds
    ramp_up: Seconds
    sets: Annotated[int, Field(ge=1, le=1000)] = 1


PRESET_SETUPS = {
    setup.name: setup
    for setup in (
        Setup(name="tiny", warehouses=1, terminals=4, ramp_up=2.0, seconds=10.0),
        Setup(name="small", warehouses=2, terminals=8, ramp_up=5.0, seconds=60.0),
        Setup(name="tpcc1000", warehouses=1000, terminals=16, ramp_up=300.0, seconds=7200.0),
        Setup(name="10x100", sets=10, warehouses=100, terminals=64, ramp_up=300.0, seconds=3600.0),
        Setup(name="10x100_3h", sets=10, warehouses=100, terminals=64, ramp_up=300.0, seconds=10_800.0),
    )
}


class Options(CommonOptions):
    """The `workload:` part of an experiment. `clients` processes load, and share the terminals.

    `profile`: what is sent, after the specification or as another client does. `protocol`: statements as text, or
    prepared once for each connection; None means that of the profile. `engine`: MyRocks has no foreign keys, and its
    `isolation` is read_committed unless it is given. `foreign_keys`: none, declared (sessions do not check them) or
    checked. `indexes`: all six secondary indexes, or only the two that statements need. `history_key`:
    history gets a primary key, as clusters want. `charset` is that of the tables; None leaves the server's. `home`:
    each transaction draws its warehouse, or each terminal has one. `weights` are how often each type is in a deck: new
    order, payment, order status, delivery, stock level. `rate` limits the transactions per second of all terminals.
    `think_time`: terminals wait for this multiple of the specification's keying and think times; None means not at all.
    `checks`: all consistency conditions of all warehouses (full), or the first three, which are cheap. auto: all
    conditions, but with more than 20 warehouses those that are not cheap of ten drawn warehouses only.
    """

    benchmark: Literal["tpcc"]
    clients: Annotated[int, Field(ge=1, le=1024)] = 2
    profile: Literal["standard", "sysbench_tpcc", "tpcc_mysql"] = "standard"
    protocol: Literal["text", "prepared"] | None = None
    engine: Literal["innodb", "rocksdb"] = "innodb"
    foreign_keys: Literal["none", "declared", "checked"] = "none"
    indexes: Literal["all", "needed"] = "all"
    history_key: Literal["none", "auto_increment"] = "none"
    charset: Annotated[str, Field(pattern=r"^[a-z0-9]{1,32}$")] | None = None
    isolation: Literal["read_committed", "repeatable_read", "serializable"] = "repeatable_read"
    home: Literal["uniform", "fixed"] = "uniform"
    weights: Annotated[list[Weight], Field(min_length=5, max_length=5)] = Field(
        default_factory=lambda: [10, 10, 1, 1, 1]
    )
    rate: Annotated[float, Field(gt=0, le=1e7, allow_inf_nan=False)] | None = None
    think_time: Annotated[float, Field(gt=0, le=10, allow_inf_nan=False)] | None = None
    checks: Literal["auto", "cheap", "full"] = "auto"

    @model_serializer(mode="wrap")
    def _without_later_keys(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave out keys that were added later, at their defaults, so that finished cells keep their identity."""
        values: dict[str, Any] = handler(self)
        return {key: value for key, value in values.items() if value is not None or key not in _LATER_KEYS}

    @model_validator(mode="before")
    @classmethod
    def _isolated_as_the_engine_can(cls, given: Any) -> Any:
        """MyRocks reports conflicts with a snapshot as deadlocks, so a snapshot is that of one statement."""
        if isinstance(given, dict) and given.get("engine") == "rocksdb" and "isolation" not in given:
            return {**given, "isolation": "read_committed"}
        return given

    @model_validator(mode="after")
    def _fits_together(self) -> Options:
        if self.engine == "rocksdb" and self.isolation == "serializable":
            raise ValueError("isolation: serializable needs engine innodb: MyRocks does not have it")
        if self.engine == "rocksdb" and self.foreign_keys != "none":
            raise ValueError(f"foreign_keys: {self.foreign_keys} needs engine innodb: MyRocks has no foreign keys")
        if not sum(self.weights):
            raise ValueError("weights are all 0: there would be no transaction")
        if self.rate is not None and self.think_time is not None:
            raise ValueError("rate cannot be combined with think_time: terminals that think set their rate themselves")
        if self.foreign_keys != "none" and self.indexes == "needed":
            raise ValueError("indexes: needed cannot be combined with foreign_keys, which need indexes of their own")
        return self
