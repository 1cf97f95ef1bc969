"""manifest.json of a run directory: what was run, on what, and how it went.

Written first when a run begins (status `running`) and last after every table it vouches for. A file that it does not
list does not count.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ibench_lib.base.durable import write_atomically
from ibench_lib.errors import LakeError
from ibench_lib.schema import SCHEMA_MINOR, SCHEMA_VERSION

FILE_NAME = "manifest.json"

Status = Literal["running", "complete", "failed", "interrupted"]


class _Model(BaseModel):
    # A manifest of a later minor version may know more; what we do not know we keep out of our way.
    model_config = ConfigDict(extra="ignore")


class Cell(_Model):
    """Which cell of its experiment a run is. `dbms` is `<build>.<config>`, the name results go by.

    `build_label` is what ran under the name `build`, and `stands_for` what was meant where that is something else;
    `position` is the cell's place in the experiment's `order`.
    """

    build: str
    config: str
    dbms: str
    setup: str
    repeat: int
    fingerprint: str = Field(description="SHA-256 of everything that decides what the run does")
    build_label: str | None = None
    stands_for: str | None = None
    position: int | None = None
    rank: int | None = Field(default=None, description="place of the dbms in the experiment file")
    order: str | None = None


class ExperimentRecord(_Model):
    name: str
    title: str
    text: str = Field(description="the experiment file as it was")


class ServerRecord(_Model):
    flavour: str
    version: str
    version_comment: str
    variables: dict[str, str] = Field(description="SHOW GLOBAL VARIABLES after start")
    variables_changed: dict[str, tuple[str | None, str | None]] = Field(
        default_factory=dict, description="variables whose value at the end differs: (start, end)"
    )


class OptionRecord(_Model):
    key: str
    value: str | None
    origin: str = Field(description="file:line")
    full_value: str | None = Field(default=None, description="the value at scale 1, where it differs")


class ConfigRecord(_Model):
    my_cnf: str = Field(description="the [mysqld] options of the run, without sandbox paths")
    fragments: dict[str, str] = Field(description="text of each fragment by name, base first")
    options: list[OptionRecord] = Field(default_factory=list)
    skipped: list[str] = Field(default_factory=list, description="loose_ lines that this server does not know")
    dropped: list[str] = Field(default_factory=list, description="lines of a complete my.cnf that a sandbox decides")


class OperationRecord(_Model):
    """What clients count and time under one name; its rate is added to that of the others of its family."""

    name: str
    family: str
    counts: Literal["rows", "ops"] = Field(description="what a rate of it is of")
    label: str = Field(description="the rate's name, such as inserts/s")
    better: Literal["higher", "lower", "neither"] = "higher"


class KindRecord(_Model):
    """What steps of one kind are about: their throughput is the rate of the family `main`."""

    name: str
    main: str
    equal_work: bool = Field(default=False, description="whether all clients of a step have the same work")
    of_existing_rows: bool = Field(default=False, description="throughput is the rows that are there / T")
    paced: list[str] = Field(
        default_factory=list, description="families that a step's target is for; main where none is named"
    )


class FileRecord(_Model):
    rows: int
    bytes: int
    sha256: str


class CollectorRecord(_Model):
    """What one collector did: samples made and missed, and why; CPU of its thread, wall time of its samples."""

    name: str
    every_s: int
    samples: int
    missed: int
    cpu_s: float
    busy_s: float
    reason: str | None = None


class SettleAction(_Model):
    """One action that settled the database before a step."""

    before_step: str
    action: str
    seconds: float
    result: str


class SnapshotRecord(_Model):
    """A data directory set aside after `after_step`, and how it came about: `run_id` did `steps`, on that build."""

    digest: str = Field(description="SHA-256 of `settings`")
    settings: dict[str, str] = Field(description="all that decides what is in it; cells share it that agree on this")
    after_step: str
    steps: list[str]
    run_id: str
    build: str
    server_version: str
    rows: dict[str, int] = Field(description="rows of each table, as acknowledged by the server")
    bytes: int = Field(description="on disk; blocks that a file system shares count for each file")
    made_wall: str
    shutdown_s: float = Field(description="purging, merging and flushing everything, and ending")


class SnapshotCopy(_Model):
    """The copy of a snapshot that a run went on with. `apart` says why the run loaded although others had before it."""

    seconds: float
    caches: str
    apart: str | None = None


class Manifest(_Model):
    """The manifest. `origin_wall` is the wall time of the run clock's zero, stored once and never used for a rate."""

    schema_version: int = SCHEMA_VERSION
    schema_minor: int = 0
    tool_version: str
    run_id: str
    status: Status
    error: str | None = None
    failed_step: str | None = None
    origin_wall: str
    ended_wall: str | None = None
    source: str | None = Field(default=None, description="where its figures were published, if not measured here")
    experiment: ExperimentRecord
    cell: Cell
    benchmark: str | None = Field(default=None, description="name of the workload")
    operations: list[OperationRecord] = Field(default_factory=list)
    kinds: list[KindRecord] = Field(default_factory=list)
    workload: dict[str, Any] = Field(description="the resolved workload: clients, steps, rates, rows, seed")
    scale: float
    server: ServerRecord | None = None
    config: ConfigRecord
    host: dict[str, Any]
    versions: dict[str, str] = Field(description="Python and the libraries that measured")
    null_reasons: dict[str, str] = Field(
        default_factory=dict, description="why a column is NULL: `table.column` -> reason"
    )
    settle: list[SettleAction] = Field(default_factory=list)
    snapshot_made: SnapshotRecord | None = Field(default=None, description="the snapshot that this run made")
    loaded_from: SnapshotRecord | None = Field(
        default=None, description="the one that it began with instead of loading"
    )
    snapshot_copy: SnapshotCopy | None = None
    warnings: list[str] = Field(default_factory=list)
    collectors: list[CollectorRecord] = Field(default_factory=list)
    files: dict[str, FileRecord] = Field(default_factory=dict)
    sealed_generation: int = Field(default=0, description="the journal's generations that `files` have the rows of")

    @property
    def steps_loaded(self) -> list[str]:
        """Steps that another run did, and this one has the result of."""
        return self.loaded_from.steps if self.loaded_from else []


def write_manifest(run_dir: Path, manifest: Manifest) -> None:
    """Replace run_dir/manifest.json: either the old or the new text survives a crash, never half of one."""
    manifest.schema_minor = SCHEMA_MINOR
    write_atomically(run_dir / FILE_NAME, (manifest.model_dump_json(indent=1) + "\n").encode())


def read_manifest(run_dir: Path) -> Manifest:
    """Read a manifest.

    Raises
    ------
    LakeError : missing, not JSON, not a manifest, or written by a later major version.
    """
    try:
        text = (run_dir / FILE_NAME).read_bytes()
    except FileNotFoundError:
        raise LakeError(f"run {run_dir.name}: no {FILE_NAME}") from None
    except OSError as error:
        raise LakeError(f"run {run_dir.name}: {FILE_NAME} is unreadable: {error}") from error
    return parse_manifest(run_dir.name, text)


def parse_manifest(name: str, text: bytes) -> Manifest:
    """The manifest in a text; `name` is what messages call the run. Raises LakeError as `read_manifest` does."""
    try:
        raw = json.loads(text)
        version = int(raw["schema_version"])
    except (ValueError, KeyError, TypeError) as error:
        raise LakeError(f"run {name}: {FILE_NAME} is unreadable: {error}") from error
    if version > SCHEMA_VERSION:
        raise LakeError(
            f"run {name} has format {version}, this ibench reads up to {SCHEMA_VERSION}",
            hint=f"use ibench {raw.get('tool_version', 'of a later version')} or later",
        )
    try:
        return Manifest.model_validate(raw)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise LakeError(f"run {name}: {FILE_NAME}: {where}: {first['msg']}") from error
