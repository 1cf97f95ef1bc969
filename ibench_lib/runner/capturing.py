"""The collectors of one run: what they watch, and what they say of themselves in the manifest."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from ibench_lib.base.collector_report import CollectorReport
from ibench_lib.base.scratch import PREFIX, scratch_directory
from ibench_lib.capture.collector import CaptureTarget
from ibench_lib.capture.options import CaptureOptions
from ibench_lib.capture.session import Capture
from ibench_lib.servers.flavours.flavour import flavour_of
from ibench_lib.servers.server import Server
from ibench_lib.store.manifest import Manifest
from ibench_lib.store.writer import RunWriter

_SCRATCH = f"{PREFIX}capture-"


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
    incarnation: int = 0,
) -> Iterator[Capture]:
    """Collect while this is open; what was missed, why, and what it cost is added to the manifest afterwards.

    `incarnation` counts the starts of the server before the present one.
    """
    local = server.local
    assert manifest.server is not None
    with scratch_directory(_SCRATCH) as scratch:
        flavour = flavour_of(server.build)
        scene = CaptureTarget(
            origin_ns=origin_ns,
            family=flavour.family,
            address=address,
            server_pid=local.pid if local else lambda: None,
            datadir=local.datadir if local else None,
            tmpdir=local.tmpdir if local else None,
            database=database,
            tables=tuple(tables),
            variables=manifest.server.variables,
            places=flavour.places,
            scratch=scratch,
            options=options,
            incarnation=incarnation,
        )
        capture = Capture(scene, writer.append)
        try:
            with capture:
                yield capture
        finally:
            manifest.null_reasons.update(capture.null_reasons())
            manifest.warnings += [warning for warning in capture.warnings() if warning not in manifest.warnings]
            before = {record.name: record for record in manifest.collectors}
            manifest.collectors = [_both(before.get(report.name), report) for report in capture.reports()]


def _both(first: CollectorReport | None, second: CollectorReport) -> CollectorReport:
    """One record of a collector that was at work before a restart of the server and after it."""
    if first is None:
        return second
    sums = {name: getattr(first, name) + getattr(second, name) for name in ("samples", "missed", "cpu_s", "busy_s")}
    return replace(second, **sums, reason=second.reason or first.reason)
