"""Files of a source that say what server or host the runs had: whose they are, and what an import makes of them.

Scripts save the variables of a server next to their logs, once for each folder, size of the buffer pool or log, and
note on what host they ran. Such a file is found by its content, whichever importer reads the logs. It belongs to the
runs with a log of its name, else of its size, in its folder; without a log there, to those of the folders below, if all
are of one dbms. What the files of a run do not agree on is not known.

Whatever a file of this kind cannot be used for has a reason, so that it is not among the unknown ones.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from ibench_lib.base.wording import count
from ibench_lib.importers.host_summaries import Facts, is_of_a_host, read_host
from ibench_lib.importers.importer import ImportedRun, ImportedServer, Remark
from ibench_lib.importers.layout import size_of
from ibench_lib.importers.option_files import is_option_file
from ibench_lib.importers.saved_variables import Variables, read_variables, recognised
from ibench_lib.importers.source import File, Source

if TYPE_CHECKING:
    from ibench_lib.servers.flavours.flavour import SavedOutput

WHEN = "the server's variables are from a file that does not say when they were read"
BY_A_SESSION = "the server's variables are those that a session saw, which may have had values of its own"
"""What is taken for granted of a run with variables."""
WHOSE_HOST = "the host's facts are from a file that does not say whether its clients or its server ran there"
"""What is taken for granted of a run with facts of a host."""

NO_MOMENT = "it has the status of a server at one moment, and nothing says which moment of a test that was"
ROUNDED = "it is a summary for people, whose figures are rounded"
UNSURE = "it is an option file, and nothing says that the server of the logs was started with it"
OF_NO_LOG = "no log next to it or below it says whose server or host it is of"
OF_SEVERAL = "the logs next to it or below it are of several servers, and it does not say of which it is"
TOO_MANY = "there are too many such files before it"

MOST_FILES = 1_000
"""Different files of one import that are used: what they have is in memory until its runs are written."""

# Archives have the option file of one server in the folders of another. Of a file that is called after the size of the
# buffer pool, as its logs are, their importer says whose it is.
_UNUSED = {"status": NO_MOMENT, "summary": ROUNDED, "options": UNSURE}
_NAMED = 5
_VERSION, _NUMBERS = re.compile(r"-(\d+(?:\.\d+)+)", re.ASCII), re.compile(r"\d+(?:\.\d+)+", re.ASCII)


@dataclass(frozen=True)
class _Log:
    """A file that a run was read from. Its `stem` is its name to the first dot."""

    run: int
    stem: str
    size: str | None
    dbms: str


@dataclass
class ServerFiles:
    """What an import has of such files.

    Parameters
    ----------
    runs : the runs, with what the files say of their servers.
    unused : files that are of this kind and not used, and why, by their names.
    used : the files that are, with the numbers of their runs.
    kinds : what each of these has, "variables" or "host".
    """

    runs: list[ImportedRun]
    unused: dict[str, str] = field(default_factory=dict)
    used: dict[str, list[int]] = field(default_factory=dict)
    kinds: dict[str, str] = field(default_factory=dict)


def with_servers(source: Source, runs: Sequence[ImportedRun]) -> ServerFiles:
    """The runs of a source, with what files say of their servers that no importer has read.

    Raises
    ------
    UsageError : such a file is not UTF-8, or no longer what it was.
    """
    found = ServerFiles(list(runs))
    if not source.many:
        return found
    in_folder, below = _logs(source, runs)
    of_run: dict[int, list[tuple[str, Variables]]] = {}
    hosts: dict[int, list[tuple[str, Facts]]] = {}
    already = source.read()
    servers: dict[str, Variables] = {}
    facts: dict[str, Facts] = {}
    for file in source.in_order:
        known = None if file.name in already else _known(file)
        if known is None:
            continue
        kind, saved = known
        numbers = _UNUSED.get(kind) or _runs_of(source, file, in_folder, below)
        before = servers.keys() | facts.keys()
        if not isinstance(numbers, list):
            found.unused[file.name] = numbers
        elif len(before) >= MOST_FILES and file.sha256 not in before:
            found.unused[file.name] = TOO_MANY
        else:
            found.used[file.name], found.kinds[file.name] = numbers, kind
            blocks = source.blocks(file)
            # Folders may have the same file many times.
            if saved is None:
                read = facts.setdefault(file.sha256, read_host(blocks))
                for number in numbers:
                    hosts.setdefault(number, []).append((file.name, read))
            else:
                variables = servers.setdefault(file.sha256, read_variables(blocks, saved))
                for number in numbers:
                    of_run.setdefault(number, []).append((file.name, variables))
    found.unused = dict(sorted(found.unused.items()))
    for number, files in of_run.items():
        found.runs[number] = _with_server(found.runs[number], sorted(files, key=lambda one: one[0]))
    for number, notes in hosts.items():
        found.runs[number] = _with_host(found.runs[number], sorted(notes, key=lambda one: one[0]))
    return found


def _known(file: File) -> tuple[str, SavedOutput | None] | None:
    """What a file is by its content, and how output of its family is read; None for any other file."""
    if (found := recognised(file.beginning)) is not None:
        return found[1], found[0]
    if is_option_file(file.beginning):
        return "options", None
    return ("host", None) if is_of_a_host(file.beginning) else None


def reasons(unused: Mapping[str, str], names: Iterable[str]) -> Iterator[str]:
    """A line for each reason why files that were recognised are not used. `names` are those of the files to name."""
    by_reason: dict[str, list[str]] = {}
    for file, name in zip(unused, names, strict=True):
        by_reason.setdefault(unused[file], []).append(name)
    for why, listed in by_reason.items():
        were = "was" if len(listed) == 1 else "were"
        more = " ..." if len(listed) > _NAMED else ""
        yield f"{count(len(listed), 'file')} {were} recognised and not used: {', '.join(listed[:_NAMED])}{more}: {why}"


def _logs(source: Source, runs: Sequence[ImportedRun]) -> tuple[dict[str, list[_Log]], dict[str, dict[int, str]]]:
    """The files of runs in each folder; and the runs of each folder and those below it, with their dbms."""
    in_folder: dict[str, list[_Log]] = {}
    below: dict[str, dict[int, str]] = {}
    for number, run in enumerate(runs):
        names = {name for step in run.steps for name in step.files} or {run.file or source.files[0].name}
        for name in sorted(names):
            folder, _, last = name.rpartition("/")
            log = _Log(number, last.partition(".")[0], size_of(source.folders(name), name), run.dbms)
            in_folder.setdefault(folder, []).append(log)
            while True:
                below.setdefault(folder, {})[number] = run.dbms
                if not folder:
                    break
                folder = folder.rpartition("/")[0]
    return in_folder, below


def _runs_of(
    source: Source, file: File, in_folder: Mapping[str, Sequence[_Log]], below: Mapping[str, Mapping[int, str]]
) -> list[int] | str:
    """The numbers of the runs that a file is of; why it is of none."""
    folder, _, last = file.name.rpartition("/")
    logs, stem, size = in_folder.get(folder, ()), last.partition(".")[0], size_of(source.folders(file.name), file.name)
    if not logs:
        dbms_of = below.get(folder, {})
        if not dbms_of or size is not None:
            return OF_NO_LOG
        return sorted(dbms_of) if len({*dbms_of.values()}) == 1 else OF_SEVERAL
    chosen = [log for log in logs if log.stem == stem]
    if not chosen and size is not None:
        chosen = [log for log in logs if size in (log.size, (log.size or "").partition("_")[0])]
        if not chosen:
            return OF_NO_LOG
    chosen = chosen or list(logs)
    return sorted({log.run for log in chosen}) if len({log.dbms for log in chosen}) == 1 else OF_SEVERAL


def _with_server(run: ImportedRun, files: Sequence[tuple[str, Variables]]) -> ImportedRun:
    """A run with the variables that its files agree on, and with what there is to say of them."""
    said = [remark for name, one in files for remark in _remarks(name, one)]
    servers = {one.server for _, one in files if one.server is not None}
    if len(servers) > 1:
        said.append(Remark(files[0][0], 1, "the files of variables of this run are of several servers: left out"))
    elif others := [version for _, version, _ in servers if _is_of_another(run.dbms, version)]:
        what = f"its variables are of version {others[0]}, and its dbms is called {run.dbms}: left out"
        said.append(Remark(files[0][0], 1, what))
        servers.clear()
    if len(servers) != 1:
        return replace(run, warnings=[*run.warnings, *said])
    known = [(name, one) for name, one in files if one.server is not None]
    values: dict[str, str] = {}
    differing: set[str] = set()
    for _, one in known:
        differing |= one.differing
        differing |= {name for name, value in one.values.items() if values.setdefault(name, value) != value}
    if differing:
        first = ", ".join(sorted(differing)[:_NAMED]) + (" ..." if len(differing) > _NAMED else "")
        what = f"{count(len(differing), 'variable')} with several values in the files of a run: left out: {first}"
        said.append(Remark(known[0][0], 1, what))
    flavour, version, comment = servers.pop()
    left = {name: value for name, value in values.items() if name not in differing}
    assumed = [WHEN, *([BY_A_SESSION] if any(one.of_a_session for _, one in known) else [])]
    return replace(
        run,
        server=ImportedServer(flavour, version, comment, left),
        workload=_assuming(run, assumed),
        warnings=[*run.warnings, *said],
    )


def _is_of_another(dbms: str, version: str) -> bool:
    """Whether the name of a dbms, such as mysql-8.4.8.a, has another version: files are copied between folders."""
    named, told = _VERSION.search(dbms.rpartition(".")[0]), _NUMBERS.match(version)
    if named is None or told is None:
        return False
    pairs = zip(named[1].split("."), told[0].split("."), strict=False)
    return any(one != other for one, other in pairs)


def _with_host(run: ImportedRun, files: Sequence[tuple[str, Facts]]) -> ImportedRun:
    """A run with the facts of a host that its files agree on. They cannot be of a host with other CPUs."""
    values: dict[str, set[str | int]] = {}
    for facts in (run.host, *(facts for _, facts in files)):
        for name, value in facts.items():
            values.setdefault(name, set()).add(value)
    if len(values.get("logical_cpus", ())) > 1:
        said = Remark(files[0][0], 1, "it is not of the host of the logs, which has another number of CPUs: left out")
        return replace(run, warnings=[*run.warnings, said])
    agreed = {name: found.pop() for name, found in values.items() if len(found) == 1}
    if agreed == run.host:
        return run
    return replace(run, host=agreed, workload=_assuming(run, [WHOSE_HOST]))


def _assuming(run: ImportedRun, assumed: Sequence[str]) -> dict[str, Any]:
    """What is known of the workload of a run, and what else is taken for granted of the run."""
    return {**run.workload, "assumptions": [*run.workload.get("assumptions", []), *assumed]}


def _remarks(name: str, found: Variables) -> Iterator[Remark]:
    """What there is to say of a file, whatever the other files of its run have."""
    if found.server is None:
        yield Remark(name, 1, "its variables do not say of which server they are: they were left out")
    if found.status_rows:
        rows = count(found.status_rows, "row")
        yield Remark(name, 1, f"it also has {rows} of the status of the server at one moment: left out")
