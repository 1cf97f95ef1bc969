"""What tests of sentences share: frames with random figures, the functions, and runs that are described in full."""

import re
from collections.abc import Callable
from typing import Any

import polars as pl

from ibench_lib.ask.selection import choose
from ibench_lib.paths import Workspace
from ibench_lib.show.kit.display import say
from ibench_lib.store import reader
from ibench_lib.store.manifest import with_checksum
from tests.synthetic import Run, write_runs

STEPS = ("l.i0", "l.x", "l.i1", "qr")
KINDS = dict(zip(STEPS, ("load", "index", "write", "query"), strict=True))
COSTS = ("cpupq", "cspq", "rpq", "rkbpq", "wpi", "wkbpi")
Statements = Callable[..., list[str]]


def frame_of(column: str, step: str = "l.i1", **runs: list[float | None]) -> pl.DataFrame:
    """One complete step: the runs of each dbms."""
    records = [
        {
            "setup": "cached", "dbms": name, "dbms_position": position, "repeat": repeat, "step_id": 2, "step": step,
            "kind": KINDS[step], "step_status": "complete", "run_status": "complete",
            "rate_label": "queries/s" if KINDS[step] == "query" else "inserts/s", "client_bound": None,
            "duration_s": 30.0, column: value,
        }
        for position, (name, values) in enumerate(runs.items(), start=1)
        for repeat, value in enumerate(values, start=1)
    ]  # fmt: skip
    return pl.DataFrame(records, infer_schema_length=None, schema_overrides={"client_bound": pl.String})


def spoken(workspace: Workspace, *functions: Statements, experiment: str = "demo", **chosen: Any) -> list[str]:
    markup = say(choose(reader.lake(workspace), experiment, **chosen), *functions).markup
    return re.findall(r"<li[^>]*>(.*?) <(?:a|span) class=\"source", markup)


def made_of(workspace: Workspace, *runs: Run, change: Callable[[dict[str, Any]], None] | None = None) -> None:
    import json

    for writer in write_runs(workspace, *runs):
        path = writer.run_dir / "manifest.json"
        manifest = json.loads(path.read_text())
        if change:
            change(manifest)
        path.write_bytes(with_checksum(manifest))


def step(name: str, kind: str, **more: Any) -> dict[str, Any]:
    return {
        "name": name, "form": name, "kind": kind, "rows_per_commit": 50, "rows": None, "seconds": None, "rate": None,
        "deletes": kind in ("write", "query"), "query": "range" if kind == "query" else None, "settle_before": False,
        "long_transaction": False,
    } | more  # fmt: skip
