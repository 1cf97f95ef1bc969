"""Runs over an axis."""

from typing import Any

import polars as pl

from tests.synthetic import Run


def swept(config: str = "base", **seconds: int) -> list[Run]:
    """Two repeats with 1, 2 and 4 clients; 50,000 rows take so many seconds, and a second longer in one repeat."""
    of_clients = {1: 20, 2: 10, 4: 11, **{int(key[1:]): value for key, value in seconds.items()}}
    return [
        Run(
            config, setup=f"small-clients-{clients:03d}", repeat=repeat, minute=10 * repeat + number,
            clients=clients, l_i1_s=took, rank=1 + (config != "base"),
        )
        for repeat in (1, 2)
        for number, (clients, took) in enumerate(of_clients.items())
    ]  # fmt: skip


def varied(**values: int) -> list[Run]:
    """A run for each value of innodb_io_capacity, and one without it."""
    return [
        Run(
            f"base-innodb_io_capacity-{value}", minute=number, l_i1_s=took,
            fragments=(("vary", f"[mysqld]\ninnodb_io_capacity={value}\n"),),
        )
        for number, (value, took) in enumerate({key[1:]: took for key, took in values.items()}.items())
    ] + [Run(minute=50)]  # fmt: skip


def of_step(frame: pl.DataFrame, step: str = "l.i1", **values: Any) -> pl.DataFrame:
    return frame.filter(step=step, **values)
