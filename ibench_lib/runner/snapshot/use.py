"""What a run has to do with a snapshot: it begins with one, or loads, sets its data directory aside and goes on.

Either way its server starts on a copy of the snapshot, with an empty buffer pool and nothing of the copy in the page
cache, so that what follows is the same for the cell that loaded and for those that did not.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ibench_lib.client.driver import ConnectionLost, StatementError, connect
from ibench_lib.errors import RunFailed
from ibench_lib.experiment.cells import LoadedExperiment
from ibench_lib.paths import Workspace
from ibench_lib.runner.planned import PlannedCell
from ibench_lib.runner.snapshot import kept
from ibench_lib.runner.snapshot.kept import Snapshot
from ibench_lib.runner.snapshot.key import load_settings
from ibench_lib.runner.snapshot.sharing import LoadSettings
from ibench_lib.runner.space import needed_bytes
from ibench_lib.servers.address import Address
from ibench_lib.servers.build import Build
from ibench_lib.servers.flavours.flavour import flavour_of
from ibench_lib.servers.server import LocalServer
from ibench_lib.store.manifest import Manifest, SnapshotCopy, SnapshotRecord
from ibench_lib.workloads.workload import Step

_CACHES = (
    "the buffer pool starts empty (its list of pages to load was emptied), and the kernel was asked to cache no page"
)


class RunSnapshot:
    """The snapshot of one run. `loaded` are its steps up to it; `found` is the snapshot where there is one already."""

    def __init__(self, experiment: LoadedExperiment, planned: PlannedCell, workspace: Workspace) -> None:
        self.loaded = steps_loaded(experiment, planned.steps)
        self.settings = planned_settings(experiment, planned, self.loaded)
        self.found: Snapshot | None = kept.find(workspace, self.settings)
        self._workspace = workspace
        self._timeout_s = experiment.spec.workload.statement_timeout_s
        self._apart = planned.sharing.apart if planned.sharing else None

    @property
    def origin(self) -> Path | None:
        """The data directory that the run's server begins with a copy of."""
        return self.found.datadir if self.found else None

    def begin(self, server: LocalServer, manifest: Manifest) -> dict[str, int]:
        """The server runs on a copy of what was found: record it. Returns the rows of each table."""
        assert self.found is not None
        manifest.loaded_from = self.found.record
        self._record_copy(server, manifest)
        return dict(self.found.record.rows)

    def make(
        self, server: LocalServer, address: dict[str, Any], database: str, manifest: Manifest, rows: dict[str, int]
    ) -> Address:
        """Shut the server down in full, set its data directory aside, and start it on a copy. Returns where it is now.

        `database` has the run's tables.

        Raises
        ------
        RunFailed, ServerStartError : it does not shut down cleanly and in time, lacks room, or does not start.
        """
        assert manifest.server is not None
        flavour = flavour_of(server.build)
        last = self.loaded[-1].name
        where = f"run {manifest.run_id}, snapshot after step {last}"
        timeout_s = self._timeout_s
        _ask_for_full_shutdown(server.build, address, database, where, timeout_s)
        try:
            shutdown_s = server.stop(timeout_s)
        except RunFailed as error:
            raise RunFailed(
                f"{where}: {error.what}",
                hint="a full shutdown purges, merges and flushes everything; statement_timeout_s limits its time",
                detail=error.detail,
            ) from error
        record = SnapshotRecord(
            digest=self.settings.digest,
            settings=self.settings.values,
            after_step=last,
            steps=[step.name for step in self.loaded],
            run_id=manifest.run_id,
            build=server.build.label,
            server_version=manifest.server.version,
            rows=dict(rows),
            bytes=0,
            made_wall=datetime.now(UTC).isoformat(),
            shutdown_s=shutdown_s,
        )
        caches = flavour.caches_in(manifest.server.variables)
        snapshot = kept.take(self._workspace, server.datadir, record, caches, flavour.personal_files)
        again = server.start_again(snapshot.datadir)
        manifest.snapshot_made = snapshot.record
        self._record_copy(server, manifest)
        return again

    def _record_copy(self, server: LocalServer, manifest: Manifest) -> None:
        assert server.copy_s is not None
        manifest.snapshot_copy = SnapshotCopy(seconds=server.copy_s, caches=_CACHES, apart=self._apart)


def steps_loaded(experiment: LoadedExperiment, steps: Sequence[Step]) -> list[Step]:
    """The steps up to the snapshot's and with it."""
    names = [step.name for step in steps]
    return list(steps[: names.index(experiment.spec.snapshot_after) + 1]) if experiment.spec.snapshot_after else []


def planned_settings(experiment: LoadedExperiment, planned: PlannedCell, loaded: Sequence[Step]) -> LoadSettings:
    """The load settings of a cell whose first steps are `loaded`, the last of them the snapshot's."""
    key = experiment.workload.load_key(experiment.options(planned.cell), loaded)
    return load_settings(planned.build, planned.config, key, churned=any(step.churns for step in loaded))


def snapshot_bytes(experiment: LoadedExperiment, planned: PlannedCell, loaded: Sequence[Step]) -> int:
    """About how much disk the snapshot after these steps takes."""
    tables_bytes = experiment.workload.disk_bytes(experiment.options(planned.cell), loaded)
    return needed_bytes(planned.build, planned.config, tables_bytes) if loaded else 0


def _ask_for_full_shutdown(build: Build, address: dict[str, Any], database: str, where: str, timeout_s: float) -> None:
    """No purge debt, no buffered changes, no redo to apply: a server with other settings can take the files up."""
    flavour = flavour_of(build)
    try:
        connection = connect(flavour.driver, address, database, timeout_s)
        try:
            for statement in flavour.clean_stop(build.release):
                connection.query(statement)
        finally:
            connection.close()
    except (ConnectionLost, StatementError) as error:
        raise RunFailed(f"{where}: {error}") from error
