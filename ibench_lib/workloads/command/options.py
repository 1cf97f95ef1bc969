"""`benchmark: command` in an experiment file: its commands, what their lines say, and its setups."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, PrivateAttr, model_validator

from ibench_lib.base.text_file import NotReadable, read_text
from ibench_lib.base.wording import suggestion
from ibench_lib.errors import ExperimentError
from ibench_lib.workloads.command.lines import AMOUNTS, SAID
from ibench_lib.workloads.command.placeholders import OF_THE_SERVER, OF_THE_STEP, PASSWORD, PYTHON, named_in
from ibench_lib.workloads.workload import CommonOptions, CommonSetup, Seconds, Strict

MOST_SCRIPT_BYTES = 1_000_000

_Word = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,30}$")]
_StepName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]{0,40}$")]
_Column = Annotated[int, Field(ge=1, le=1000)]
_TAKEN = frozenset((*OF_THE_SERVER, *OF_THE_STEP, PASSWORD, PYTHON))


def _pattern(text: str) -> str:
    try:
        re.compile(text)
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(f"{text!r:.80} is no regular expression: {error}") from None
    return text


def _argument(given: str | int | float) -> str:
    return given if isinstance(given, str) else f"{given!r}"


Pattern = Annotated[str, Field(min_length=1, max_length=2000), AfterValidator(_pattern)]
Argument = Annotated[str | int | float, AfterValidator(_argument)]


class Lines(Strict):
    """What a line says: a `pattern` with named groups, or `columns` from 1, apart by white space or `separator`.

    The names are those of `lines.SAID`. `latency_in` is the unit of `latency` and `max`. Lines in which the pattern
    `ignore` is found say nothing of an interval; all others that cannot be read are counted in a warning.
    """

    pattern: Pattern | None = None
    columns: Annotated[dict[str, _Column], Field(min_length=1)] | None = None
    separator: Annotated[str, Field(min_length=1, max_length=10)] | None = None
    latency_in: Literal["us", "ms", "s"] | None = None
    ignore: Pattern | None = None

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if (self.pattern is None) == (self.columns is None):
            raise ValueError("lines need either a pattern or columns")
        if self.separator is not None and self.columns is None:
            raise ValueError("separator is that of columns: a pattern has none")
        names = list(re.compile(self.pattern).groupindex) if self.pattern else list(self.columns or {})
        what = "group" if self.pattern else "column"
        for name in names:
            if name not in SAID:
                raise ValueError(f"unknown {what} {name!r:.80}{suggestion(name, list(SAID))}")
        amounts = [name for name in AMOUNTS if name in names]
        if len(amounts) != 1:
            has = " and ".join(amounts) if amounts else "none"
            form = "such as (?P<rate>[0-9.]+)" if self.pattern else "such as {rate: 2}"
            raise ValueError(f"exactly one {what} has to be count, rate or total, {form}; there is {has}")
        timed = [name for name in ("latency", "max") if name in names]
        if timed and self.latency_in is None:
            raise ValueError(f"latency_in has to say the unit of {timed[0]}: us, ms or s")
        if self.latency_in and not timed:
            raise ValueError(f"latency_in is the unit of a {what} latency or max, and there is none")
        return self


class Expected(Strict):
    """A check: a statement that returns one number, and the number. It is made after the step."""

    statement: Annotated[str, Field(min_length=1, max_length=10_000)]
    expected: int


class Command(Strict):
    """A program with its arguments, the first of which is the program; no shell reads them.

    `name` is that of its step. It is killed after `at_most_s`, unless it has `{seconds}`, which limit it then.
    """

    name: _StepName
    argv: Annotated[list[Argument], Field(min_length=1, max_length=500)]
    at_most_s: Seconds = 3600.0
    checks: Annotated[list[Expected], Field(max_length=100)] = Field(default_factory=list)

    @property
    def program(self) -> str:
        """The program: a name, a path or a placeholder."""
        return str(self.argv[0])


class MeasuredCommand(Command):
    """A command whose throughput is a result: what its `lines` say of intervals, or a whole run.

    Of a whole run, the operations are `amount`, which `{amount}` hands to the command, or what the group `count` of the
    pattern `total` finds in its output.
    """

    lines: Lines | None = None
    amount: Annotated[int, Field(ge=1, le=10**15)] | None = None
    total: Pattern | None = None

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        ways = [name for name in ("lines", "amount", "total") if getattr(self, name) is not None]
        if len(ways) != 1:
            has = " and ".join(ways) if ways else "none"
            raise ValueError(f"step {self.name} needs one of lines, amount and total, and has {has}")
        if self.total is not None and list(re.compile(self.total).groupindex) != ["count"]:
            raise ValueError(f"step {self.name}: total needs the group count and no other, such as (?P<count>[0-9]+)")
        return self


class Setup(CommonSetup):
    """A size. `seconds` are those of each measured step, `values` are more placeholders, such as numbers of rows."""

    seconds: Seconds
    values: Annotated[dict[_Word, Argument], Field(max_length=100)] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _own_names(self) -> Self:
        for name in self.values:
            if name in _TAKEN:
                raise ValueError(f"values: {{{name}}} is a placeholder of ibench: take another name")
        return self


PRESET_SETUPS = {
    setup.name: setup
    for setup in (
        Setup(name="ten_seconds", seconds=10.0),
        Setup(name="minute", seconds=60.0),
        Setup(name="ten_minutes", seconds=600.0),
    )
}


class Options(CommonOptions):
    """The `workload:` part of an experiment. One command at a time is the client.

    The commands of `prepare` run first, each a step, then `steps`, each with every number of `threads`, then `cleanup`.
    `scripts` are files of one's own by their placeholder; they are part of a cell's identity. `private_files` are texts
    by their placeholder, whose value is the path of a file that only this user can read; only they can have the
    password. `disk_gb` is about what the data takes.
    """

    benchmark: Literal["command"]
    clients: Annotated[int, Field(ge=1, le=1)] = 1
    threads: Annotated[list[Annotated[int, Field(ge=1, le=4096)]], Field(min_length=1, max_length=32)] | None = None
    prepare: Annotated[list[Command], Field(max_length=50)] = Field(default_factory=list)
    steps: Annotated[list[MeasuredCommand], Field(min_length=1, max_length=100)]
    cleanup: Annotated[list[Command], Field(max_length=50)] = Field(default_factory=list)
    scripts: Annotated[dict[_Word, str], Field(max_length=50)] = Field(default_factory=dict)
    private_files: Annotated[dict[_Word, str], Field(max_length=20)] = Field(default_factory=dict)
    disk_gb: Annotated[float, Field(gt=0, le=1e6, allow_inf_nan=False)] = 1.0
    _places: dict[str, tuple[str, str]] = PrivateAttr(default_factory=dict)

    @property
    def commands(self) -> list[Command]:
        """All of them, in order."""
        return [*self.prepare, *self.steps, *self.cleanup]

    @property
    def places(self) -> Mapping[str, tuple[str, str]]:
        """Where each script lies, and its SHA-256, by its placeholder."""
        return self._places

    def placeholders(self, command: Command) -> list[str]:
        """All that its arguments name, and the private files that these name."""
        named = [name for argument in command.argv for name in named_in(str(argument))]
        return named + [name for file in named for name in named_in(self.private_files.get(file, ""))]

    def files(self) -> dict[str, str]:
        return {Path(path).name: path for path in self.scripts.values()}

    def with_files(self, found: Mapping[str, Path]) -> Options:
        if not self.scripts:
            return self
        named: dict[str, str] = {}
        places: dict[str, tuple[str, str]] = {}
        for name, given in self.scripts.items():
            path = found[Path(given).name]
            try:
                digest = hashlib.sha256(read_text(path, MOST_SCRIPT_BYTES).encode()).hexdigest()
            except FileNotFoundError:
                raise ExperimentError(f"workload.scripts.{name}: there is no file {path}") from None
            except NotReadable as error:
                raise ExperimentError(f"workload.scripts.{name}: {path}: {error}") from error
            named[name] = f"{path.name} ({digest[:16]})"
            places[name] = (str(path.absolute()), digest)
        copy = self.model_copy(update={"scripts": named})
        copy._places = places
        return copy

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        for problem in self._problems():
            raise ValueError(problem)
        return self

    def _problems(self) -> Iterator[str]:
        names = [command.name for command in self.commands]
        for what, values in (("steps", names), ("threads", [str(number) for number in self.threads or []])):
            twice = next((value for value in values if values.count(value) > 1), None)
            if twice is not None:
                yield f"{what}: {twice} occurs more than once, so two steps would have the same name"
        for name in (*self.scripts, *self.private_files):
            if name in _TAKEN or (name in self.scripts and name in self.private_files):
                yield f"{{{name}}} is another placeholder: take another name"
        if len(self.files()) < len(self.scripts):
            yield "scripts: two of them have the same file name"
        for name, text in self.private_files.items():
            for inner in named_in(text):
                if inner in self.private_files or inner == "option_file":
                    yield f"private_files: {name} names {{{inner}}}, another file"
        for command in self.commands:
            yield from self._problems_of(command)

    def _problems_of(self, command: Command) -> Iterator[str]:
        where = f"step {command.name}"
        if any(PASSWORD in named_in(str(argument)) for argument in command.argv):
            yield (
                f"{where}: everybody on the host can read the arguments of a command: use {{option_file}}, or a file"
                " of `private_files` that has {password}"
            )
        if not command.program.strip():
            yield f"{where}: the first argument is the program, and it is empty"
        named = self.placeholders(command)
        if self.transport != "socket" and "socket" in named:
            yield f"{where}: {{socket}} needs transport: socket"
        if self.transport == "socket" and (by_tcp := next((n for n in ("host", "port") if n in named), None)):
            yield f"{where}: {{{by_tcp}}} needs transport: tcp or tls"
        if not isinstance(command, MeasuredCommand):
            for of_load in ("seconds", "amount"):
                if of_load in named:
                    yield f"{where}: {{{of_load}}} is for measured steps"
            return
        if (command.amount is not None) != ("amount" in named):
            yield f"{where}: `amount` and {{amount}} need each other"
        if self.threads is None and "threads" in named:
            yield f"{where}: {{threads}} needs `threads`, a list of numbers"
        if len(self.threads or []) > 1 and "threads" not in named:
            yield f"{where} has no {{threads}}: it would be the same with each number of `threads`"
