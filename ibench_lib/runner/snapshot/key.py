"""What decides the content of a data directory after a step: the cells that agree on all of it may share a snapshot.

An option that is set counts unless it is known to leave nothing on disk once a server has purged, merged and flushed
everything and ended: what nobody has thought of counts. After steps that delete every option counts, and the server's
whole version, since purge and flushing then decide how full pages are.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib.metadata import version

from ibench_lib.configs.meaning import KnownOptions, meaning
from ibench_lib.configs.resolve import ServerConfig
from ibench_lib.errors import ExperimentError
from ibench_lib.runner.snapshot.sharing import SERVER, LoadSettings
from ibench_lib.servers.build import Build
from ibench_lib.servers.flavours.flavour import flavour_of, rules_of
from ibench_lib.servers.server import AnyBuild
from ibench_lib.servers.variables import known_options


def load_settings(build: AnyBuild, config: ServerConfig, load_key: Mapping[str, str], *, churned: bool) -> LoadSettings:
    """The load settings of a cell. `load_key` is what of its workload decides the rows; `churned`: some were deleted.

    Raises
    ------
    ExperimentError : the server is remote, or puts files where a snapshot would not have them.
    """
    if build.local is None:
        raise ExperimentError(
            f"build {build.label} is remote: snapshot_after copies data directories, but its data directory is "
            f"on another machine",
            hint="remove snapshot_after or the build",
        )
    values = {
        SERVER: f"{build.flavour} {build.version if churned else flavour_of(build).reads_files_of(build.local)}",
        **load_key,
        "ibench": version("ibench"),
    }
    return LoadSettings({**values, **_options(build.local, config, known_options(build.local), everything=churned)})


def _options(build: Build, config: ServerConfig, known: KnownOptions, *, everything: bool) -> dict[str, str]:
    """Options that count, by the variable that they set; one set to its default is as one that is not set."""
    flavour = flavour_of(build)
    layout = {name: value for name, value in known.defaults.items() if flavour.decides_layout(name)}
    options = {name: _written(build, name, value) for name, value in layout.items()}
    for option in config.options:
        name, value = meaning(option, known)
        if name not in known.names or value is None:
            continue  # a line that this server skips
        if flavour.places_files(name) and re.search(r"(^|[;:,])(/|\.\./)", value):
            raise ExperimentError(
                f"{option.origin}: {name}={value} lies outside of the data directory, which snapshot_after copies",
                hint="remove snapshot_after or the option",
            )
        if everything or not flavour.leaves_nothing(name, build):
            default, written = known.defaults.get(name), _written(build, name, value)
            if flavour.decides_layout(name):
                options[name] = written
            elif default is None or written != _written(build, name, default):
                # Of an option that adds up every line counts.
                options[name] = f"{options[name]}, {written}" if name in options else written
    return options


def _written(build: Build, name: str, value: str) -> str:
    """A value in one way of writing. Paths are left as they are."""
    return value if flavour_of(build).is_path(name) else rules_of(build).syntax.canonical(value)
