"""The tables that come from manifests instead of Parquet files."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING, Any

from ibench_lib.paths import workload_folders

if TYPE_CHECKING:
    from ibench_lib.store.manifest import KindRecord, Manifest, OperationRecord

_UNDESCRIBED = "results/undescribed_runs.json"
_TEXT, _WALL = "string", "timestamp[us]"


def _columns(**kinds: str) -> dict[str, str]:
    return kinds


MANIFEST_TABLES: dict[str, dict[str, str]] = {
    # One row per readable run. Wall times are UTC. `experiment_sha256` tells experiment files with one name apart;
    # `dbms_rank` is the place of the dbms in that file, NULL where an older ibench did not say. `build_label` is what
    # ran as `build`, `stands_for` what was meant; `cell_order` is the order of the experiment's runs. `source` is not
    # NULL for figures that were published elsewhere, and not measured here; `origin` is measured, published (figures
    # only) or imported (from logs).
    # After the step `snapshot_after` a run goes on with a copy of its data directory, or of the run's `loaded_from`.
    "runs": _columns(
        run_id=_TEXT,
        status=_TEXT,
        error=_TEXT,
        failed_step=_TEXT,
        experiment=_TEXT,
        title=_TEXT,
        experiment_sha256=_TEXT,
        build=_TEXT,
        config=_TEXT,
        dbms=_TEXT,
        dbms_rank="int64",
        setup=_TEXT,
        repeat="int64",
        build_label=_TEXT,
        stands_for=_TEXT,
        cell_order=_TEXT,
        source=_TEXT,
        origin=_TEXT,
        fingerprint=_TEXT,
        scale="float64",
        clients="int64",
        flavour=_TEXT,
        server_version=_TEXT,
        version_comment=_TEXT,
        origin_wall=_WALL,
        ended_wall=_WALL,
        tool_version=_TEXT,
        schema_version="int64",
        warnings="string[]",
        null_reasons=_TEXT,
        workload=_TEXT,
        host=_TEXT,
        versions=_TEXT,
        experiment_text=_TEXT,
        my_cnf=_TEXT,
        snapshot_after=_TEXT,
        loaded_from=_TEXT,
        benchmark=_TEXT,
    ),
    # One row per step that a run set out to do, or whose result it has from the run `loaded_from`. `planned_s`: for how
    # many seconds its clients begin operations; NULL for a step that ends with its work. `step`: its name; of one that
    # repeats an earlier step of its run and whose rate is no result, with the name of that step: control.t4.
    "planned_steps": _columns(
        run_id=_TEXT, step_id="int64", step=_TEXT, kind=_TEXT, planned_s="float64", loaded_from=_TEXT
    ),
    # One row per operation that the clients of a run count and time, in the workload's order: rates of one `family` are
    # added up, `counts` (rows or ops) says what a rate is of, `label` what it is called. `role`, where it is not NULL,
    # is that of the workers that send nothing but this family.
    "operations": _columns(
        run_id=_TEXT,
        operation=_TEXT,
        family=_TEXT,
        counts=_TEXT,
        label=_TEXT,
        better=_TEXT,
        position="int64",
        role=_TEXT,
    ),
    # One row per kind of step of a run: throughput is the rate of the family `main`, of rows that are there if
    # `of_existing_rows`; `equal_work`: all clients have the same. A step's target is one of the `paced` families, of
    # `main` where that is empty.
    "kinds": _columns(
        run_id=_TEXT,
        kind=_TEXT,
        main=_TEXT,
        equal_work="bool",
        of_existing_rows="bool",
        paced="string[]",
        compared="bool",
    ),
    # One row per option of a run's my.cnf, in its order; `origin` is the fragment and line.
    "config_options": _columns(run_id=_TEXT, position="int64", name=_TEXT, value=_TEXT, origin=_TEXT),
    # One row per fragment of a run's configuration, base first: the file's name and text.
    "config_fragments": _columns(run_id=_TEXT, position="int64", fragment=_TEXT, text=_TEXT),
    # One row per variable of a run's server: SHOW GLOBAL VARIABLES after its start; of an imported run as its files
    # have them, with <masked> for values that may tell a host, a person, a path or a secret.
    "server_variables": _columns(run_id=_TEXT, name=_TEXT, value=_TEXT),
    # One row per run whose server's binary was on its host: what its file tells of how it was built, NULL for what it
    # does not tell. `allocator` and `tls_library` are shared libraries that it links; NULL if it links none.
    "binaries": _columns(
        run_id=_TEXT, compiler=_TEXT, build_id=_TEXT, stripped="bool", allocator=_TEXT, tls_library=_TEXT
    ),
    # One row per collector of a run that reported at its end: the samples made and missed, and why some are missing.
    # What the experiment did not ask for is not there. A run that has not ended, or was killed, has none.
    "collectors": _columns(
        run_id=_TEXT, collector=_TEXT, every_s="int64", samples="int64", missed="int64", reason=_TEXT
    ),
    # One row per action that settled a run's database before a step, in their order: a statement, or what was waited
    # for; and what was found.
    "settling": _columns(
        run_id=_TEXT, position="int64", before_step=_TEXT, action=_TEXT, seconds="float64", result=_TEXT
    ),
    # One row per run of which somebody says something (`ibench runs note`, `tag`, `exclude`). `excluded` is why nothing
    # is made from the run; NULL if it counts.
    "annotations": _columns(run_id=_TEXT, note=_TEXT, tags="string[]", excluded=_TEXT),
    # One row per file in the folder of a sealed run that no checksum vouches for, so that nobody would notice a change.
    # `kind`: `manifest` and `text` (my.cnf, server.log) of a run of an older version, `unlisted` for a file that is not
    # of the run. What people say of a run (`annotations`) is not meant to be vouched for.
    "unvouched": _columns(run_id=_TEXT, file=_TEXT, kind=_TEXT),
    # One row per run or file that was left out, and why. `file` is NULL for a whole directory.
    "problems": _columns(run_id=_TEXT, file=_TEXT, problem=_TEXT),
}
"""The columns of each table, and their types as `ibench_lib.schema.arrow_type` takes them. All may be NULL."""


def manifest_rows(manifests: Iterable[Manifest]) -> dict[str, list[dict[str, Any]]]:
    """Rows of each table of MANIFEST_TABLES but `problems`."""
    rows: dict[str, list[dict[str, Any]]] = {name: [] for name in MANIFEST_TABLES if name != "problems"}
    for manifest in manifests:
        key = {"run_id": manifest.run_id}
        rows["runs"].append(_run(manifest))
        for position, step in enumerate(_planned(manifest)):
            loaded_from = _loaded_from(manifest) if step["step"] in manifest.steps_loaded else None
            rows["planned_steps"].append({**key, "step_id": position, **step, "loaded_from": loaded_from})
        for position, operation in enumerate(_described(manifest).operations):
            rows["operations"].append({**key, **operation, "position": position})
        rows["kinds"] += [{**key, **kind} for kind in _described(manifest).kinds]
        for position, option in enumerate(_options(manifest)):
            rows["config_options"].append({**key, "position": position, **option})
        for position, (fragment, text) in enumerate(manifest.config.fragments.items()):
            rows["config_fragments"].append({**key, "position": position, "fragment": fragment, "text": text})
        if manifest.server is not None:
            for name, value in manifest.server.variables.items():
                rows["server_variables"].append({**key, "name": name, "value": value})
        if manifest.binary is not None:
            rows["binaries"].append({**key, **manifest.binary.model_dump()})
        for position, action in enumerate(manifest.settle):
            rows["settling"].append({**key, "position": position, **action.model_dump()})
        for one in manifest.collectors:
            rows["collectors"].append(
                {
                    **key,
                    "collector": one.name,
                    "every_s": one.every_s,
                    "samples": one.samples,
                    "missed": one.missed,
                    "reason": one.reason,
                }
            )
    return rows


def _run(manifest: Manifest) -> dict[str, Any]:
    cell, experiment, server = manifest.cell, manifest.experiment, manifest.server
    clients = manifest.workload.get("clients")
    return {
        "run_id": manifest.run_id,
        "status": manifest.status,
        "error": manifest.error,
        "failed_step": manifest.failed_step,
        "experiment": experiment.name,
        "title": experiment.title,
        "experiment_sha256": hashlib.sha256(experiment.text.encode()).hexdigest(),
        "build": cell.build,
        "config": cell.config,
        "dbms": cell.dbms,
        "dbms_rank": cell.rank,
        "setup": cell.setup,
        "repeat": cell.repeat,
        "build_label": cell.build_label,
        "stands_for": cell.stands_for,
        "cell_order": cell.order,
        "source": manifest.source,
        "origin": manifest.origin or ("published" if manifest.source is not None else "measured"),
        "fingerprint": cell.fingerprint,
        "scale": manifest.scale,
        "clients": clients if isinstance(clients, int) else None,
        "flavour": server.flavour if server else None,
        "server_version": server.version if server else None,
        "version_comment": server.version_comment if server else None,
        "origin_wall": _wall(manifest.origin_wall),
        "ended_wall": _wall(manifest.ended_wall) if manifest.ended_wall else None,
        "tool_version": manifest.tool_version,
        "schema_version": manifest.schema_version,
        "warnings": manifest.warnings,
        "null_reasons": json.dumps(manifest.null_reasons, sort_keys=True),
        "workload": json.dumps(manifest.workload, sort_keys=True),
        "host": json.dumps(manifest.host, sort_keys=True),
        "versions": json.dumps(manifest.versions, sort_keys=True),
        "experiment_text": experiment.text,
        "my_cnf": manifest.config.my_cnf,
        "snapshot_after": next((s.after_step for s in (manifest.snapshot_made, manifest.loaded_from) if s), None),
        "loaded_from": _loaded_from(manifest),
        "benchmark": _described(manifest).benchmark,
    }


def _loaded_from(manifest: Manifest) -> str | None:
    return manifest.loaded_from.run_id if manifest.loaded_from else None


def _wall(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC).replace(tzinfo=None)


def _planned(manifest: Manifest) -> list[dict[str, Any]]:
    """Name, kind and seconds of each planned step, where the manifest has them in the usual form."""
    listed = manifest.workload.get("resolved_steps")
    steps = [s for s in listed if isinstance(s, dict) and "name" in s] if isinstance(listed, list) else []
    no_result = {kind["kind"] for kind in _described(manifest).kinds if not kind["compared"]}
    return [
        {"step": _step_name(s, steps[:place] if s.get("kind") in no_result else []), "kind": s.get("kind"),
         "planned_s": _number(s.get("seconds"))}
        for place, s in enumerate(steps)
    ]  # fmt: skip


def _step_name(step: dict[str, Any], before: Sequence[dict[str, Any]]) -> str:
    """The name of a step; of one whose settings are those of a step before it, such as control, with that step's name.

    Runs may repeat different steps under one name: these are no repeats of each other.
    """
    settings = _settings(step)
    like = [str(other["name"]) for other in before if len(settings) and _settings(other) == settings]
    return f"{step['name']}.{like[0]}" if like else str(step["name"])


def _settings(step: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in step.items() if key not in ("name", "form", "kind")}


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else None


@dataclass(frozen=True)
class _Described:
    """What a workload says of its operations and kinds of steps, as rows of the tables."""

    benchmark: str | None
    operations: list[dict[str, Any]]
    kinds: list[dict[str, Any]]


def _described(manifest: Manifest) -> _Described:
    """What a run's operations and kinds are; where its manifest does not say it, what was true of all such runs."""
    if not manifest.operations:
        return _undescribed()
    return _Described(
        manifest.benchmark,
        [_operation(operation) for operation in manifest.operations],
        [_kind(kind) for kind in manifest.kinds],
    )


@cache
def _undescribed() -> _Described:
    """Operations and kinds of runs that were made before manifests had them.

    All are of one workload, whose folder holds them as data, so that nothing here knows its words.
    """
    from ibench_lib.store.manifest import KindRecord, OperationRecord

    ((benchmark, folder),) = workload_folders(_UNDESCRIBED).items()
    known = json.loads((folder / _UNDESCRIBED).read_text(encoding="utf-8"))
    operations = [
        {**_operation(OperationRecord.model_validate(row)), "role": row["role"]} for row in known["operations"]
    ]
    return _Described(benchmark, operations, [_kind(KindRecord.model_validate(row)) for row in known["kinds"]])


def _operation(record: OperationRecord) -> dict[str, Any]:
    row = record.model_dump()
    return {"operation": row.pop("name"), **row, "role": None}


def _kind(record: KindRecord) -> dict[str, Any]:
    row = record.model_dump()
    return {"kind": row.pop("name"), **row}


def _options(manifest: Manifest) -> list[dict[str, Any]]:
    """The options of a run's my.cnf. `origin` names the value at scale 1, too, where that is another one."""
    if not manifest.config.options:
        return _rendered_options(manifest.config.my_cnf)
    return [
        {
            "name": option.key,
            "value": option.value,
            "origin": option.origin + (f", scaled from {option.full_value}" if option.full_value is not None else ""),
        }
        for option in manifest.config.options
    ]


def _rendered_options(my_cnf: str) -> list[dict[str, Any]]:
    """The options of a rendered my.cnf: `name=value   # fragment:line, note`; a # within quotes begins no note."""
    options = []
    for line in my_cnf.splitlines():
        setting, origin = _parted(line)
        name, equals, value = setting.strip().partition("=")
        if name and not name.startswith(("[", "#")):
            option = {
                "name": name.strip(),
                "value": value.strip() if equals else None,
                "origin": origin.strip() or None,
            }
            options.append(option)
    return options


def _parted(line: str) -> tuple[str, str]:
    """What stands before and after the first ` #` outside of double quotes, in which a backslash escapes."""
    quoted = escaped = False
    for position, character in enumerate(line):
        if character == '"' and not escaped:
            quoted = not quoted
        elif character == "#" and not quoted and line[:position].endswith(" "):
            return line[:position], line[position + 1 :]
        escaped = quoted and character == "\\" and not escaped
    return line, ""
