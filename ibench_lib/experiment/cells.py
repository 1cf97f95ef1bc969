"""From an experiment file to its cells.

A cell is one run to be made: one build, one configuration, one setup, one repeat. Its fingerprint covers everything
that decides what the run does, so that a finished cell is recognised and an edited one runs again.
"""

from __future__ import annotations

import hashlib
import json
import random
import re
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from pathlib import Path

from ibench_lib.base import strict_yaml
from ibench_lib.configs.option_file import Line
from ibench_lib.configs.resolve import GeneratedFragment, ServerConfig, complete, resolve
from ibench_lib.configs.rules import Rules
from ibench_lib.errors import ConfigError, ExperimentError
from ibench_lib.experiment.axes import FRAGMENT, SET, Chosen, config_name, counts_of, setup_name
from ibench_lib.experiment.file import Config, Experiment, Shuffle, model_for
from ibench_lib.paths import check_name
from ibench_lib.workloads.workload import CommonOptions, CommonSetup, Step, Workload, find


@dataclass(frozen=True)
class Cell:
    """One run to be made. `build` is what results call the build with the label `build_label`.

    `position` is its place in the experiment's order, from 1; `rank` is the place of its dbms in the file, from 1.
    `clients` is their number where the experiment has several, and `chosen` the values of the options that it varies;
    the names of `setup` and `config` say so.
    """

    build: str
    config: Config
    setup: CommonSetup
    repeat: int
    build_label: str
    position: int = 0
    rank: int = 0
    clients: int | None = None
    chosen: Chosen = ()

    @property
    def dbms(self) -> str:
        """The name results go by: `<build>.<config>`."""
        return f"{self.build}.{self.config.name}"

    @property
    def key(self) -> tuple[str, str, int]:
        """What tells it from the other cells of its experiment."""
        return self.dbms, self.setup.name, self.repeat

    def __str__(self) -> str:
        return f"{self.dbms}, {self.setup.name}, repeat {self.repeat}"


@dataclass(frozen=True)
class LoadedExperiment:
    """An experiment with its file's name (without suffix) and text, and the folder that it lies in.

    `workload_files` are the files that its workload's options name, by their key.
    """

    name: str
    text: str
    spec: Experiment
    folder: Path
    workload_files: Mapping[str, Path] = field(default_factory=dict)

    @property
    def workload(self) -> Workload:
        """The workload that all cells run."""
        return find(self.spec.workload.benchmark)

    def steps(self, cell: Cell) -> Sequence[Step]:
        """What the cell's run will do, step by step.

        A workload may take its steps in another order in each repeat, but not those that a snapshot contains: cells
        share it.
        """
        options, after = self.options(cell), self.spec.snapshot_after
        in_file = self.workload.steps(options, cell.setup, self.spec.scale)
        in_repeat = self.workload.steps(options.in_repeat(cell.repeat), cell.setup, self.spec.scale)
        if after is None:
            return in_repeat
        shared = [step.name for step in in_file].index(after) + 1
        return in_repeat if in_repeat[:shared] == in_file[:shared] else in_file

    def options(self, cell: Cell) -> CommonOptions:
        """The workload's options for a cell, with its number of clients."""
        given = self.spec.workload
        return given if cell.clients is None else given.model_copy(update={"clients": cell.clients})

    def cells(self) -> list[Cell]:
        """All cells in the experiment's order."""
        spec = self.spec
        presets = self.workload.presets
        setups = [presets[setup] if isinstance(setup, str) else setup for setup in spec.setups]
        sizes = [
            (setup.model_copy(update={"name": setup_name(setup.name, clients)}), clients)
            for setup in setups
            for clients in counts_of(spec.workload)
        ]
        configs = [
            (config.model_copy(update={"name": config_name(config.name, chosen)}), chosen)
            for config in spec.configs
            for chosen in spec.choices
        ]
        kinds = [
            (build, config, setup)
            for setup in sizes
            for build in spec.build_choices
            for config in configs
            if config[0].builds is None or build.name in config[0].builds
        ]
        rounds = [[(*kind, repeat) for kind in kinds] for repeat in range(1, spec.repeats + 1)]
        if (seed := self._seed) is not None:
            draw = random.Random(seed)
            rounds = [draw.sample(cells, len(cells)) for cells in rounds]
        elif spec.order == "grouped":
            rounds = [list(cells) for cells in zip(*rounds, strict=True)]
        dbms = list(dict.fromkeys((build.name, config.name) for build, (config, _), _ in kinds))
        return [
            Cell(
                build=build.name,
                config=config,
                setup=setup,
                repeat=repeat,
                build_label=build.build,
                position=position,
                rank=dbms.index((build.name, config.name)) + 1,
                clients=clients,
                chosen=chosen,
            )
            for position, (build, (config, chosen), (setup, clients), repeat) in enumerate(
                chain.from_iterable(rounds), start=1
            )
        ]

    @property
    def order_text(self) -> str:
        """The order in words: interleaved, grouped, or shuffle 7."""
        if (seed := self._seed) is not None:
            return f"shuffle {seed}"
        return "grouped" if self.spec.order == "grouped" else "interleaved"

    @property
    def _seed(self) -> int | None:
        """The seed of the order, None if it is not shuffled. A single round has the order of the file."""
        if isinstance(self.spec.order, Shuffle):
            return self.spec.order.shuffle
        return zlib.crc32(self.name.encode()) if self.spec.order == "shuffled" and self.spec.repeats > 1 else None

    def fingerprint(self, cell: Cell, server_version: str, config: ServerConfig) -> str:
        """SHA-256 over everything that decides what the cell's run does; titles and comments do not."""
        options = self.options(cell)
        decisive = {
            "build": [cell.build, cell.build_label],
            "server_version": server_version,
            "config": cell.config.name,
            "options": [[option.key, option.value] for option in config.options],
            "setup": cell.setup.model_dump(),
            "workload": options.model_dump(),
            "capture": self.spec.capture.model_dump(),
            "scale": self.spec.scale,
            "repeat": cell.repeat,
        }
        if (edition := self.workload.edition(options)) is not None:
            decisive["edition"] = edition
        if cell.config.folders:
            decisive["storage"] = {what: str(folder) for what, folder in cell.config.folders.items()}
        if self.spec.snapshot_after is not None:
            decisive["snapshot_after"] = self.spec.snapshot_after
        return hashlib.sha256(json.dumps(decisive, sort_keys=True).encode()).hexdigest()

    def server_config(self, cell: Cell, rules: Rules) -> ServerConfig:
        """The cell's my.cnf for a build that reads it by `rules`. Raises ConfigError where there is none."""
        scale = self.spec.scale
        if cell.config.my_cnf is not None:
            return complete(
                self.folder / Path(cell.config.my_cnf).expanduser(), rules, scale, self._in_this_file(cell, rules)
            )
        own = None if self.spec.configs_folder is None else self.folder / Path(self.spec.configs_folder).expanduser()
        if own is not None and not own.is_dir():
            raise ConfigError(f"configs_folder: there is no folder {own}")
        return resolve(cell.config.fragments or [], rules, scale, own, self._in_this_file(cell, rules))

    def place_of_storage(self, cell: Cell, what: str) -> str:
        """file:line of a folder in the `storage` of the cell's configuration."""
        number = next(n for n, config in enumerate(self.spec.configs) if config.storage == cell.config.storage)
        return f"{self.name}.yaml:{strict_yaml.line_at(self.text, ('configs', number, 'storage', what))}"

    def _in_this_file(self, cell: Cell, rules: Rules) -> list[GeneratedFragment]:
        """Fragments with what its configuration sets, and with the values of the cell; each line names its place."""

        def fragment(name: str, values: Iterable[tuple[str, str]], lines: Mapping[str, int]) -> GeneratedFragment:
            origins = ((key, value, f"{self.name}.yaml:{lines[key]}") for key, value in values)
            return GeneratedFragment(name, tuple(Line(rules.group, *origin) for origin in origins))

        named = [
            fragment(SET, (cell.config.set or {}).items(), self._lines_of_sets.get(cell.config.name, {})),
            fragment(FRAGMENT, cell.chosen, self._lines_of_values),
        ]
        return [one for one in named if one.lines]

    @cached_property
    def _lines_of_values(self) -> dict[str, int]:
        """The line of the file that each option of `vary` and `one_at_a_time` is in."""
        both = {"vary": self.spec.vary, "one_at_a_time": self.spec.one_at_a_time}
        return {
            option: line
            for key, values_of in both.items()
            for option, line in zip(values_of, strict_yaml.lines_of_keys(self.text, (key,)), strict=True)
        }

    @cached_property
    def _lines_of_sets(self) -> dict[str, dict[str, int]]:
        """The same of what a configuration sets, by its name in results."""
        lines_of: dict[str, dict[str, int]] = {}
        for number, config in enumerate(self.spec.configs):
            if config.set is not None:
                lines = strict_yaml.lines_of_keys(self.text, ("configs", number, "set"))
                options = dict(zip(config.set, lines, strict=True))
                lines_of |= {config_name(config.name, chosen): options for chosen in self.spec.choices}
        return lines_of


def load_experiment(path: Path, workload_files: Mapping[str, Path] | None = None) -> LoadedExperiment:
    """Read an experiment file, and the files that its workload's options name.

    `workload_files` says where these are, by their key, if they are not where the experiment file says.

    Raises
    ------
    ExperimentError : with every problem as file:line in `detail`.
    """
    if path.suffix not in (".yaml", ".yml"):
        meant = path.parent / "experiments" / f"{path.name}.yaml"
        hint = f"did you mean {meant}?" if meant.is_file() else "such as experiments/demo.yaml"
        raise ExperimentError(f"{path}: an experiment is a .yaml file", hint=hint)
    spec, text = strict_yaml.load(path, model_for, ExperimentError)
    named = {key: path.parent / Path(name).expanduser() for key, name in spec.workload.files().items()}
    files = {key: (workload_files or {}).get(key, place) for key, place in named.items()}
    spec = spec.model_copy(update={"workload": spec.workload.with_files(files)})
    return LoadedExperiment(check_name(re.sub(r"\s+", "-", path.stem), "experiment"), text, spec, path.parent, files)
