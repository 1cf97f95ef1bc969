"""sysbench in an experiment file: its options and its setups."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import Field, SerializerFunctionWrapHandler, field_validator, model_serializer, model_validator

from ibench_lib.base.strict_yaml import suggestion
from ibench_lib.workloads.sysbench.microbenchmarks import MICROBENCHMARKS, TESTS, Test
from ibench_lib.workloads.workload import CommonOptions, CommonSetup, Seconds, Strict

PRESET = "microbenchmarks"

OURS = frozenset(
    (
        "config-file", "db-debug", "db-driver", "db-ps-mode", "debug", "events", "forced-shutdown", "help",
        "histogram", "luajit-cmd", "mysql-storage-engine", "percentile", "rand-seed", "rand-type", "rate",
        "report-checkpoints", "report-interval", "table-size", "tables", "thread-init-timeout", "thread-stack-size",
        "threads", "time", "validate", "verbosity", "version",
    )
)  # fmt: skip
"""Options that the workload sets itself, or that would change what it reads."""

_OPTION = re.compile(r"[a-z][a-z0-9-]{0,63}")
_VALUE = re.compile(r"[A-Za-z0-9._,:/+-]{0,200}")

Threads = Annotated[int, Field(ge=1, le=4096)]


class ChosenTest(Strict):
    """One test: `name` is that of its steps, `options` are those of its script without dashes, `rate` in events/s.

    `test` is one that comes with sysbench, or a microbenchmark. Of the latter, `options` replace the table's.
    """

    test: str
    name: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]{0,40}$")] = ""
    options: dict[str, bool | int | float | str] = Field(default_factory=dict)
    rate: Annotated[int, Field(ge=1, le=10_000_000)] | None = None

    @field_validator("test")
    @classmethod
    def _known(cls, test: str) -> str:
        if test not in TESTS:
            raise ValueError(f"unknown test {test!r:.80}{suggestion(test, list(TESTS))}")
        return test

    @field_validator("options")
    @classmethod
    def _options(cls, options: dict[str, Any]) -> dict[str, Any]:
        for name, value in options.items():
            if not _OPTION.fullmatch(name):
                raise ValueError(f"{name!r} is no option of sysbench: write it without dashes, such as range-size")
            if name in OURS or name.startswith(("mysql-", "pgsql-")):
                raise ValueError(f"option {name} is set by ibench")
            if not _VALUE.fullmatch(str(value)):
                raise ValueError(f"option {name}: {value!r:.80} is no value of an option")
        return options

    @property
    def known(self) -> Test:
        """What ibench knows of the test."""
        return TESTS[self.test]

    @property
    def all_options(self) -> dict[str, bool | int | float | str]:
        """The options of its script: those of the test, and those that are given."""
        return {**self.known.options, **self.options}

    def resolved(self) -> dict[str, Any]:
        """The test as the record of a run has it: with its name, its group, its script and all options."""
        of_table = {"group": self.known.group, "script": self.known.script, "options": self.all_options}
        return {**self.model_dump(), "name": self.label, **of_table}

    @property
    def label(self) -> str:
        """What its steps are called."""
        return self.name or self.test


class Setup(CommonSetup):
    """A size of the tables. `seconds` are those of each test, `warm_up` those of the run before it; 0 for none."""

    tables: Annotated[int, Field(ge=1, le=10_000)]
    table_size: Annotated[int, Field(ge=1, le=2_000_000_000)]
    seconds: Seconds
    warm_up: Annotated[float, Field(ge=0, le=1e6, allow_inf_nan=False)]


PRESET_SETUPS = {
    setup.name: setup
    for setup in (
        Setup(name="tiny", tables=2, table_size=1_000, seconds=5.0, warm_up=0.0),
        Setup(name="small", tables=8, table_size=100_000, seconds=60.0, warm_up=10.0),
        Setup(name="8x10m", tables=8, table_size=10_000_000, seconds=300.0, warm_up=60.0),
    )
}


class Options(CommonOptions):
    """The `workload:` part of an experiment. One sysbench process is the client.

    `tests` run in this order, each with every number of `threads`; a name alone is the test with its own options, and
    `microbenchmarks` is all of them. `rand_type` has to be given: sysbench 1.0 takes `special` if nobody says, which
    few expect. `db_ps_mode` is whether statements are prepared. After a test that inserts or deletes rows, the tables
    are prepared again. `settle` is how the server settles after a test of the microbenchmarks that has it do so.
    """

    benchmark: Literal["sysbench"]
    clients: Annotated[int, Field(ge=1, le=1)] = 1
    transport: Literal["socket", "tcp"] = "socket"
    tests: Annotated[list[ChosenTest], Field(min_length=1, max_length=64)]
    threads: Annotated[list[Threads], Field(min_length=1, max_length=32)]
    rand_type: Literal["uniform", "gaussian", "special", "pareto", "zipfian"]
    db_ps_mode: Literal["auto", "disable"] = "auto"
    settle: Literal["flush", "original", "none"] = "flush"

    @model_validator(mode="before")
    @classmethod
    def _names_of_tests(cls, given: Any) -> Any:
        if not isinstance(given, dict):
            return given
        tests = given.get("tests")
        if isinstance(tests, str):
            if tests != PRESET:
                raise ValueError(f"tests: {tests!r:.80} is not {PRESET}, the name of a preset, and not a list of tests")
            tests = list(MICROBENCHMARKS)
        if isinstance(tests, list):
            return {**given, "tests": [{"test": test} if isinstance(test, str) else test for test in tests]}
        return given

    @model_serializer(mode="wrap")
    def _what_decides(self, rest: SerializerFunctionWrapHandler) -> dict[str, Any]:
        # Cells that were finished before there was `settle` stay done.
        found: dict[str, Any] = rest(self)
        if not any(test.known.settles for test in self.tests):
            found.pop("settle", None)
        return found

    @model_validator(mode="after")
    def _fits_together(self) -> Options:
        labels = [test.label for test in self.tests]
        both: tuple[tuple[str, list[Any]], ...] = (("tests", labels), ("threads", self.threads))
        for what, values in both:
            twice = next((value for value in values if values.count(value) > 1), None)
            if twice is not None:
                raise ValueError(f"{what}: {twice} occurs more than once, so two steps would have the same name")
        return self
