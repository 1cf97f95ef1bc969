"""What a workload is: one folder of `ibench_lib/workloads/`, found by its name; no other code names it.

The folder's `workload.py` holds an object `WORKLOAD` that satisfies the protocol below. Client processes import the
module that it names as `client_module`, and nothing else of the folder. `results/`, the reading half, holds the
questions, tables, charts and sentences that are only for the workload's runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, Protocol, Self, cast

from pydantic import BaseModel, ConfigDict, Field

from ibench_lib import plugins
from ibench_lib.client.spec import Spec
from ibench_lib.metrics import Better
from ibench_lib.paths import NAME_RULE, workload_modules
from ibench_lib.workloads.programs import ProgramHere, program_of

Name = Annotated[str, Field(pattern=f"^{NAME_RULE}$")]
Seconds = Annotated[float, Field(gt=0, le=1e6, allow_inf_nan=False)]


@dataclass(frozen=True)
class Operation:
    """An operation: what clients count and time under one name.

    Rates and charts add up the operations of one `family`: range_query and point_query are both a query. `counts` is
    the unit of its rate: the rows that it affects, or operations. `label` is the rate's name in posts.
    """

    name: str
    family: str
    counts: Literal["rows", "ops"]
    label: str
    better: Better = "higher"

    @property
    def label_while_running(self) -> str:
        """The name of what clients count each second: of an index whose rows the posts count, they know statements."""
        return "statements/s" if self.counts == "ops" and self.label.startswith("rows ") else self.label


@dataclass(frozen=True)
class StepKind:
    """A kind of step. The throughput of such a step is the rate of the family `main`.

    `equal_work`: each client has the same work, so the times at which they end show how fair the server is.
    `of_existing_rows`: the step works on existing rows, as when it creates an index; throughput is these rows divided
    by T. `paced`: the families to which a step's target applies; `main` if none is named. If `main` is not among them,
    they are its background, and every step of the kind has a target. `compared`: its throughput is a result. That of a
    warm-up is none, and neither is that of a check of the run against itself: the first screen leaves them out.
    """

    name: str
    main: str
    equal_work: bool = False
    of_existing_rows: bool = False
    paced: tuple[str, ...] = ()
    compared: bool = True


class Strict(BaseModel):
    """A part of an experiment file. Unknown keys and values of a wrong type are refused."""

    # The model of the whole file has the schemas of its parts in it: their own are built when something asks for them.
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, defer_build=True)


class CommonSetup(Strict):
    """A size of the data. A workload adds its own keys, which belong to a cell's identity."""

    name: Name


class CommonOptions(Strict):
    """The keys of `workload:` that every workload has. A workload adds its own; all belong to a cell's identity."""

    benchmark: str
    clients: Annotated[int, Field(ge=1, le=1024)]
    seed: Annotated[int, Field(ge=0, lt=1 << 32)] = 1
    transport: Literal["socket", "tcp", "tls"] = "socket"
    statement_timeout_s: Seconds = 600.0
    count_rows: bool = True

    def in_repeat(self, repeat: int) -> Self:
        """The options by which the steps of a repeat are planned: those of the file, unless a workload varies them.

        Only the order of steps may differ, and that of the first repeat is the file's.
        """
        return self

    def files(self) -> dict[str, str]:
        """Files that the options name, by their key: paths as in the experiment file."""
        return {}

    def with_files(self, found: Mapping[str, Path]) -> Self:
        """The options with the files read that they name. `found` says where each of `files` is.

        Raises
        ------
        ExperimentError : a file cannot be used, with its line.
        """
        return self


@dataclass(frozen=True, kw_only=True)
class Step:
    """One step of a run, with the fields that runner, plan, forecast and page need. A workload may add fields.

    `name` is its name in results, `form` the form that it was made from, `kind` one of the workload's kinds. It ends
    after `seconds`, or after each leading worker has done `amount` (rows or operations, as its first operation counts).
    `target_per_s` is the rate of each paced worker, in the same unit; None if the load is not paced.
    `rows_per_commit` is None if no worker writes in statements of one size. `churns`: rows are deleted or updated, so
    purge and flushing decide what is on disk after it. `settle_before`: the server settles first, for `settle_s`, or
    if that is None until few pages are dirty. `background`: a transaction is held open during the load.
    """

    name: str
    form: str
    kind: str
    seconds: float | None = None
    amount: int | None = None
    target_per_s: float | None = None
    rows_per_commit: int | None = None
    churns: bool = False
    settle_before: bool = False
    settle_s: float | None = None
    background: bool = False


@dataclass(frozen=True, kw_only=True)
class Worker:
    """One client process of a step. A workload may add fields.

    `client` is the client that it works for, from 1; `number` distinguishes workers of one client and role, from 0.
    `operations` are those that it may send; the first counts towards its amount. `leads`: the step ends when all
    leading workers have done their amount. `pair` is the role of another worker of the same client: this worker stays
    a few operations ahead of that worker. `shares`: it shares a number (`Role.shared`) with the other workers of its
    client that do. `connections` is the number of connections that its process serves.
    """

    client: int
    role: str
    operations: tuple[str, ...]
    number: int = 0
    leads: bool = True
    pair: str | None = None
    shares: bool = False
    connections: int = 1

    @property
    def name(self) -> str:
        """Its name in messages."""
        return f"client {self.client} {self.role}" + (f" {self.number + 1}" if self.number else "")


def sharing(connections: int, processes: int, role: str, operations: tuple[str, ...]) -> list[Worker]:
    """Workers of one role, at most `processes`, that share the connections: none has over one more than another."""
    used = min(connections, processes)
    return [
        Worker(client=client, role=role, operations=operations, connections=(connections + used - client) // used)
        for client in range(1, used + 1)
    ]


@dataclass(frozen=True)
class Check:
    """A statement whose single number must be `expected` after a step.

    Attributes
    ----------
    rule : the kind of check, as the table `checks` has it: "rows", "ledger", or the name of a condition.
    subject : what the number is, such as "the sum of counts".
    proves : what comes before the expected number in the error, such as "the load has".
    table : the table whose rows it counts; None for another kind of check.
    broken_by : whose own defect may make the number another one: then it does not fail the run. None for all others.
    """

    statement: str
    expected: int
    rule: str
    subject: str
    proves: str
    table: str | None = None
    broken_by: str | None = None


def rows_check(table: str, expected: int, proves: str) -> Check:
    """That a table has so many rows."""
    return Check(f"SELECT COUNT(*) FROM {table}", expected, "rows", f"the number of rows of {table}", proves, table)


@dataclass(frozen=True)
class Work:
    """The expected work of a step, for the forecast: `amount` of the step's main family by all clients together.

    None if seconds end it. `guessed_per_s` is the assumed rate if no run of this host gives a better one.
    """

    amount: int | None
    guessed_per_s: float


@dataclass(frozen=True)
class Needs:
    """What a workload needs of a server. `engine` is the storage engine of its tables.

    `not_copied` says why its data directory cannot be copied after a step; None if it can.
    """

    engine: str = "innodb"
    not_copied: str | None = None

    @classmethod
    def of(cls, engine: str) -> Needs:
        """The needs of tables of a storage engine."""
        if engine == "innodb":
            return cls()
        return cls(
            engine, f"needs engine innodb: ibench does not know how the options of {engine} affect the data on disk"
        )


class Workload(Protocol):
    """One benchmark.

    One that drives a program has a module `program` (`programs.py`). One whose options say which programs it drives,
    or whether it can, has `programs`, for `programs_of`: it gets the family of servers, None if not known.

    `Options` and `Setup` type the experiment's `workload:` and `setups:`.
    """

    name: str
    title: str
    Options: type[CommonOptions]
    Setup: type[CommonSetup]
    presets: Mapping[str, CommonSetup]
    operations: tuple[Operation, ...]
    kinds: tuple[StepKind, ...]
    step_forms: str
    """The names of steps that `kind_of` knows, for people."""

    def steps(self, options: Any, setup: Any, scale: float) -> Sequence[Step]:
        """The steps of a run, in order."""

    def step_names(self, options: Any) -> list[str]:
        """The names of the steps in results, in order; they do not depend on the setup."""

    def kind_of(self, step: str) -> str | None:
        """The kind of a step by its name, for results of other programs; None if the workload has no such step."""

    def needs(self, options: Any) -> Needs:
        """What it needs of a server."""

    def tables(self, options: Any, setup: Any) -> list[str]:
        """Names of the tables that it fills."""

    def prepare(self, options: Any, setup: Any, family: str) -> list[str]:
        """Statements that make the empty tables on servers of a family. They are made before anything starts, too.

        Raises
        ------
        DriverMissing : the workload has no SQL for them, or an option does not apply to them.
        """

    def workers(self, options: Any, step: Any) -> Sequence[Worker]:
        """The client processes of a step."""

    def spec(self, options: Any, step: Any, worker: Any, step_id: int) -> Spec:
        """The specification of a client process of a step."""

    def checks(self, options: Any, step: Any, rows: Mapping[str, int]) -> list[Check]:
        """The checks after a step.

        `rows` is the ledger of what the server has acknowledged since the run began with empty tables: the rows of each
        table and, under names of its own, whatever else the workload's roles have counted in `rows_by_table`.
        """

    def background(self, options: Any, step: Any) -> list[str]:
        """Statements that fix what the transaction that is held open during the load can see."""

    def work(self, options: Any, steps: Sequence[Any]) -> list[Work]:
        """The work of each step."""

    def disk_bytes(self, options: Any, steps: Sequence[Any]) -> int:
        """About how large the tables are on disk at the end of these steps."""

    def loaded_rows(self, options: Any, steps: Sequence[Any]) -> int:
        """Rows in all tables once they are loaded."""

    def load_key(self, options: Any, steps: Sequence[Any]) -> dict[str, str]:
        """Everything in the workload that determines what is on disk after these steps."""

    def edition(self, options: Any) -> int | None:
        """Part of a cell's identity; None leaves it out. It rises when the same options no longer give equal figures.

        Finished cells of another edition are run again, so it must not rise for options whose figures stay the same.
        """

    def describe(self, options: Any, setup: Any, steps: Sequence[Any]) -> dict[str, Any]:
        """The resolved workload for the manifest, as plain data; `resolved_steps` has a mapping for each step."""


def known() -> list[str]:
    """Names of all workloads."""
    return list(workload_modules())


def find(name: str) -> Workload:
    """The workload of that name. Raises KeyError if there is none."""
    if name not in known():
        raise KeyError(name)
    return cast(Workload, plugins.load(f"{workload_modules()[name]}.workload").WORKLOAD)


def programs_of(workload: Workload, options: CommonOptions, family: str | None = None) -> list[ProgramHere]:
    """The programs that a workload drives with these options, on servers of a family if that is known."""
    of_all, of_options = program_of(workload.name), getattr(workload, "programs", None)
    return [*([of_all] if of_all else []), *(of_options(options, family) if of_options else [])]


def known_steps() -> str:
    """The names of the steps of all workloads, for people: `TPC-C: load, index, ramp_up, run; ...`."""
    return "; ".join(f"{workload.title}: {workload.step_forms}" for workload in map(find, known()))
