"""The Insert Benchmark in an experiment file: its options, its setups, and the forms of its steps."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import Field, ValidationInfo, field_validator, model_validator

from ibench_lib.base.choices import BY_FORM
from ibench_lib.client.driver import LONGEST_PARAMETER
from ibench_lib.workloads.workload import CommonOptions, CommonSetup, Name, Seconds, Strict

STEP_FORMS = "l.i0, l.x, l.i1, l.i2, qrN or qpN (N inserts/s per client, such as qr100)"
QUERY_STEP = re.compile(r"q(?P<query>[rp])(?P<rate>[1-9]\d{0,6})")

# The step lists of the published reports: 2023 has range queries only (its q100 is our qr100).
PRESET_STEPS = {
    "2023": ("l.i0", "l.x", "l.i1", "qr100", "qr500", "qr1000"),
    "2025": ("l.i0", "l.x", "l.i1", "l.i2", "qr100", "qp100", "qr500", "qp500", "qr1000", "qp1000"),
}

_Rows = Annotated[int, Field(ge=1, le=10**12)]


class Setup(CommonSetup):
    """Size of one setup, at scale 1: rows inserted per table by each write step, seconds of each query step.

    A setup needs `l_i2_rows` only for experiments that run l.i2.
    """

    l_i0_rows: _Rows
    l_i1_rows: _Rows
    l_i2_rows: _Rows | None = None
    query_seconds: Seconds


# The two setups of the August 2023 report. It has no l.i2; its rows here are a tenth of l.i1's, as its statements are.
PRESET_SETUPS = {
    "cached": Setup(
        name="cached", l_i0_rows=20_000_000, l_i1_rows=200_000_000, l_i2_rows=20_000_000, query_seconds=7200.0
    ),
    "io_bound": Setup(
        name="io_bound", l_i0_rows=500_000_000, l_i1_rows=50_000_000, l_i2_rows=5_000_000, query_seconds=7200.0
    ),
}


class StepSpec(Strict):
    """A step written out: one of the known forms with something of its own. Rows and seconds are at scale 1.

    `name` is what results call it (default: the form); `rate` limits inserted, and deleted, rows per second and client.
    """

    step: str
    name: Name | None = None
    rows: _Rows | None = None
    rows_per_commit: Annotated[int, Field(ge=1, le=10_000)] | None = None
    rate: Annotated[float, Field(gt=0, le=1e9, allow_inf_nan=False)] | None = None
    seconds: Seconds | None = None

    @model_validator(mode="after")
    def _fits(self) -> StepSpec:
        _check_form(self.step)
        given = {key for key in ("rows", "rows_per_commit", "rate", "seconds") if getattr(self, key) is not None}
        if self.step == "l.x" and given:
            raise ValueError(f"step l.x creates indexes; {_listed(given)} does not apply to it")
        if QUERY_STEP.fullmatch(self.step) and given & {"rows", "rate"}:
            raise ValueError(f"step {self.step} ends after `seconds`, and its name sets its rate")
        if not QUERY_STEP.fullmatch(self.step) and "seconds" in given:
            raise ValueError(f"step {self.step} ends after `rows`, not after `seconds`")
        return self


_StepChoice = Annotated[str | StepSpec, BY_FORM]
_Steps = Annotated[Literal["2023", "2025"] | Annotated[list[_StepChoice], Field(min_length=1)], BY_FORM]


class Options(CommonOptions):
    """The `workload:` part of an experiment."""

    benchmark: Literal["insert_benchmark"]
    steps: _Steps
    tables: Literal["per_client", "one"] = "per_client"
    engine: Literal["innodb", "rocksdb"] = "innodb"
    secondary_indexes: Annotated[int, Field(ge=0, le=3)] = 3
    data_length: Annotated[list[Annotated[int, Field(ge=1, le=4000)]], Field(min_length=2, max_length=2)] = Field(
        default=[10, 20]
    )
    queriers: Annotated[int, Field(ge=1, le=64)] = 1
    query_rows: Annotated[int, Field(ge=1, le=100_000)] = 10
    protocol: Literal["text", "prepared"] = "text"
    settle: Literal["none", "flush", "original"] = "none"
    long_transaction: list[Name] = Field(default=[])
    rocksdb_bulk_load: bool = False

    @field_validator("steps", mode="before")
    @classmethod
    def _preset_by_year(cls, steps: object) -> object:
        # In YAML the preset's name reads as a number.
        return str(steps) if isinstance(steps, int) and not isinstance(steps, bool) else steps

    @field_validator("steps")
    @classmethod
    def _usable_steps(cls, steps: list[str | StepSpec] | str) -> list[str | StepSpec] | str:
        specs = step_specs(steps)
        for spec in specs:
            _check_form(spec.step)
        names = [step_name(spec) for spec in specs]
        if len(set(names)) != len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise ValueError(
                f"step {twice!r} occurs twice; results are listed by step name, so give one of them a `name`"
            )
        if specs[0].step != "l.i0":
            raise ValueError(f"the first step is {specs[0].step!r}, but every run starts from empty tables with l.i0")
        forms = [spec.step for spec in specs]
        before = forms[: forms.index("l.x")] if "l.x" in forms else forms
        early = [form for form in before if form.startswith("qr")]
        if early:
            raise ValueError(f"step {early[0]} queries the secondary indexes, which l.x creates; put l.x before it")
        return steps

    @field_validator("protocol")
    @classmethod
    def _carries_the_data(cls, protocol: str, given: ValidationInfo) -> str:
        longest = max(given.data.get("data_length", [0]))
        if protocol == "prepared" and longest > LONGEST_PARAMETER:
            raise ValueError(
                f"prepared inserts carry data of at most {LONGEST_PARAMETER} characters, and data_length goes up to"
                f" {longest}; use `protocol: text` for longer data"
            )
        return protocol

    @model_validator(mode="after")
    def _fit_together(self) -> Options:
        names = step_names(self)
        for name in self.long_transaction:
            if name not in names:
                raise ValueError(f"long_transaction names step {name!r}, but the steps are {', '.join(names)}")
        if self.data_length[0] > self.data_length[1]:
            raise ValueError(f"data_length is [shortest, longest], not {self.data_length}")
        queries = [spec.step for spec in step_specs(self.steps) if spec.step.startswith("qr")]
        if queries and self.secondary_indexes < 3:
            raise ValueError(f"step {queries[0]} queries all three secondary indexes; secondary_indexes is lower")
        if self.secondary_indexes and sum(spec.step == "l.x" for spec in step_specs(self.steps)) > 1:
            raise ValueError("step l.x occurs twice, but it can create the secondary indexes only once")
        if self.rocksdb_bulk_load and self.engine != "rocksdb":
            raise ValueError("rocksdb_bulk_load needs engine: rocksdb")
        if self.settle != "none" and self.engine != "innodb":
            raise ValueError(f"settle: {self.settle} uses settings of InnoDB, which engine rocksdb does not have")
        return self


def step_names(options: Options) -> list[str]:
    """What results call the steps, in order."""
    return [step_name(spec) for spec in step_specs(options.steps)]


def step_specs(steps: list[str | StepSpec] | str) -> list[StepSpec]:
    """Every step written out, whether it is of a preset, a bare form, or has something of its own."""
    forms = PRESET_STEPS[steps] if isinstance(steps, str) else steps
    return [StepSpec.model_construct(step=item) if isinstance(item, str) else item for item in forms]


def step_name(spec: StepSpec) -> str:
    """What results call a step."""
    return spec.name or spec.step


def _check_form(form: str) -> None:
    if form not in ("l.i0", "l.x", "l.i1", "l.i2") and not QUERY_STEP.fullmatch(form):
        raise ValueError(f"unknown step {form!r}{_near_form(form)}; steps are {STEP_FORMS}")


def _near_form(form: str) -> str:
    """A hint for the misspellings that are easy to make: q100 of the 2023 report, L.I0, li1, l.il."""
    old_name = re.fullmatch(r"q(\d+)", form)
    if old_name:
        return f" (range queries: 'qr{old_name[1]}'?)"
    squeezed = form.lower().replace(".", "").replace("_", "").replace("-", "")
    for known in ("l.i0", "l.x", "l.i1", "l.i2"):
        if squeezed.replace("l", "1") == known.replace(".", "").replace("l", "1"):
            return f" (did you mean {known!r}?)"
    if QUERY_STEP.fullmatch(squeezed):
        return f" (did you mean {squeezed!r}?)"
    return ""


def _listed(names: set[str]) -> str:
    return ", ".join(f"`{name}`" for name in sorted(names))
