"""manifest.json of a run directory: what was run, on what, and how it went.

Written first when a run begins (status `running`) and last after every table it vouches for. A file that it does not
list does not count. Its own last line is the SHA-256 of everything before, so that a changed byte is noticed: it guards
against damage, not against somebody who writes a new checksum. Manifests of minor versions before 3 have none.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from ibench_lib.base.collector_report import CollectorReport
from ibench_lib.base.durable import write_atomically
from ibench_lib.base.text_file import NotReadable, read_beginning
from ibench_lib.errors import LakeError
from ibench_lib.schema import SCHEMA_MINOR, SCHEMA_VERSION

FILE_NAME = "manifest.json"
MOST_BYTES = 10_000_000

OPTION_FILE, SERVER_LOG = "my.cnf", "server.log"
TEXTS = (OPTION_FILE, SERVER_LOG)
"""Files of a run next to its tables: its server's option file and log. Runs of older versions do not list them."""

CHECKSUM_SINCE = 3
"""The minor version from which on every manifest has a checksum."""

DIED = "the runner died"
"""What the manifest of a run says that nobody writes any more."""

Status = Literal["running", "complete", "failed", "interrupted"]

_CHECKSUM = re.compile(rb',\n "manifest_sha256": "([0-9a-f]{64})"\n}\n\Z')
_LIKE_A_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")


def _moment(text: str) -> str:
    """A wall time that can be told in UTC."""
    try:
        datetime.fromisoformat(text).astimezone(UTC)
    except OverflowError as error:
        raise ValueError(str(error)) from None
    return text


def _file_name(name: str) -> str:
    """The name of a file of the run directory, not a path to somewhere else."""
    if not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,199}", name):
        raise ValueError(f"{name!r:.80} is not the name of a file in the run directory")
    return name


Moment = Annotated[str, AfterValidator(_moment)]
# What tables hold has 64 bits.
Whole = Annotated[int, Field(ge=-(2**63), lt=2**63)]
Count = Annotated[int, Field(ge=0, lt=2**63)]


class _Model(BaseModel):
    # A manifest of a later minor version may know more; what we do not know we keep out of our way.
    model_config = ConfigDict(extra="ignore", allow_inf_nan=False)


class Cell(_Model):
    """Which cell of its experiment a run is. `dbms` is `<build>.<config>`, the name results go by.

    `build_label` is what ran under the name `build`, and `stands_for` what was meant where that is something else;
    `position` is the cell's place in the experiment's `order`.
    """

    build: str
    config: str
    dbms: str
    setup: str
    repeat: Whole
    fingerprint: str = Field(description="SHA-256 of everything that decides what the run does")
    build_label: str | None = None
    stands_for: str | None = None
    position: Whole | None = None
    rank: Whole | None = Field(default=None, description="place of the dbms in the experiment file")
    order: str | None = None


class ExperimentRecord(_Model):
    """The experiment file that a run is of."""

    name: str
    title: str
    text: str = Field(description="the experiment file as it was")


class ServerRecord(_Model):
    """The server, as it described itself."""

    flavour: str
    version: str
    version_comment: str
    variables: dict[str, str] = Field(description="SHOW GLOBAL VARIABLES after start, or imported")
    variables_changed: dict[str, tuple[str | None, str | None]] = Field(
        default_factory=dict, description="variables whose value at the end differs: (start, end)"
    )


class BinaryRecord(_Model):
    """What the file of the server's binary tells of how it was built; null for what it does not tell."""

    compiler: str | None = Field(default=None, description="what compilers left in it, in their words")
    build_id: str | None = Field(default=None, description="hexadecimal digits that the linker made of its content")
    stripped: bool | None = Field(default=None, description="whether it has no symbol table")
    allocator: str | None = Field(default=None, description="the shared library that it links for memory, if any")
    tls_library: str | None = Field(default=None, description="the shared library that it links for TLS, if any")


class OptionRecord(_Model):
    """One option of the server, and the line that sets it."""

    key: str
    value: str | None
    origin: str = Field(description="file:line")
    full_value: str | None = Field(default=None, description="the value at scale 1, where it differs")


class ConfigRecord(_Model):
    """The configuration of the server, and what it was made from."""

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
    compared: bool = Field(default=True, description="whether the throughput is a result, by which dbms are compared")


class FileRecord(_Model):
    """What a file of the run must be."""

    rows: Count
    bytes: Count
    sha256: str


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


class VerdictRecord(_Model):
    """What the checks of the data after a step found; the table `checks` has each of them."""

    step: str
    made: int
    held: int
    broken: dict[str, str] = Field(
        default_factory=dict, description="those that a defect of the workload itself explains, and which"
    )
    failed: list[str] = Field(default_factory=list, description="what failed the run, in words")


class Manifest(_Model):
    """The manifest. `origin_wall` is the wall time of the run clock's zero, stored once and never used for a rate."""

    schema_version: int = Field(default=SCHEMA_VERSION, ge=1)
    schema_minor: int = Field(default=0, ge=0)
    tool_version: str
    run_id: str
    status: Status
    error: str | None = None
    failed_step: str | None = None
    origin_wall: Moment
    ended_wall: Moment | None = None
    source: str | None = Field(default=None, description="where its figures were published, if not measured here")
    origin: Literal["published", "imported"] | None = Field(
        default=None, description="whether its figures are published ones or from logs, if not measured here"
    )
    experiment: ExperimentRecord
    cell: Cell
    benchmark: str | None = Field(default=None, description="name of the workload")
    operations: list[OperationRecord] = Field(default_factory=list)
    kinds: list[KindRecord] = Field(default_factory=list)
    workload: dict[str, Any] = Field(description="the resolved workload: clients, steps, rates, rows, seed")
    scale: float
    server: ServerRecord | None = None
    binary: BinaryRecord | None = Field(default=None, description="null for remote servers and in older runs")
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
    verdicts: list[VerdictRecord] = Field(default_factory=list, description="one for each step whose data was checked")
    collectors: list[CollectorReport] = Field(default_factory=list)
    files: dict[Annotated[str, AfterValidator(_file_name)], FileRecord] = Field(default_factory=dict)
    sealed_generation: int = Field(default=0, description="the journal's generations that `files` have the rows of")

    @property
    def steps_loaded(self) -> list[str]:
        """Steps that another run did, and this one has the result of."""
        return self.loaded_from.steps if self.loaded_from else []


def write_manifest(run_dir: Path, manifest: Manifest) -> None:
    """Replace run_dir/manifest.json: either the old or the new text survives a crash, never half of one."""
    manifest.schema_minor = SCHEMA_MINOR
    write_atomically(run_dir / FILE_NAME, with_checksum(manifest.model_dump_json(indent=1)))


def with_checksum(text_or_content: str | dict[str, Any]) -> bytes:
    """The text of a manifest, given its JSON (indented by one) or its content, with the checksum as its last line."""
    if isinstance(text_or_content, dict):
        content = {key: value for key, value in text_or_content.items() if key != "manifest_sha256"}
        text_or_content = json.dumps(content, indent=1, ensure_ascii=False)
    text = text_or_content.encode().removesuffix(b"\n}")
    return text + f',\n "manifest_sha256": "{hashlib.sha256(text).hexdigest()}"\n}}\n'.encode()


def has_checksum(text: bytes) -> bool:
    """Whether the text of a manifest ends with a checksum, right or wrong."""
    return _CHECKSUM.search(text) is not None


def unvouched(manifest: Manifest, text: bytes, present: Iterable[str]) -> dict[str, str]:
    """The files in the folder of a sealed run that no checksum vouches for: name -> kind, as the table has it.

    `text` is the manifest as it lies there, `present` are names of the files next to it.
    """
    kinds = {} if has_checksum(text) else {FILE_NAME: "manifest"}
    is_older = not any(name in manifest.files for name in TEXTS)
    for name in sorted(present):
        if name not in manifest.files and name != FILE_NAME:
            kinds[name] = "text" if is_older and name in TEXTS else "unlisted"
    return kinds


def read_manifest(run_dir: Path) -> Manifest:
    """Read a manifest.

    Raises
    ------
    LakeError : missing, not JSON, not a manifest, not what its checksum says, or written by a later major version.
    """
    return parse_manifest(run_dir.name, read_text(run_dir))


def read_text(run_dir: Path) -> bytes:
    """The manifest as it lies there. Raises LakeError where it cannot be read."""
    try:
        return read_beginning(run_dir / FILE_NAME, MOST_BYTES + 1, follow=False)
    except FileNotFoundError:
        raise LakeError(f"run {run_dir.name}: no {FILE_NAME}") from None
    except NotReadable as error:
        raise LakeError(f"run {run_dir.name}: {FILE_NAME} is unreadable: {error}") from error


def parse_manifest(name: str, text: bytes) -> Manifest:
    """The manifest in a text; `name` is what messages call the run. Raises LakeError as `read_manifest` does."""
    if len(text) > MOST_BYTES:
        raise LakeError(f"run {name}: {FILE_NAME} is larger than {MOST_BYTES:,} bytes")
    try:
        raw = json.loads(text, parse_float=_finite, parse_constant=_finite)
        if _LIKE_A_SURROGATE.search(text):
            json.dumps(raw, ensure_ascii=False).encode()
        version = raw["schema_version"]
        if type(version) is not int or version < 1:
            raise ValueError(f"schema_version is {version!r:.80}")
    # Whatever a text can do to a parser (RecursionError, OverflowError) is that text's fault.
    except Exception as error:
        raise LakeError(f"run {name}: {FILE_NAME} is unreadable: {_reason(error)}") from error
    if version > SCHEMA_VERSION:
        raise LakeError(
            f"run {name} has format {version}, this ibench reads up to {SCHEMA_VERSION}",
            hint=f"use ibench {raw.get('tool_version', 'of a later version')!s:.40} or later",
        )
    _check_checksum(name, text, raw)
    try:
        return Manifest.model_validate(raw)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise LakeError(f"run {name}: {FILE_NAME}: {where}: {first['msg'].removeprefix('Value error, ')}") from error
    except Exception as error:
        raise LakeError(f"run {name}: {FILE_NAME} is unreadable: {_reason(error)}") from error


def _check_checksum(name: str, text: bytes, raw: dict[str, Any]) -> None:
    checksum = _CHECKSUM.search(text)
    if checksum is None:
        minor = raw.get("schema_minor", 0)
        if "manifest_sha256" in raw or type(minor) is not int or minor >= CHECKSUM_SINCE:
            raise LakeError(f"run {name}: {FILE_NAME} has lost its checksum: it is not what was written")
    elif hashlib.sha256(text[: checksum.start()]).hexdigest() != checksum[1].decode():
        raise LakeError(f"run {name}: {FILE_NAME} is not what was written (SHA-256)")


def _finite(text: str) -> float:
    """A float, but neither infinite nor NaN: no other reader of JSON could take it."""
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text[:40]} is not a finite number")
    return value


def _reason(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "nested too deeply"
    return (str(error).splitlines() or [type(error).__name__])[0]
