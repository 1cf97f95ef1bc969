"""Whether a server accepts a configuration. The server is asked before any data is touched."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from ibench_lib.configs.meaning import KnownOptions
from ibench_lib.configs.resolve import ServerConfig
from ibench_lib.configs.rules import Rules
from ibench_lib.errors import BuildNotFound, ConfigError
from ibench_lib.servers.build import Build
from ibench_lib.servers.flavours.flavour import flavour_of, rules_of
from ibench_lib.servers.variables import known_options, refusal


def check(build: Build, config: ServerConfig, plugins: Sequence[str] = ()) -> list[str]:
    """Ask the server whether it knows every option and accepts every value. Returns the `loose_` lines that it skips.

    It knows an option if it lists the full name. Servers also accept abbreviations and several prefixes. ibench does
    not use such a name: the line is left out of the option file (`ServerConfig.render`).

    `plugins` are those that it will be started with; they have their own options.

    Raises
    ------
    ConfigError : it does not; `detail` has a line per option, with file:line.
    ServerStartError : the server does not answer.
    """
    known, rules = known_options(build, plugins), rules_of(build)
    unknown = [option for option in config.options if _full_name(option.name, known, rules) is None]
    refused = [option for option in unknown if not option.loose]
    for option in config.options:
        name = _full_name(option.name, known, rules)
        if name in rules.code | rules.decided:
            raise ConfigError(f"{option.place} sets {name}, which is the sandbox's to decide")
    server = f"{build.flavour} {build.version}"
    if refused:
        lines = []
        for option in refused:
            other = rules.replaced.get(option.name)
            near = difflib.get_close_matches(option.name, known.names, n=1, cutoff=0.8)
            meant = f"; it has {other}" if other in known.names else f"; did you mean {near[0]}?" if near else ""
            lines.append(f"{option.origin}: {option.key} is unknown to {server}{meant}")
        raise ConfigError(
            f"build {build.label} ({server}) does not know {', '.join(option.key for option in refused)}",
            hint="to skip a line on servers that do not know it, begin it with loose_",
            detail="\n".join(lines),
        )
    skipped = [option.place for option in unknown]
    message = refusal(build, config.render(skipped), plugins)
    if message is not None:
        named = [option for option in config.options if option.name in message.replace("-", "_")]
        where = ", ".join(f"{option.origin} ({option.key})" for option in named) or ", ".join(config.fragments)
        raise ConfigError(f"build {build.label} ({server}) refuses its configuration: {message}", hint=f"see {where}")
    return skipped


def require_plugins(build: Build, engine: str) -> list[str]:
    """The libraries that a storage engine needs. Raises BuildNotFound if the build lacks one."""
    flavour = flavour_of(build)
    plugins = flavour.plugins(engine)
    for plugin in plugins:
        if flavour.plugin_path(build, plugin) is None:
            raise BuildNotFound(
                f"build {build.label} has no plugin {plugin}.so, which `engine: {engine}` needs",
                hint="`ibench servers list` shows the builds that have it",
            )
    return plugins


def _full_name(name: str, known: KnownOptions, rules: Rules) -> str | None:
    """The option that a name sets, by the server's own list: log_bin of skip_log_bin. None where it is not in it."""
    if name in known.names:
        return name
    return next((rest for prefix in rules.prefixes if (rest := name.removeprefix(prefix)) in known.names), None)
