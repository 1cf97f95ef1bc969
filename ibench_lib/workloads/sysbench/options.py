"""sysbench in an experiment file: its options and its setups."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    Field,
    PrivateAttr,
    SerializerFunctionWrapHandler,
    field_validator,
    model_serializer,
    model_validator,
)

from ibench_lib.base.wording import suggestion
from ibench_lib.workloads.sysbench.lua_files import LuaFile, read_lua
from ibench_lib.workloads.sysbench.microbenchmarks import MICROBENCHMARKS, TESTS, Test, own_test
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

_LUA_NAME = re.compile(r"[a-z][a-z0-9_-]{0,40}\.lua")
_OPTION = re.compile(r"[a-z][a-z0-9-]{0,63}")
_VALUE = re.compile(r"[A-Za-z0-9._,:/+-]{0,200}")

Threads = Annotated[int, Field(ge=1, le=4096)]


class ChosenTest(Strict):
    """One test: `name` is that of its steps, `options` are those of its script without dashes, `rate` in events/s.

    `test` is one that comes with sysbench, a microbenchmark, or a Lua file of `Options.lua` without its ending. Of
    a microbenchmark, `options` replace the table's. `keep`: what a Lua file does to the tables stays for the next step.
    """

    test: str
    name: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]{0,40}$")] = ""
    options: dict[str, bool | int | float | str] = Field(default_factory=dict)
    rate: Annotated[int, Field(ge=1, le=10_000_000)] | None = None
    keep: bool = False

    @model_serializer(mode="wrap")
    def _what_is_given(self, rest: SerializerFunctionWrapHandler) -> dict[str, Any]:
        fields: dict[str, Any] = rest(self)
        if not self.keep:  # as before there was `keep`
            fields.pop("keep", None)
        return fields

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
        return TESTS.get(self.test) or own_test(self.test)

    @property
    def consumes(self) -> bool:
        """Whether the tables are prepared again before the next test."""
        return self.known.changes_rows and not self.keep

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
    `engine` is that of the tables; with rocksdb, `settle` can only be none, which it then is.

    `lua` are files of one's own, with whatever they `require`; a test is one of them without `.lua`. `prepare` is the
    one that makes the tables, with its options; without it they are those of sysbench's own tests.
    """

    benchmark: Literal["sysbench"]
    clients: Annotated[int, Field(ge=1, le=1)] = 1
    transport: Literal["socket", "tcp"] = "socket"
    tests: Annotated[list[ChosenTest], Field(min_length=1, max_length=64)]
    threads: Annotated[list[Threads], Field(min_length=1, max_length=32)]
    rand_type: Literal["uniform", "gaussian", "special", "pareto", "zipfian"]
    db_ps_mode: Literal["auto", "disable"] = "auto"
    settle: Literal["flush", "original", "none"] = "flush"
    engine: Literal["innodb", "rocksdb"] = "innodb"
    lua: Annotated[list[str], Field(max_length=50)] = Field(default_factory=list)
    prepare: ChosenTest | None = None
    _lua_files: dict[str, LuaFile] = PrivateAttr(default_factory=dict)

    @property
    def lua_files(self) -> Mapping[str, LuaFile]:
        """The Lua files that were read, by their names without `.lua`."""
        return self._lua_files

    def files(self) -> dict[str, str]:
        return {Path(path).name: path for path in self.lua}

    def with_files(self, found: Mapping[str, Path]) -> Options:
        if not self.lua:
            return self
        read = [read_lua(found[Path(path).name]) for path in self.lua]
        copy = self.model_copy(update={"lua": [f"{file.name}.lua ({file.sha256[:16]})" for file in read]})
        copy._lua_files = {file.name: file for file in read}
        return copy

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
            given = {**given, "tests": [{"test": test} if isinstance(test, str) else test for test in tests]}
        if isinstance(given.get("prepare"), str):
            given = {**given, "prepare": {"test": given["prepare"]}}
        if given.get("engine") == "rocksdb":
            given = {"settle": "none", **given}
        return given

    @model_serializer(mode="wrap")
    def _what_decides(self, rest: SerializerFunctionWrapHandler) -> dict[str, Any]:
        # Cells that were finished before there was `settle` stay done.
        fields: dict[str, Any] = rest(self)
        if not any(test.known.settles for test in self.tests):
            fields.pop("settle", None)
        for later in ("lua", "prepare"):
            if not getattr(self, later):
                fields.pop(later, None)
        if self.engine == "innodb":
            fields.pop("engine", None)
        return fields

    @model_validator(mode="after")
    def _fits_together(self) -> Options:
        own = [Path(path).stem for path in self.lua]
        for path in self.lua:
            if not _LUA_NAME.fullmatch(Path(path).name):
                raise ValueError(f"lua: {path!r:.80} is no name such as my_test.lua")
            if Path(path).stem in TESTS or own.count(Path(path).stem) > 1:
                raise ValueError(f"lua: there is another test {Path(path).stem}: give the file another name")
        for number, test in enumerate(self.tests):
            if test.test not in TESTS and test.test not in own:
                known = suggestion(test.test, [*TESTS, *own])
                raise ValueError(f"tests: number {number + 1}: unknown test {test.test!r:.80}{known}")
            if test.keep and test.test not in own:
                raise ValueError(f"tests: {test.label}: keep is for Lua files of your own")
        if self.prepare is not None and self.prepare.test not in own:
            raise ValueError(
                f"prepare: {self.prepare.test!r:.80} is no file of `lua`{suggestion(self.prepare.test, own)}"
            )
        own_tables = next((test.label for test in self.tests if test.known.makes_tables), None)
        if own_tables is not None and self.engine != "innodb":
            raise ValueError(f"tests: {own_tables} makes its tables itself, without an engine: leave out engine")
        if self.settle != "none" and self.engine != "innodb":
            raise ValueError(f"settle: {self.settle} uses settings of InnoDB, which engine {self.engine} does not have")
        labels = [test.label for test in self.tests]
        both: tuple[tuple[str, list[Any]], ...] = (("tests", labels), ("threads", self.threads))
        for what, values in both:
            twice = next((value for value in values if values.count(value) > 1), None)
            if twice is not None:
                raise ValueError(f"{what}: {twice} occurs more than once, so two steps would have the same name")
        return self
