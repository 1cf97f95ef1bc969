"""What an importer is: a module of this folder that reads files of one kind, chosen by the content of the files.

A module with an object `IMPORTER` is an importer; no other code names it. Three rules hold, and `intake` enforces them:

1. It never invents a second. Samples of 10 s are not ten samples of 1 s: rows that stand for one second are taken only
   from a tool that reports every second (`ImportedRun.resolution_s`). Its longer intervals are rows of `intervals`.
2. It never invents a bin. A percentile is a figure, not a histogram: rows with bins are taken only from a tool that
   recorded them (`ImportedRun.histograms`).
3. It never loses a line silently. Every line that it does not call `used` is counted in a warning with file and line.

Files come from a `Source`: a file, a folder or an archive. Every run names its benchmark, or has steps that only one
benchmark has. What a file does not say stays NULL, with the reason in `ImportedRun.missing`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from ibench_lib.errors import UsageError
from ibench_lib.importers.source import File, Source

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Remark:
    """Something to say of a line of a file. The name of the file is not in the text: a run keeps another one."""

    file: str
    line: int
    text: str


def nothing_used(source: Source, remarks: Iterable[Remark]) -> UsageError:
    """An error: every log of a source was left out, with the reasons."""
    said = (f"{source.where(one.file)}:{one.line}: {one.text}" for one in remarks)
    return UsageError(f"{source} has no log that can be used", detail="\n".join(said))


@dataclass(frozen=True)
class ImportRequest:
    """The input of an importer besides the source: what the user says because the files do not.

    If its files name the setup, the dbms or the test, the importer refuses those of the user.
    """

    setup: str | None = None
    dbms: str | None = None
    test: str | None = None


@dataclass(frozen=True)
class ImportedStep:
    """A step of a run.

    Parameters
    ----------
    name, line : its name, and the first line that names it.
    details : what the manifest says of it besides its kind.
    files, threads : what it was read from, and its threads or clients, for the plan of an import.
    """

    name: str
    line: int
    details: Mapping[str, Any] = field(default_factory=dict)
    files: Sequence[str] = ()
    threads: int | None = None


@dataclass(frozen=True)
class Columns:
    """Many rows of a step at once, in the order of the table's key: as arrays, which is much quicker than row by row.

    A value is an array of `rows` items, or one that all rows have. Columns that are not there are NULL.
    """

    step: str
    rows: int
    values: Mapping[str, Any]


@dataclass(frozen=True)
class ImportedServer:
    """What files say of the server of a run. `variables` has `base.mask` words for what may tell hosts and people."""

    flavour: str
    version: str
    version_comment: str
    variables: Mapping[str, str]


@dataclass(frozen=True)
class ImportedRun:
    """One run that a source describes.

    Parameters
    ----------
    setup, dbms, repeat : they identify the result; a dbms is `<build>.<config>`.
    line, file : where the source names it: a line of the file of that name, by default of its only file.
    benchmark : name of its workload; by default the only one that has all of its steps.
    steps : in order, including steps that only other runs of the same setup have.
    rows : rows by table (schema.TABLES), only for tables that the tool has. `run_id` and `step_id` are filled in.
    columns : the same as arrays, by table, for tables that are not in `rows`: the pieces of each step in its order.
    resolution_s : interval of its samples in seconds; None if it has no samples.
    histograms : whether the tool recorded a histogram, or every response time, so that bins are its own.
    origin_wall : wall time of the run clock's zero; None if unknown.
    settings : the server's option file, as far as the file contains it.
    host : facts of the host, as far as the file contains them.
    server : its server; None if no file tells it. Files next to the logs are added by `intake`.
    missing : `table.column` -> why it is NULL.
    workload : facts of its workload, under the names that they have in the manifest of a measured run.
    error, failed_step : why it is no whole run, and the first step that is not; None if it is whole.
    warnings : what was left out, besides lines and files that were not read. Each run keeps those on its own files.
    private : its files may name people, hosts and passwords. Runs keep their hashes, and never their text.
    """

    setup: str
    dbms: str
    line: int
    steps: Sequence[ImportedStep]
    rows: Mapping[str, Iterable[Row]]
    columns: Mapping[str, Sequence[Columns]] = field(default_factory=dict)
    file: str | None = None
    benchmark: str | None = None
    repeat: int = 1
    resolution_s: float | None = None
    histograms: bool = False
    origin_wall: datetime | None = None
    settings: str = ""
    host: Mapping[str, str | int] = field(default_factory=dict)
    server: ImportedServer | None = None
    missing: Mapping[str, str] = field(default_factory=dict)
    workload: Mapping[str, Any] = field(default_factory=dict)
    error: Remark | None = None
    failed_step: str | None = None
    warnings: Sequence[Remark] = ()
    private: bool = False


class Importer(Protocol):
    """Reads files of one kind. Libraries that are slow to import, or optional, are imported in `runs`.

    One that has `summarises = True` reads what others have made of logs: it leaves a source to the importer of these.
    """

    @property
    def name(self) -> str:
        """What `--as` calls it."""

    @property
    def expects(self) -> str:
        """What its files look like, in one line for people."""

    def recognises(self, file: File) -> str | None:
        """What in a file's content (`File.beginning`) shows that it is of its kind; None if nothing does.

        The ending of a name does not matter.
        """

    def runs(self, source: Source, told: ImportRequest) -> Iterator[ImportedRun]:
        """The runs in a source. Files that it does not read are counted in a warning.

        Raises
        ------
        UsageError : a file cannot be used (`Lines.refusal` names the line).
        """
