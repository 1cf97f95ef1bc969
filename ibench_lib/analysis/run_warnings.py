"""What runs warn of: warnings that differ in their numbers only are one kind. Names with digits are no numbers."""

from __future__ import annotations

import re
from dataclasses import dataclass

import polars as pl

from ibench_lib.base.wording import MOST_NAMED, count, shortened

# Not the digits of a name, such as a step's: t16, l.i1, 10x.
_NUMBER = re.compile(r"(?<![\w.])\d[\d.,]*(?!\w)")

# What a configuration that the server does not follow is warned of (`ibench_lib.configs.meaning`).
_ASKED = re.compile(r"asked .*, the server uses ")

# What `busy_hosts` says of a step.
_TAKEN = re.compile(r"other processes used |the hypervisor kept ")


@dataclass(frozen=True)
class KindOfWarning:
    """Warnings of one kind.

    Attributes
    ----------
    found : (warning, dbms), each once. `texts` are the warnings alone, each once.
    about : which results have such a warning, and in how many of their runs; for people.
    runs : in how many runs it is.
    """

    found: list[tuple[str, str]]
    texts: list[str]
    about: str
    runs: int

    @property
    def subject(self) -> str:
        """What it is about, in a few words: such as an option, or a busy host."""
        first, colon, rest = self.texts[0].partition(": ")
        if colon and _ASKED.match(rest):
            return f"{first} differs from the option file"
        return "a busy host" if colon and _TAKEN.match(rest) else first

    def __str__(self) -> str:
        more = f", and {len(self.texts) - 1} more of this kind" if len(self.texts) > 1 else ""
        return f"{self.texts[0]}{more} ({self.about})"


def kinds_of_warnings(runs: pl.DataFrame) -> list[KindOfWarning]:
    """The kinds of warnings of runs (`selected_runs`)."""
    kinds: dict[str, dict[tuple[str, str], None]] = {}
    warned: dict[str, set[str]] = {}
    for run in runs.select("run_id", "dbms", "warnings").to_dicts():
        for warning in run["warnings"] or []:
            kind = _NUMBER.sub("#", warning)
            kinds.setdefault(kind, {})[warning, run["dbms"]] = None
            warned.setdefault(kind, set()).add(run["run_id"])
    return [_kind(list(texts), len(warned[kind]), runs) for kind, texts in kinds.items()]


def _kind(found: list[tuple[str, str]], of_runs: int, runs: pl.DataFrame) -> KindOfWarning:
    texts, names = (list(dict.fromkeys(values)) for values in zip(*found, strict=True))
    whose = "all results" if len(names) == runs["dbms"].n_unique() > MOST_NAMED else shortened(names, ", ")
    about = whose if len(runs) == of_runs == 1 else f"{whose}; {of_runs} of {count(len(runs), 'run')}"
    return KindOfWarning(found, texts, about, of_runs)


def runs_warned(runs: pl.DataFrame) -> int:
    """How many of the runs have a warning (`selected_runs`)."""
    return sum(bool(warnings) for warnings in runs["warnings"].to_list())
