"""The experiment file, typed: builds, configurations, setups, repeats, and one workload."""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationInfo,
    create_model,
    field_validator,
    model_validator,
)

from ibench_lib.base.choices import BY_FORM
from ibench_lib.base.wording import count, suggestion
from ibench_lib.capture.options import CaptureOptions
from ibench_lib.capture.session import collectors
from ibench_lib.errors import NameRefused
from ibench_lib.experiment.axes import (
    MOST_CELLS,
    MOST_CONFIGS,
    Chosen,
    Settings,
    Vary,
    combinations,
    config_name,
    counts_of,
    one_by_one,
    setup_name,
    with_counts,
)
from ibench_lib.paths import check_name
from ibench_lib.workloads.workload import CommonOptions, CommonSetup, Name, find, known

# Models build their schemas when they are first used: most are only parts of the one that reads the file.


class BuildChoice(BaseModel):
    """A build under another name: `name` is what results call it, `build` the label of what runs.

    `stands_for` says which build was meant, where that one cannot be had.
    """

    model_config = ConfigDict(extra="forbid", strict=True, defer_build=True)

    name: Name
    build: Name
    stands_for: Annotated[str, Field(min_length=1, max_length=200)] | None = None


_BuildEntry = Annotated[Name | BuildChoice, BY_FORM]


def _folder(text: str) -> str:
    if not text.startswith("/") or ".." in Path(text).parts or not text.isprintable():
        raise ValueError(f"{text!r:.80} is not the absolute path of a folder")
    return text


_Folder = Annotated[str, Field(min_length=1, max_length=500), AfterValidator(_folder)]


class Storage(BaseModel):
    """Folders on other disks, by what of a server's files goes there: each run makes a private folder in them.

    `data` is for the data directory and temporary files, `redo` for InnoDB's redo log, `system` for its system and
    temporary tablespaces and its doublewrite files. What has no folder stays with `data`, and `data` in the sandbox.
    """

    model_config = ConfigDict(extra="forbid", strict=True, defer_build=True)

    data: _Folder | None = None
    redo: _Folder | None = None
    system: _Folder | None = None

    @property
    def folders(self) -> dict[str, Path]:
        """Those that are given, by what goes there."""
        return {what: Path(folder) for what, folder in self if folder is not None}

    @model_validator(mode="after")
    def _not_empty(self) -> Storage:
        if not self.folders:
            raise ValueError("`storage` needs a folder for data, redo or system")
        return self


class Config(BaseModel):
    """One my.cnf variant: a name for results, and the fragments it is made of, base first, or a complete my.cnf.

    `my_cnf` is a path, relative to the experiment file. `set` has options that win over these. `builds` are the names
    of the builds that it is run on; all when there are none. `storage` puts files of the server on other disks.
    """

    model_config = ConfigDict(extra="forbid", strict=True, defer_build=True)

    name: Name
    fragments: Annotated[list[Name], Field(min_length=1)] | None = None
    my_cnf: Annotated[str, Field(min_length=1)] | None = None
    set: Settings | None = None
    builds: Annotated[list[Name], Field(min_length=1)] | None = None
    storage: Storage | None = None

    @property
    def folders(self) -> dict[str, Path]:
        """Where its servers' files go that do not go into the sandbox, by what they are."""
        return self.storage.folders if self.storage else {}

    @model_validator(mode="after")
    def _one_way(self) -> Config:
        if (self.fragments is None) == (self.my_cnf is None):
            raise ValueError(f"config {self.name!r} needs either fragments or my_cnf")
        return self


class Shuffle(BaseModel):
    """A random order within each round of repeats; the same seed gives the same order."""

    model_config = ConfigDict(extra="forbid", strict=True, defer_build=True)

    shuffle: Annotated[int, Field(ge=0, le=2**32)]


class TimeLimits(BaseModel):
    """Seconds after which a step, or a cell, is ended as failed. The start of the server belongs to the cell."""

    model_config = ConfigDict(extra="forbid", strict=True, defer_build=True)

    step_s: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    cell_s: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None


_Order = Annotated[Literal["shuffled", "interleaved", "grouped"] | Shuffle, BY_FORM]


class Experiment(BaseModel):
    """What to run: builds x configs x setups x repeats, all with one workload.

    Two more axes: `clients` of the workload may be a list, and `vary` has options with their values, each combination
    of which is a configuration. Of `one_at_a_time` each value by itself is one, next to the configuration without any.

    `model_for` gives the model of a workload's experiments, whose `setups` and `workload` have that workload's types.

    `configs_folder` is a folder of the user's own fragments, relative to the experiment file. `capture` says what is
    captured besides what the clients measure. `order` is that of the cells: shuffled within each repeat (A B B A), by a
    seed made of the experiment's name or a given one; interleaved repeats (A B A B); or grouped ones (A A B B). After
    the step `snapshot_after` every cell goes on with a copy of a data directory, which cells with the same load
    settings share. `strict` makes errors of what a run would only warn of.
    """

    model_config = ConfigDict(extra="forbid", strict=True, defer_build=True)

    title: Annotated[str, Field(min_length=1, max_length=200)]
    builds: Annotated[list[_BuildEntry], Field(min_length=1)]
    configs: Annotated[list[Config], Field(min_length=1)]
    setups: Annotated[list[str | CommonSetup], Field(min_length=1)]
    workload: CommonOptions
    capture: CaptureOptions = Field(default_factory=CaptureOptions)
    configs_folder: Annotated[str, Field(min_length=1)] | None = None
    vary: Vary = Field(default_factory=dict)
    one_at_a_time: Vary = Field(default_factory=dict)
    scale: Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)] = 1.0
    repeats: Annotated[int, Field(ge=1, le=1000)] = 1
    order: _Order = "shuffled"
    snapshot_after: Name | None = None
    time_limits: TimeLimits = Field(default_factory=TimeLimits)
    strict: bool = False

    @property
    def build_choices(self) -> list[BuildChoice]:
        """Every build as a choice; a bare label stands for itself."""
        return [BuildChoice(name=b, build=b) if isinstance(b, str) else b for b in self.builds]

    @property
    def choices(self) -> list[Chosen]:
        """The values that each configuration is run with: those of `vary`, without and with one of `one_at_a_time`."""
        return [(*some, *one) for some in combinations(self.vary) for one in one_by_one(self.one_at_a_time)]

    @field_validator("vary", "one_at_a_time")
    @classmethod
    def _few_enough(cls, values_of: Vary, info: ValidationInfo) -> Vary:
        configs = len(info.data.get("configs", []))
        vary = values_of if info.field_name == "vary" else info.data.get("vary", {})
        choices = math.prod(map(len, vary.values()))
        if info.field_name != "vary":
            choices *= 1 + sum(map(len, values_of.values()))
            if twice := sorted(vary.keys() & values_of.keys()):
                raise ValueError(f"{twice[0]!r:.80} is in `vary` too")
        if values_of and configs * choices > MOST_CONFIGS:
            raise ValueError(
                f"{configs * choices:,} configurations, {count(choices, 'choice')} of values for each of "
                f"{count(configs, 'config')}; at most {MOST_CONFIGS} are allowed: leave out values"
            )
        return values_of

    @field_validator("capture")
    @classmethod
    def _known_collectors(cls, capture: CaptureOptions) -> CaptureOptions:
        known = list(collectors())
        for name in capture.off:
            if name not in known:
                raise ValueError(f"off: unknown collector {name!r}{suggestion(name, known)}")
        return capture

    @field_validator("snapshot_after")
    @classmethod
    def _can_be_followed(cls, step: str | None, info: ValidationInfo) -> str | None:
        options: CommonOptions | None = info.data.get("workload")
        if step is None or options is None:
            return step
        workload = find(options.benchmark)
        names = workload.step_names(options)
        if step not in names:
            raise ValueError(f"unknown step {step!r}{suggestion(step, names)}")
        if step == names[-1]:
            raise ValueError(f"{step!r} is the last step: nothing would come after the snapshot")
        if reason := workload.needs(options).not_copied:
            raise ValueError(reason)
        return step

    @model_validator(mode="after")
    def _few_cells(self) -> Experiment:
        dbms = len(self.choices) * sum(len(c.builds or self.builds) for c in self.configs)
        setups = len(self.setups) * len(counts_of(self.workload))
        cells = dbms * setups * self.repeats
        if cells > MOST_CELLS:
            raise ValueError(
                f"{cells:,} cells, {dbms:,} builds with configurations in {count(setups, 'setup')}, "
                f"{count(self.repeats, 'repeat')} each; at most {MOST_CELLS:,} are allowed: make several experiments"
            )
        return self

    @model_validator(mode="after")
    def _names_once(self) -> Experiment:
        of_clients = counts_of(self.workload)
        setups = [
            setup_name(setup if isinstance(setup, str) else setup.name, clients)
            for setup in self.setups
            for clients in of_clients
        ]
        configs = [config_name(config.name, chosen) for config in self.configs for chosen in self.choices]
        for what, names in (
            ("build", [build.name for build in self.build_choices]),
            ("config", configs),
            ("setup", setups),
        ):
            twice = {name for name in names if names.count(name) > 1}
            if twice:
                raise ValueError(f"{what} {sorted(twice)[0]!r} is named twice; results go by these names")
        for name in (*setups, *configs):
            try:
                check_name(name, "name")
            except NameRefused as error:
                raise ValueError(f"{error.what}; it has over 64 characters with the values in it") from None
        known = [build.name for build in self.build_choices]
        for config in self.configs:
            for name in config.builds or []:
                if name not in known:
                    near = suggestion(name, known)
                    raise ValueError(f"config {config.name!r}: unknown build {name!r}{near}")
        return self


def model_for(content: object) -> type[Experiment]:
    """The model of an experiment file by what it says under workload: benchmark."""
    options = content.get("workload") if isinstance(content, dict) else None
    name = options.get("benchmark") if isinstance(options, dict) else None
    return _model(name if isinstance(name, str) and name in known() else None)


@cache
def _model(benchmark: str | None) -> type[Experiment]:
    """The model of a workload's experiments; for no known workload, one that refuses `workload`, and only that."""
    if benchmark is None:
        refused = Annotated[Any, BeforeValidator(_no_such_workload)]
        fields: dict[str, Any] = {"setups": (list[Any], ...), "workload": (refused, ...)}
    else:
        workload = find(benchmark)
        presets = list(workload.presets)

        def known_preset(name: str) -> str:
            if name not in presets:
                near = suggestion(name, presets)
                raise ValueError(f"unknown setup {name!r}{near}; or give one of your own as a mapping with its sizes")
            return name

        # Told apart by form, so that an error message describes the form that the user wrote.
        setup: Any = workload.Setup
        choice: Any = Annotated[Annotated[Name, AfterValidator(known_preset)] | setup, BY_FORM]
        fields = {
            "setups": (Annotated[list[choice], Field(min_length=1)], ...),
            "workload": (with_counts(workload.Options), ...),
        }
    return create_model("Experiment", __base__=Experiment, **fields)


def _no_such_workload(given: object) -> object:
    name = given.get("benchmark") if isinstance(given, dict) else None
    if name is None:
        raise ValueError(f"`benchmark` must name the workload: {', '.join(known())}")
    raise ValueError(f"unknown benchmark {name!r:.80}{suggestion(str(name), known())}")
