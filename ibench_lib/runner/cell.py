"""One cell of an experiment: a fresh server, the workload's steps, everything captured into one run directory.

However a run ends, its server is stopped and reaped, and the data captured until then is sealed. The manifest says
complete, failed (with the step and the reason) or interrupted.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime

from ibench_lib.base.signals import Patience, signals_as_interrupts
from ibench_lib.errors import HostUnfit, IbenchError, Interrupted, LakeError
from ibench_lib.experiment.cells import LoadedExperiment
from ibench_lib.paths import Workspace, make_run_id
from ibench_lib.runner import server as run_server
from ibench_lib.runner import space
from ibench_lib.runner.description import describe_run
from ibench_lib.runner.observer import Observer
from ibench_lib.runner.one_run import DATABASE, OneRun
from ibench_lib.runner.plan import fit_cell
from ibench_lib.runner.planned import PlannedCell
from ibench_lib.runner.preflight import examine, require_program
from ibench_lib.runner.snapshot.use import RunSnapshot, snapshot_bytes
from ibench_lib.servers.flavours.flavour import flavour_of
from ibench_lib.store import manifest as records
from ibench_lib.store.writer import RunWriter

CLOCK_TOLERANCE_S = 1.0


def run_cell(
    experiment: LoadedExperiment,
    planned: PlannedCell,
    workspace: Workspace,
    observer: Observer,
    patience: Patience | None = None,
) -> records.Manifest:
    """Make one run. Returns its manifest. With `patience`, the first Ctrl-C does not end it.

    Raises
    ------
    ServerStartError : the server does not start.
    RunFailed : a step failed; the run is kept as failed.
    Interrupted : Ctrl-C or SIGTERM; the run is kept as interrupted.
    """
    skipped = fit_cell(experiment, planned, workspace)
    origin_ns, origin_wall = time.monotonic_ns(), datetime.now(UTC)
    cell = planned.cell
    run_id = make_run_id(experiment.name, cell.setup.name, cell.dbms, cell.repeat, origin_wall)
    snapshot = RunSnapshot(experiment, planned, workspace) if experiment.spec.snapshot_after is not None else None
    findings = _fit_host(experiment, planned, workspace, snapshot)
    mask = run_server.mask_for(planned.build, workspace, run_id, experiment.folder, cell.config.folders)
    writer = RunWriter(workspace.run_dir(run_id), mask=mask)
    (writer.run_dir / records.OPTION_FILE).write_text(planned.config.render(skipped), encoding="utf-8")
    manifest = describe_run(run_id, workspace, experiment, planned, skipped=skipped, origin_wall=origin_wall)
    manifest.warnings += findings
    writer.write_manifest(manifest)
    server = run_server.open_server(
        planned.build,
        planned.config,
        workspace,
        writer.run_dir,
        transport=experiment.spec.workload.transport,
        engine=experiment.workload.needs(experiment.spec.workload).engine,
        origin=snapshot.origin if snapshot else None,
        storage=cell.config.folders,
    )
    run = OneRun(experiment, planned, manifest, writer, server, snapshot, origin_ns, observer)
    with signals_as_interrupts(patience):
        try:
            run.execute()
            manifest.status = "complete"
        except KeyboardInterrupt:
            manifest.status, manifest.error = "interrupted", "interrupted by the user"
            where = f"in step {run.current_step}" if run.current_step else "before its first step"
            raise Interrupted(
                f"run {run_id} interrupted {where} of {experiment.workload.title}",
                hint="captured data is kept; run the experiment again to repeat the cell",
            ) from None
        except IbenchError as error:
            manifest.status, manifest.error = "failed", error.what
            raise
        except Exception as error:
            manifest.status, manifest.error = "failed", f"{type(error).__name__}: {error}"
            raise
        finally:
            manifest.failed_step = run.current_step if manifest.status != "complete" else None
            ended_wall = datetime.now(UTC)
            manifest.ended_wall = ended_wall.isoformat()
            jump_s = (ended_wall - origin_wall).total_seconds() - (time.monotonic_ns() - origin_ns) / 1e9
            if abs(jump_s) > CLOCK_TOLERANCE_S:
                manifest.warnings.append(
                    f"the wall clock jumped by {jump_s:+.1f} s during the run; rates and durations do not use it"
                )
            still = tuple(run_server.still_on(planned.build.label, name) for name in (DATABASE, *server.owned))
            manifest.warnings = [warning for warning in manifest.warnings if not warning.startswith(still)]
            manifest.warnings += run_server.left_there(server)
            _seal(writer, manifest)
    return manifest


def _seal(writer: RunWriter, manifest: records.Manifest) -> None:
    """Seal a run. If that fails after another failure, the first failure is reported."""
    complete = manifest.status == "complete"
    try:
        writer.seal(manifest)
    except LakeError:
        if complete:
            raise


def _fit_host(
    experiment: LoadedExperiment, planned: PlannedCell, workspace: Workspace, snapshot: RunSnapshot | None
) -> list[str]:
    """Refuse a host without enough space and, with `strict`, a host not fit to measure. Returns the findings."""
    family = flavour_of(planned.build).family
    require_program(experiment.workload, experiment.options(planned.cell), family)
    tables_bytes = experiment.workload.disk_bytes(experiment.options(planned.cell), planned.steps)
    aside_bytes = 0
    if snapshot is not None and not snapshot.found:
        aside_bytes = snapshot_bytes(experiment, planned, snapshot.loaded)
    folders = planned.cell.config.folders
    needs = space.require_space(
        planned.build, planned.config, tables_bytes, workspace, aside_bytes, folders, copied=snapshot is not None
    )
    findings = examine(needs, flavour_of(planned.build).memory_bytes(planned.config))
    if findings and experiment.spec.strict:
        raise HostUnfit(
            f"{planned.cell}: `strict` is set, and this host is not fit to measure: {findings[0]}",
            hint="fix it, or remove `strict` to get a warning instead",
            detail="\n".join(findings),
        )
    return findings
