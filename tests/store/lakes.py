"""What tests of reading a lake share."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from ibench_lib.ask.selection import choose
from ibench_lib.paths import Workspace
from ibench_lib.store import catalogue, reader
from ibench_lib.store.manifest import with_checksum
from tests.synthetic import Run


def rows(lake: duckdb.DuckDBPyConnection, text: str) -> list[dict[str, Any]]:
    return reader.sql(lake, text).to_dicts()


def ask_everything(lake: duckdb.DuckDBPyConnection) -> dict[str, pl.DataFrame]:
    everything = choose(lake, "demo", points=2000)
    others = {name: {"metrics": ["ips", "qps"]} for name in ("series_points", "rate_points")}
    return {name: everything.ask(name, **others.get(name, {})) for name in catalogue.questions()}


def step_row(frame: pl.DataFrame, dbms: str, step: str, **more: Any) -> dict[str, Any]:
    found = frame.filter(pl.col("dbms") == dbms, pl.col("step") == step, **more)
    assert len(found) == 1, found
    return found.row(0, named=True)


def vouch(directory: Path, table: str) -> None:
    """Let the manifest vouch for a table's file as it is now."""
    manifest = json.loads((directory / "manifest.json").read_text())
    content = (directory / f"{table}.parquet").read_bytes()
    number = pq.read_metadata(directory / f"{table}.parquet").num_rows
    record = {"rows": number, "bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    manifest["files"][f"{table}.parquet"] = record
    (directory / "manifest.json").write_bytes(with_checksum(manifest))


def unlist(directory: Path, name: str) -> None:
    """Let the manifest say nothing of a file."""
    manifest = json.loads((directory / "manifest.json").read_text())
    manifest["files"].pop(name, None)
    (directory / "manifest.json").write_bytes(with_checksum(manifest))


def forget(directory: Path, table: str) -> None:
    """Remove a table's file, and what the manifest says of it."""
    (directory / f"{table}.parquet").unlink()
    unlist(directory, f"{table}.parquet")


def flip_bytes(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[200] ^= 1
    path.write_bytes(content)


def rewrite_steps(workspace: Workspace, run: Run, change: Callable[[pa.Table], pa.Table]) -> None:
    """Replace a run's steps.parquet."""
    directory = workspace.run_dir(run.run_id)
    path = directory / "steps.parquet"
    pq.write_table(change(pq.read_table(path)), path)
    vouch(directory, "steps")
