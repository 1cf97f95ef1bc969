"""What the manifest says of a run before it begins: which cell it is, of what experiment, on which host."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from ibench_lib.capture.host_facts import host_facts
from ibench_lib.capture.storage_facts import storage_class, storage_facts
from ibench_lib.client.driver import core_of
from ibench_lib.experiment.cells import LoadedExperiment
from ibench_lib.paths import Workspace, nearest_existing
from ibench_lib.runner.planned import PlannedCell
from ibench_lib.servers.binary import facts_of_build, unknown_facts
from ibench_lib.servers.flavours.flavour import flavour_of
from ibench_lib.store import manifest as records

_LIBRARIES = ("duckdb", "numpy", "pyarrow", "pymysql")


def describe_run(
    run_id: str,
    workspace: Workspace,
    experiment: LoadedExperiment,
    planned: PlannedCell,
    *,
    skipped: list[str],
    origin_wall: datetime,
) -> records.Manifest:
    """The manifest of a run that is about to begin. `skipped` are lines of its my.cnf that the server does not know."""
    cell, build, config = planned.cell, planned.build, planned.config
    warnings = [f"skipped, because this server does not know it: {line}" for line in skipped]
    warnings += [f"left out, because the sandbox sets it: {line}" for line in config.dropped]
    if build.local is None:
        warnings.append(
            f"the server, {build.basedir}, is remote: it keeps its own configuration, and the host facts are "
            f"those of the clients' host"
        )
    stands_for = next(b.stands_for for b in experiment.spec.build_choices if b.name == cell.build)
    if stands_for:
        warnings.append(f"{cell.build} is {cell.build_label}, standing for {stands_for}")
    facts = facts_of_build(build)
    return records.Manifest(
        tool_version=version("ibench"),
        run_id=run_id,
        status="running",
        origin_wall=origin_wall.isoformat(),
        experiment=records.ExperimentRecord(name=experiment.name, title=experiment.spec.title, text=experiment.text),
        cell=records.Cell(
            build=cell.build,
            config=cell.config.name,
            dbms=cell.dbms,
            setup=cell.setup.name,
            repeat=cell.repeat,
            fingerprint=planned.fingerprint,
            build_label=cell.build_label,
            stands_for=stands_for,
            position=cell.position,
            rank=cell.rank,
            order=experiment.order_text,
        ),
        benchmark=experiment.workload.name,
        operations=[records.OperationRecord(**asdict(operation)) for operation in experiment.workload.operations],
        kinds=[records.KindRecord(**asdict(kind) | {"paced": list(kind.paced)}) for kind in experiment.workload.kinds],
        workload=experiment.workload.describe(experiment.options(cell), cell.setup, planned.steps)
        | ({} if flavour_of(build).has_engines else {"engine": None}),
        scale=experiment.spec.scale,
        binary=None if facts is None else records.BinaryRecord(**asdict(facts)),
        config=records.ConfigRecord(
            my_cnf=config.render(skipped),
            fragments=config.fragments,
            options=[records.OptionRecord(**asdict(option)) for option in config.options],
            skipped=skipped,
            dropped=list(config.dropped),
        ),
        host=host_facts(nearest_existing(workspace.sandboxes)) | _elsewhere(cell.config.folders),
        versions={
            "python": platform.python_version(),
            **{name: version(name) for name in _LIBRARIES},
            "client core": core_of(flavour_of(build).driver).name,
        },
        null_reasons=unknown_facts(facts),
        warnings=warnings,
    )


def _elsewhere(folders: Mapping[str, Path]) -> dict[str, Any]:
    """What the host facts of a cell have besides: the storage of files that do not lie in the sandbox."""
    facts_of = {what: storage_facts(nearest_existing(folder)) for what, folder in folders.items()}
    described = {what: {"class": storage_class(facts), **facts} for what, facts in facts_of.items()}
    return {"storage": described} if described else {}
