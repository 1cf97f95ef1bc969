"""Servers of PostgreSQL for tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ibench_lib import paths
from ibench_lib.families.postgres.driver import Connection
from ibench_lib.servers.build import Build
from ibench_lib.servers.sandbox import Sandbox

SMALL = "shared_buffers = 24MB\nfsync = off\n"


def sandbox(build: Build, root: Path, options: str = SMALL, **more: Any) -> Sandbox:
    """A sandbox in a folder that the server's user may enter."""
    (root / "sandboxes").mkdir(parents=True, exist_ok=True)
    (root / "my.cnf").write_text(options)
    more.setdefault("templates", paths.workspace().datadirs)
    return Sandbox(build, root / "sandboxes" / "box", root / "my.cnf", root / "server.log", **more)


def connected(box: Sandbox, database: str | None = None) -> Connection:
    """A connection to it."""
    return Connection(box.address.arguments(), database, 60.0)
