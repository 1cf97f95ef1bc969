"""The answers that a post on releases is made from, with figures that are known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import polars as pl

FACTS: dict[str, Any] = {
    "config": "c", "version_comment": "Source", "told": True, "compiler": "GCC: (GNU) 12.2.0", "build_id": "ab" * 20,
    "stripped": False, "allocator": None, "tls_library": "libssl.so.3", "malloc_library": "system",
    "ssl_library": "OpenSSL 3.0.1", "compile_os": "Linux", "compile_machine": "x86_64", "runs": 3,
}  # fmt: skip
RATES = {"l.i0": "inserts/s", "qr100": "queries/s"}
STEPS = tuple(RATES)
_TYPES = {"operation": pl.String, "timing": pl.String, "problem": pl.String, "value": pl.Float64}


def noisy(level: float, rounds: int = 5, sd: float = 0.01, seed: int = 1) -> list[float]:
    """Values of a build, a value per round."""
    return [float(value) for value in level * np.exp(np.random.default_rng(seed).normal(0, sd, rounds))]


def points_of(
    values: Mapping[str, Sequence[float | None]],
    step: str = "l.i0",
    metric: str = "ips",
    operation: str | None = None,
    flavour: str = "mysql",
    **changed: Any,
) -> pl.DataFrame:
    """`release_points` of one step and metric: build -> a value per round; a build is called b<version>."""
    rows = []
    for position, (build, of_build) in enumerate(values.items(), start=1):
        for repeat, value in enumerate(of_build, start=1):
            row = {
                "experiment": "history", "flavour": flavour, "config": "c", "setup": "cached",
                "step_id": STEPS.index(step), "step": step, "benchmark": "insert_benchmark", "scale": 1.0,
                "host_class": "h", "client_core": "Python", "metric": metric, "operation": operation,
                "timing": "service" if operation else None, "build": build,
                "server_version": build.removeprefix("b"), "cell_order": "shuffle 1",
                "origin_wall": datetime(2026, 1, 1) + timedelta(hours=repeat), "repeat": repeat,
                "run_id": f"{build}-{repeat}", "problem": None if value is not None else "the step did not complete",
                "value": value, "dbms": f"{build}.c", "dbms_position": position, "rate_label": RATES[step],
                "is_rate": metric in ("ips", "qps"), "missed": False,
            }  # fmt: skip
            rows.append(row | changed)
    return pl.DataFrame(rows, infer_schema_length=None, schema_overrides=_TYPES)


def builds_of(points: pl.DataFrame, **of_build: Mapping[str, Any]) -> pl.DataFrame:
    """`builds` of the points; `of_build` are facts of some builds that are others than FACTS."""
    known = points.select("dbms", "dbms_position", "flavour", "build", "server_version").unique(maintain_order=True)
    changed = {name.replace("_", "."): facts for name, facts in of_build.items()}
    rows = [row | FACTS | dict(changed.get(row["build"], {})) for row in known.to_dicts()]
    nullable = {name: pl.String for name, value in FACTS.items() if isinstance(value, str | None)}
    return pl.DataFrame(rows, infer_schema_length=None, schema_overrides={**nullable, "server_version": pl.String})


def six(step: float = 0.8, of: str = "l.i0", metric: str = "ips", sd: float = 0.01, **changed: Any) -> pl.DataFrame:
    """Six releases, of which the last three are at `step` of the others; their rows are in no order of versions."""
    slow = {"b8.0.30", "b8.0.31", "b9.1.0"}
    names = ("b8.0.31", "b5.7.44", "b8.0.30", "b8.0.29", "b9.1.0", "b8.0.28")
    values = {name: noisy(1000 * (step if name in slow else 1), 5, sd, seed) for seed, name in enumerate(names)}
    return points_of(values, of, metric, **changed)
