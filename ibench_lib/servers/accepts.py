"""Whether a server takes a configuration: it is asked before any data is touched."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from ibench_lib.configs.meaning import KnownOptions
from ibench_lib.configs.resolve import ServerConfig
from ibench_lib.errors import ConfigError
from ibench_lib.servers.build import Build
from ibench_lib.servers.variables import known_options, refusal


def check(build: Build, config: ServerConfig, plugins: Sequence[str] = ()) -> list[str]:
    """Ask the server whether it knows every option and takes every value. Returns the `loose_` lines that it skips.

    `plugins` are those that it will be started with; they bring options of their own.

    Raises
    ------
    ConfigError : it does not; `detail` has a line per option, with file:line.
    ServerStartError : the server does not answer.
    """
    known = known_options(build, plugins)
    unknown = [option for option in config.options if not _is_known(option.name, known)]
    refused = [option for option in unknown if not option.loose]
    server = f"{build.flavour} {build.version}"
    if refused:
        lines = []
        for option in refused:
            near = difflib.get_close_matches(option.name, known.names, n=1, cutoff=0.8)
            meant = f"; did you mean {near[0]}?" if near else ""
            lines.append(f"{option.origin}: {option.key} is unknown to {server}{meant}")
        raise ConfigError(
            f"build {build.label} ({server}) does not know {', '.join(option.key for option in refused)}",
            hint="to skip a line on servers that do not know it, begin it with loose_",
            detail="\n".join(lines),
        )
    said = refusal(build, config.render(), plugins)
    if said is not None:
        named = [option for option in config.options if option.name in said.replace("-", "_")]
        where = ", ".join(f"{option.origin} ({option.key})" for option in named) or ", ".join(config.fragments)
        raise ConfigError(f"build {build.label} ({server}) refuses its configuration: {said}", hint=f"see {where}")
    return [f"{option.origin}: {option.key}" for option in unknown]


def _is_known(name: str, known: KnownOptions) -> bool:
    if name in known.names:
        return True
    prefixes = ("skip_", "disable_", "enable_", "maximum_")
    return any(name.removeprefix(prefix) in known.names for prefix in prefixes if name.startswith(prefix))
