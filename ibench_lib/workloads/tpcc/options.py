"""TPC-C in an experiment file: its options and its setups."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from ibench_lib.workloads.workload import CommonOptions, CommonSetup, Seconds

STEPS = ("load", "index", "ramp_up", "run")


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

    `rate` limits the transactions per second of all terminals. `checks`: the consistency conditions, of which the
    first three are cheap; auto means all of them up to 20 warehouses.
    """

    benchmark: Literal["tpcc"]
    clients: Annotated[int, Field(ge=1, le=1024)] = 2
    profile: Literal["standard"] = "standard"
    engine: Literal["innodb"] = "innodb"
    foreign_keys: Literal["none", "declared"] = "none"
    isolation: Literal["read_committed", "repeatable_read", "serializable"] = "repeatable_read"
    rate: Annotated[float, Field(gt=0, le=1e7, allow_inf_nan=False)] | None = None
    checks: Literal["auto", "cheap", "full"] = "auto"
