"""The collectors of one run: what they watch, and what they say of themselves in the manifest."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ibench_lib.capture.collector import Scene
from ibench_lib.capture.options import CaptureOptions
from ibench_lib.capture.session import Capture
from ibench_lib.lake.manifest import CollectorRecord, Manifest
from ibench_lib.lake.writer import RunWriter
from ibench_lib.run_server import Server
from ibench_lib.servers.sandbox import Sandbox


@contextmanager
def capturing(
    manifest: Manifest,
    writer: RunWriter,
    server: Server,
    *,
    origin_ns: int,
    address: dict[str, Any],
    database: str,
    tables: list[str],
    options: CaptureOptions,
) -> Iterator[Capture]:
    """Collect while this is open; what was missed, why, and what it cost is in the manifest afterwards."""
    sandbox = server if isinstance(server, Sandbox) else None
    assert manifest.server is not None
    with TemporaryDirectory(prefix="ibench-capture-") as scratch:
        scene = Scene(
            origin_ns=origin_ns,
            address=address,
            server_pid=lambda: sandbox.process.pid if sandbox and sandbox.process and sandbox.alive() else None,
            datadir=sandbox.datadir if sandbox else None,
            tmpdir=sandbox.tmpdir if sandbox else None,
            database=database,
            tables=tuple(tables),
            variables=manifest.server.variables,
            scratch=Path(scratch),
            options=options,
        )
        capture = Capture(scene, writer.append)
        try:
            with capture:
                yield capture
        finally:
            manifest.null_reasons.update(capture.null_reasons())
            manifest.warnings += capture.warnings()
            manifest.collectors = [CollectorRecord(**asdict(report)) for report in capture.reports()]
