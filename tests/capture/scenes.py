"""A scene to watch, and what collectors emit of it."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ibench_lib import paths
from ibench_lib.capture.collector import CaptureTarget
from ibench_lib.capture.options import CaptureOptions
from ibench_lib.families.mysql.innodb_places import PLACES
from ibench_lib.schema import TABLES
from ibench_lib.servers.address import Address
from ibench_lib.servers.build import Build
from ibench_lib.servers.sandbox import Sandbox
from tests.waiting import until

NOBODY = {"unix_socket": "/nonexistent/socket", "user": "root", "password": ""}


class Sink:
    """Keeps rows by table, and holds each against its table's columns."""

    def __init__(self) -> None:
        self.rows: dict[str, list[dict[str, Any]]] = {}

    def __call__(self, table: str, **row: Any) -> None:
        columns = {column.name: column for column in TABLES[table].columns if column.name != "run_id"}
        assert set(row) <= set(columns), set(row) - set(columns)
        missing = [name for name, column in columns.items() if not column.nullable and row.get(name) is None]
        assert not missing, f"{table}: {missing}"
        self.rows.setdefault(table, []).append(row)

    def __getitem__(self, table: str) -> list[dict[str, Any]]:
        return self.rows.get(table, [])


def scene(
    scratch: Path,
    address: dict[str, Any] | None = None,
    pid: Callable[[], int | None] = lambda: None,
    datadir: Path | None = None,
    options: CaptureOptions | None = None,
    **more: Any,
) -> CaptureTarget:
    """A scene whose clock begins now."""
    given: dict[str, Any] = {
        "origin_ns": time.monotonic_ns(),
        "family": "mysql",
        "address": address or NOBODY,
        "server_pid": pid,
        "datadir": datadir,
        "tmpdir": None,
        "database": "d",
        "tables": ("pi1",),
        "variables": {},
        "places": PLACES,
        "scratch": scratch,
        "options": options or CaptureOptions(),
    }
    return CaptureTarget(**{**given, **more})


def until_sampled(rows: Callable[[], list[dict[str, Any]]], of: CaptureTarget) -> None:
    """Wait for a row that was sampled after now."""
    now_s = clock(of)()
    until(lambda: rows() and rows()[-1]["t_s"] > now_s, "there is a new sample")


def clock(of: CaptureTarget) -> Callable[[], float]:
    return lambda: (time.monotonic_ns() - of.origin_ns) / 1e9


class Booted:
    """A small server of a test, which can be started again."""

    def __init__(self, build: Build, folder: Path, more: str = "") -> None:
        self.my_cnf = folder / "my.cnf"
        self.my_cnf.write_text(f"[mysqld]\ninnodb_buffer_pool_size=32M\n{more}")
        self.box = Sandbox(build, folder / "box", self.my_cnf, folder / "log", templates=paths.workspace().datadirs)
        self.address: Address = self.box.__enter__()

    def pid(self) -> int | None:
        return self.box.process.pid if self.box.process and self.box.alive() else None
