"""The experiment file, typed: builds, configurations, setups, repeats, and one workload."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    ValidationInfo,
    field_validator,
    model_validator,
)

from ibench_lib.base import strict_yaml
from ibench_lib.capture.options import CaptureOptions
from ibench_lib.capture.session import collectors
from ibench_lib.paths import NAME_RULE
from ibench_lib.workloads.insert_benchmark.workload import PRESET_SETUPS, Options, Setup, step_names

Name = Annotated[str, Field(pattern=f"^{NAME_RULE}$")]


# A preset's name or custom sizes, distinguished by form, so that an error message describes the form the user wrote.
_SetupChoice = Annotated[
    Annotated[Name, Tag("preset")] | Annotated[Setup, Tag("sizes")],
    Discriminator(lambda value: "preset" if isinstance(value, str) else "sizes"),
]


class BuildChoice(BaseModel):
    """A build under another name: `name` is what results call it, `build` the label of what runs.

    `stands_for` says which build was meant, where that one cannot be had.
    """

    model_config = ConfigDict(extra="forbid", strict=True)

    name: Name
    build: Name
    stands_for: Annotated[str, Field(min_length=1, max_length=200)] | None = None


_BuildEntry = Annotated[
    Annotated[Name, Tag("label")] | Annotated[BuildChoice, Tag("choice")],
    Discriminator(lambda value: "label" if isinstance(value, str) else "choice"),
]


class Config(BaseModel):
    """One my.cnf variant: a name for results, and the fragments it is made of, base first, or a complete my.cnf.

    `my_cnf` is a path, relative to the experiment file. `builds` are the names of the builds that it is run on; all
    when there are none.
    """

    model_config = ConfigDict(extra="forbid", strict=True)

    name: Name
    fragments: Annotated[list[Name], Field(min_length=1)] | None = None
    my_cnf: Annotated[str, Field(min_length=1)] | None = None
    builds: Annotated[list[Name], Field(min_length=1)] | None = None

    @model_validator(mode="after")
    def _one_way(self) -> Config:
        if (self.fragments is None) == (self.my_cnf is None):
            raise ValueError(f"config {self.name!r} needs either fragments or my_cnf")
        return self


class Shuffle(BaseModel):
    """A random order within each round of repeats; the same seed gives the same order."""

    model_config = ConfigDict(extra="forbid", strict=True)

    shuffle: Annotated[int, Field(ge=0, le=2**32)]


class TimeLimits(BaseModel):
    """Seconds after which a step, or a cell, is ended as failed. The start of the server belongs to the cell."""

    model_config = ConfigDict(extra="forbid", strict=True)

    step_s: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    cell_s: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None


_Order = Annotated[
    Annotated[Literal["interleaved", "grouped"], Tag("word")] | Annotated[Shuffle, Tag("shuffle")],
    Discriminator(lambda value: "word" if isinstance(value, str) else "shuffle"),
]


class Experiment(BaseModel):
    """What to run: builds x configs x setups x repeats, all with one workload.

    `configs_folder` is a folder of the user's own fragments, relative to the experiment file. `capture` says what is
    captured beside what the clients measure. `order` is that of the cells: interleaved repeats (A B A B), grouped ones
    (A A B B), or shuffled within each repeat. After the step `snapshot_after` every cell goes on with a copy of a data
    directory, which cells with the same load settings share. `strict` makes errors of what a run would only warn of.
    """

    model_config = ConfigDict(extra="forbid", strict=True)

    title: Annotated[str, Field(min_length=1, max_length=200)]
    builds: Annotated[list[_BuildEntry], Field(min_length=1)]
    configs: Annotated[list[Config], Field(min_length=1)]
    setups: Annotated[list[_SetupChoice], Field(min_length=1)]
    workload: Options
    capture: CaptureOptions = Field(default_factory=CaptureOptions)
    configs_folder: Annotated[str, Field(min_length=1)] | None = None
    scale: Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)] = 1.0
    repeats: Annotated[int, Field(ge=1, le=1000)] = 1
    order: _Order = "interleaved"
    snapshot_after: Name | None = None
    time_limits: TimeLimits = Field(default_factory=TimeLimits)
    strict: bool = False

    @property
    def build_choices(self) -> list[BuildChoice]:
        """Every build as a choice; a bare label stands for itself."""
        return [BuildChoice(name=b, build=b) if isinstance(b, str) else b for b in self.builds]

    @property
    def order_text(self) -> str:
        """The order in words: interleaved, grouped, or shuffle 7."""
        return self.order if isinstance(self.order, str) else f"shuffle {self.order.shuffle}"

    @field_validator("setups")
    @classmethod
    def _known_setups(cls, setups: list[str | Setup]) -> list[str | Setup]:
        for setup in setups:
            if isinstance(setup, str) and setup not in PRESET_SETUPS:
                known = strict_yaml.suggestion(setup, list(PRESET_SETUPS))
                raise ValueError(f"unknown setup {setup!r}{known}; or give one of your own as a mapping with its sizes")
        return setups

    @field_validator("capture")
    @classmethod
    def _known_collectors(cls, capture: CaptureOptions) -> CaptureOptions:
        known = list(collectors())
        for name in capture.off:
            if name not in known:
                raise ValueError(f"off: unknown collector {name!r}{strict_yaml.suggestion(name, known)}")
        return capture

    @field_validator("snapshot_after")
    @classmethod
    def _can_be_followed(cls, step: str | None, info: ValidationInfo) -> str | None:
        workload: Options | None = info.data.get("workload")
        if step is None or workload is None:
            return step
        names = step_names(workload)
        if step not in names:
            raise ValueError(f"unknown step {step!r}{strict_yaml.suggestion(step, names)}")
        if step == names[-1]:
            raise ValueError(f"{step!r} is the last step: nothing would come after the snapshot")
        if workload.engine != "innodb":
            raise ValueError(f"needs engine innodb: what of {workload.engine}'s options is on disk is not known here")
        return step

    @model_validator(mode="after")
    def _names_once(self) -> Experiment:
        setups = [setup if isinstance(setup, str) else setup.name for setup in self.setups]
        for what, names in (
            ("build", [build.name for build in self.build_choices]),
            ("config", [config.name for config in self.configs]),
            ("setup", setups),
        ):
            twice = {name for name in names if names.count(name) > 1}
            if twice:
                raise ValueError(f"{what} {sorted(twice)[0]!r} is named twice; results go by these names")
        known = [build.name for build in self.build_choices]
        for config in self.configs:
            for name in config.builds or []:
                if name not in known:
                    near = strict_yaml.suggestion(name, known)
                    raise ValueError(f"config {config.name!r}: unknown build {name!r}{near}")
        return self
