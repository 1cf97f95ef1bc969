"""Imports what HammerDB prints of TPROC-C: the result in its log, and next to it the time profile and the counter.

HammerDB prints two figures, in one of two orders. NOPM are new orders a minute that the database has committed: it is
what ibench calls NOTPM committed. TPM are all transactions that the server counted in a minute, which is no metric of
ibench and stays `printed`. Neither is NOTPM. There are no seconds: HammerDB does not print them, and its transaction
counter has an interval of its own.

Of the time profile (hdbxtprofile.log), calls and times of each virtual user are added up; its summary has medians of
users. They include the ramp-up. Percentiles cannot be added up and are left out.

Jobs of HammerDB's SQLite database (`hammer.DB`) have the same figures in rows. In messages, the line of a database is
the number of a job.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from ibench_lib.errors import UsageError
from ibench_lib.importers.hammerdb_jobs import Job, NotReadable, may_be_jobs, read_jobs
from ibench_lib.importers.importer import ImportedRun, ImportedStep, ImportRequest, Remark, nothing_used
from ibench_lib.importers.layout import NO_DBMS, dbms_of
from ibench_lib.importers.lines import LineBlocks, refusal
from ibench_lib.importers.source import File, Source

_STEP = "run"
_N, _MS = r"(\d{1,12})", r"(\d{1,12}(?:\.\d{1,6})?)ms"
_DATABASE = r"(?:[\w-]{1,40} )?"
_RESULT = re.compile(rf"TEST RESULT : System achieved {_N} NOPM from {_N} {_DATABASE}TPM", re.ASCII)
_OLD_RESULT = re.compile(rf"TEST RESULT : System achieved {_N} {_DATABASE}TPM at {_N} NOPM", re.ASCII)
_OF_USER = re.compile(r"Vuser (\d{1,5})(?::| )(.*)", re.ASCII)
_USERS = re.compile(r"(\d{1,5}) Active Virtual Users configured", re.ASCII)
_RAMP_UP = re.compile(r"Beginning rampup time of (\d{1,5}) minutes?", re.ASCII)
_MINUTES = re.compile(r"Timing test period of (\d{1,5}) in minutes?", re.ASCII)
_FAILED = "FINISHED FAILED"
_PROFILE = re.compile(r"(?:[\w-]{1,40} )?Hammerdb Time Profile Report @ .*", re.ASCII | re.IGNORECASE)
_COUNTER = re.compile(r"(?:[\w-]{1,40} )?Hammerdb Transaction Counter Log @ .*", re.ASCII | re.IGNORECASE)
_SAMPLE = re.compile(r"(\d{1,12}) [\w-]{1,40} tpm(?: @ .*)?", re.ASCII)
_ONE_USER = re.compile(r">>>>> VIRTUAL USER (\d{1,5}) : ELAPSED TIME : \d{1,12}ms", re.ASCII)
_ALL_USERS = re.compile(r">>>>> SUMMARY OF (\d{1,5}) ACTIVE VIRTUAL USERS : MEDIAN ELAPSED TIME : \d{1,12}ms", re.ASCII)
_PROC = re.compile(r">>>>> PROC: ([A-Z_]{1,20})", re.ASCII)
_CALLS = re.compile(rf"CALLS: {_N}\tMIN: {_MS}\tAVG: {_MS}\tMAX: {_MS}\tTOTAL: {_MS}", re.ASCII)
_PERCENTILES = re.compile(r"(?:P\d\d: [\d.]+ms\t)+SD: [\d.]+(?:ms)?\tRATIO: [\d.]+%", re.ASCII)
_BENCHMARKS = ("TPC-C", "TPROC-C")
_TYPES = {
    "NEWORD": "new_order",
    "PAYMENT": "payment",
    "DELIVERY": "delivery",
    "OSTAT": "order_status",
    "SLEV": "stock_level",
    "GNAME": "customer_by_name",
}
# What says nothing of a figure, or only of who measured.
_SAYS_NOTHING = re.compile(
    r"[+-]{3,}|(?:hammerdb>.*)|ALL VIRTUAL USERS COMPLETE|HammerDB CLI v.*|Copyright .*|Type \"help\" .*|Initialized .*"
    r"|Script (?:cleared|loaded).*|Database set to .*|(?:Changed|Value) .*|Benchmark set to .*|vudestroy .*"
    r"|(?:SETTING CONFIGURATION|TEST STARTED|TEST COMPLETE)|Virtual Users? .*|Setting .*|Timer: .*|\d+ seconds?",
    re.ASCII,
)


@dataclass
class _Result:
    """A result of a log: `line` is where it stands, `failed` the first line that says that a virtual user failed.

    `own` is the profile and the counter of a job.
    """

    file: str
    path: Path
    line: int
    nopm: int
    tpm: int
    users: int | None = None
    ramp_up_min: int | None = None
    measured_min: int | None = None
    failed: int | None = None
    own: _Sidecar | None = None

    def remark(self, text: str, line: int | None = None) -> Remark:
        """Something to say of it."""
        return Remark(self.file, line or self.line, text)


@dataclass
class _Sidecar:
    """A time profile, or a log of the transaction counter: the calls by user and type, and the samples of TPM."""

    file: str
    calls: dict[tuple[int, str], tuple[int, float, float, float]] = field(default_factory=dict)
    samples: list[int] = field(default_factory=list)

    @property
    def printed(self) -> dict[str, Any]:
        """What a step keeps of it."""
        found: dict[str, Any] = {}
        if self.calls:
            found["with_ramp_up"] = [_added(name, self.calls) for name in dict.fromkeys(name for _, name in self.calls)]
        running = [sample for sample in self.samples if sample]
        if running:
            found["tpm_samples"] = {
                "samples": len(running), "least": min(running), "median": median(running), "most": max(running),
            }  # fmt: skip
        return found


class HammerDbLogs:
    """The importer of HammerDB's results of TPROC-C."""

    name = "hammerdb"
    expects = (
        "logs of HammerDB (TPROC-C) with a TEST RESULT, and next to them hdbxtprofile.log and hdbtcount.log; hammer.DB"
    )

    def recognises(self, file: File) -> str | None:
        """A result, the first line of a time profile or a log of the counter, or an SQLite database."""
        if may_be_jobs(file.first):
            return "it is an SQLite database, which may have jobs of HammerDB"
        for line in file.beginning.split("\n"):
            said = line.strip()
            if _result_of(said):
                return "it has a TEST RESULT of NOPM and TPM"
            if _PROFILE.fullmatch(said) or _COUNTER.fullmatch(said):
                return "it begins as a report of HammerDB"
            if (found := _OF_USER.fullmatch(said)) and (_RAMP_UP.fullmatch(found[2]) or _MINUTES.fullmatch(found[2])):
                return "it has lines of virtual users"
        return None

    def runs(self, source: Source, told: ImportRequest) -> Iterator[ImportedRun]:
        """One run for each result."""
        if told.test is not None:
            raise UsageError(f"{source}: logs of HammerDB have no test", hint="leave --test out")
        results: dict[str, list[_Result]] = {}
        sidecars: dict[str, list[_Sidecar]] = {}
        said: list[Remark] = []
        for file in source.in_order:
            if source.many and self.recognises(file) is None:
                continue
            folder = file.name.rpartition("/")[0]
            if may_be_jobs(file.first):
                results.setdefault(folder, []).extend(_of_jobs(file, source, said))
                continue
            found = _parse(file.name, source.blocks(file), sidecars.setdefault(folder, []))
            if not found and not any(one.file == file.name for one in sidecars[folder]):
                said.append(Remark(file.name, 1, "it has no result: this log was left out"))
            results.setdefault(folder, []).extend(found)
        results = {folder: _without_quotes(found, said) for folder, found in results.items()}
        for folder, others in sidecars.items():
            if len(results.get(folder, [])) != 1:
                said += [Remark(one.file, 1, "no single result is in its folder: it was left out") for one in others]
        in_order = [(folder, one) for folder in sorted(results) for one in sorted(results[folder], key=_place)]
        if said and not in_order:
            raise nothing_used(source, said)
        setups = _setups(told.setup, [result for _, result in in_order])
        repeats: dict[tuple[str, str], int] = {}
        for (folder, result), setup in zip(in_order, setups, strict=True):
            dbms = told.dbms or dbms_of(source.folders(result.file))
            if dbms is None:
                raise refusal(result.path, result.line, *NO_DBMS)
            repeats[setup, dbms] = repeats.get((setup, dbms), 0) + 1
            others = list(sidecars.get(folder, [])) if len(results[folder]) == 1 else []
            others += [result.own] if result.own is not None else []
            yield _run(setup, dbms, repeats[setup, dbms], result, others, said)
            said = []  # the import has them once, however many runs there are


IMPORTER = HammerDbLogs()


def _of_jobs(file: File, source: Source, said: list[Remark]) -> list[_Result]:
    """The results of the jobs of a database."""
    try:
        jobs = read_jobs(source.whole(file))
    except NotReadable as error:
        said.append(Remark(file.name, 1, f"{error}: it was left out"))
        return []
    results = []
    for number, job in enumerate(jobs, start=1):
        found = _result_of_job(file.name, source.where(file.name), number, job)
        if found is None:
            why = "has no result" if job.benchmark in _BENCHMARKS else f"is of {job.benchmark!r:.20}"
            said.append(Remark(file.name, number, f"this job {why}: it was left out"))
        else:
            results.append(found)
    return results


def _result_of_job(file: str, path: Path, number: int, job: Job) -> _Result | None:
    """The result of a job; None if it has none."""
    found, figures = _Result(file, path, number, 0, 0), None
    for _, text in job.lines:
        line = text.strip().replace("\\ ", " ")
        figures = figures or _result_of(line)
        of_user = _OF_USER.fullmatch(line)
        _take(found, number, of_user[2] if of_user else line)
    if figures is None or job.benchmark not in _BENCHMARKS:
        return None
    found.nopm, found.tpm = figures
    found.own = _Sidecar(file, samples=job.samples)
    for user, procedure, calls, least, most, total in job.calls:
        if procedure in _TYPES and least <= most:
            found.own.calls.setdefault((user, _TYPES[procedure]), (calls, least, most, total))
    return found


def _place(result: _Result) -> tuple[str, int]:
    return result.file, result.line


def _without_quotes(results: Sequence[_Result], said: list[Remark]) -> list[_Result]:
    """The results of a folder, each once: scripts copy the line of a result to other files. The fullest log counts."""
    kept: list[_Result] = []
    for one in sorted(results, key=lambda result: (result.users is None, result.measured_min is None, _place(result))):
        same = [other for other in kept if (other.nopm, other.tpm) == (one.nopm, one.tpm) and other.file != one.file]
        if same:
            said.append(one.remark(f"it is the result of {same[0].file.rpartition('/')[2]}: it was left out"))
        else:
            kept.append(one)
    return kept


def _result_of(said: str) -> tuple[int, int] | None:
    """NOPM and TPM of a result, by the words next to them: newer versions print them in another order."""
    text = said[said.find("TEST RESULT") :] if "TEST RESULT" in said else ""
    if found := _RESULT.fullmatch(text):
        return int(found[1]), int(found[2])
    if found := _OLD_RESULT.fullmatch(text):
        return int(found[2]), int(found[1])
    return None


def _setups(told: str | None, results: Sequence[_Result]) -> list[str]:
    """The setup of each result: as the user says, with the virtual users if they differ; else called after them."""
    differ = told is None or len({result.users for result in results}) > 1
    for result in results:
        if differ and result.users is None:
            raise refusal(
                result.path,
                result.line,
                "this log does not say how many virtual users it had",
                "import it alone, with --setup",
            )
    return ["-".join([*([told] if told else []), *([f"{one.users}vu"] if differ else [])]) for one in results]


def _parse(file: str, blocks: LineBlocks, sidecars: list[_Sidecar]) -> list[_Result]:
    """The results of a log. A time profile, or the samples of a counter, go to `sidecars`."""
    results: list[_Result] = []
    facts = _Result(file, blocks.path, 1, 0, 0)
    other = _Sidecar(file)
    is_other, fresh, user, proc = False, True, None, None
    for first, lines in blocks:
        for number, text in enumerate(lines, start=first):
            line = text.strip()
            if not line:
                continue
            figures = _result_of(line)
            if figures is not None:
                # The same line twice is no second result.
                if results and not fresh and figures == (results[-1].nopm, results[-1].tpm):
                    blocks.lost.add([number])
                    continue
                facts.line, facts.nopm, facts.tpm = number, *figures
                results.append(facts)
                facts, fresh = _Result(file, blocks.path, number, 0, 0), False
            elif _PROFILE.fullmatch(line) or _COUNTER.fullmatch(line):
                is_other = True
            elif number == blocks.unterminated:
                blocks.lost.add([number])  # it may be cut
            elif found := _SAMPLE.fullmatch(line):
                other.samples.append(int(found[1]))
                is_other = True
            elif found := _ONE_USER.fullmatch(line):
                user, proc = int(found[1]), None
            elif _ALL_USERS.fullmatch(line):
                user, proc = None, None
            elif found := _PROC.fullmatch(line):
                proc = found[1]
            elif found := _CALLS.fullmatch(line):
                if not _add_calls(other, user, proc, found):
                    blocks.lost.add([number])
                is_other = True
            elif found := _OF_USER.fullmatch(line):
                fresh = _take(facts, number, found[2]) or fresh
            elif not _PERCENTILES.fullmatch(line) and not _SAYS_NOTHING.fullmatch(line):
                blocks.lost.add([number])
    if is_other:
        sidecars.append(other)
    return results


def _take(facts: _Result, number: int, said: str) -> bool:
    """Take in what a virtual user says. Whether it belongs to a result that is still to come."""
    if found := _USERS.fullmatch(said):
        facts.users = int(found[1])
    elif found := _RAMP_UP.fullmatch(said):
        facts.ramp_up_min = int(found[1])
    elif found := _MINUTES.fullmatch(said):
        facts.measured_min = int(found[1])
    elif said.strip() == _FAILED:
        facts.failed = facts.failed or number
    else:
        return False
    return True


def _add_calls(other: _Sidecar, user: int | None, proc: str | None, found: re.Match[str]) -> bool:
    """Add the calls of a virtual user. Those of the summary are medians of users: they are understood, and not kept."""
    calls, least, mean, most, total = int(found[1]), *(float(found[one]) for one in range(2, 6))
    if user is None:
        return proc is not None
    if proc not in _TYPES or (user, _TYPES[proc]) in other.calls:
        return False
    if not least - 0.001 <= mean <= most + 0.001:
        return False
    other.calls[user, _TYPES[proc]] = (calls, least, most, total)
    return True


def _added(name: str, calls: Mapping[tuple[int, str], tuple[int, float, float, float]]) -> dict[str, Any]:
    """A type's calls of all virtual users."""
    of_type = [one for (_, proc), one in calls.items() if proc == name]
    done = sum(one[0] for one in of_type)
    return {
        "operation": name,
        "virtual_users": len(of_type),
        "calls": done,
        "min_ms": min(one[1] for one in of_type),
        "mean_ms": round(sum(one[3] for one in of_type) / done, 3) if done else None,
        "max_ms": max(one[2] for one in of_type),
    }


def _run(
    setup: str, dbms: str, repeat: int, result: _Result, sidecars: Sequence[_Sidecar], warnings: Sequence[Remark]
) -> ImportedRun:
    """A result as a run with one step."""
    error = None
    if result.failed is not None:
        error = result.remark("a virtual user failed", result.failed)
    printed: dict[str, Any] = {"nopm": result.nopm, "tpm": result.tpm}
    for other in sorted(sidecars, key=lambda one: one.file):
        printed |= other.printed
    details = {
        "seconds": 60 * result.measured_min if result.measured_min else None,
        "ramp_up_s": 60 * result.ramp_up_min if result.ramp_up_min is not None else None,
        "printed": printed,
    }
    files = [result.file, *(other.file for other in sidecars if other.file != result.file)]
    return ImportedRun(
        setup=setup,
        dbms=dbms,
        repeat=repeat,
        line=result.line,
        file=result.file,
        benchmark="tpcc",
        steps=[ImportedStep(_STEP, result.line, details, files, result.users)],
        rows={"published": [{"step": _STEP, "metric": "notpm_committed", "value": float(result.nopm)}]},
        workload={"program": {"name": "HammerDB"}, "setup": {"sets": 1, "terminals": result.users}},
        error=error,
        failed_step=None if error is None else _STEP,
        warnings=list(warnings),
        private=True,
    )
