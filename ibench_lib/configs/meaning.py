"""Is a configuration what the server takes it for: unknown options, values in force, differences between two.

Values are compared by meaning: 1G is 1073741824, ON is 1, a list has no order.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ibench_lib.configs.resolve import Option, ServerConfig, size
from ibench_lib.errors import ConfigError
from ibench_lib.servers.build import Build
from ibench_lib.servers.variables import KnownOptions, known_options, refusal

_SWITCHES = {"on": "1", "true": "1", "yes": "1", "off": "0", "false": "0", "no": "0"}
_OFF = "OFF"
_PREFIXES = (("skip_", _OFF), ("disable_", _OFF), ("enable_", "ON"))


@dataclass(frozen=True)
class Difference:
    """An option that means something else in two configurations; None where it is not set and has no default."""

    name: str
    first: str | None
    second: str | None
    default: str | None
    first_origin: str | None
    second_origin: str | None


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
            hint="a line that shall be skipped where it is unknown begins with loose_",
            detail="\n".join(lines),
        )
    said = refusal(build, config.render(), plugins)
    if said is not None:
        named = [option for option in config.options if option.name in said.replace("-", "_")]
        where = ", ".join(f"{option.origin} ({option.key})" for option in named) or ", ".join(config.fragments)
        raise ConfigError(f"build {build.label} ({server}) refuses its configuration: {said}", hint=f"look at {where}")
    return [f"{option.origin}: {option.key}" for option in unknown]


def not_in_force(config: ServerConfig, known: KnownOptions | None, variables: Mapping[str, str]) -> list[str]:
    """Sentences on options whose value the server has changed: rounded, capped or ignored.

    `variables` is SHOW GLOBAL VARIABLES after start; `known` is None for a remote server, whose options nobody can ask.
    """
    said = []
    for option in config.options:
        name, asked = meaning(option, known)
        used = variables.get(name)
        if asked is not None and used is not None and not equal(asked, used):
            said.append(f"{name}: asked {asked} ({option.origin}), the server uses {used or 'an empty value'}")
    return said


def differences(first: ServerConfig, second: ServerConfig, known: KnownOptions) -> list[Difference]:
    """Options that mean something else in two configurations; one set to its default equals one not set."""
    sides = [{meaning(option, known)[0]: option for option in config.options} for config in (first, second)]
    found = []
    for name in sorted({*sides[0], *sides[1]}):
        options = [side.get(name) for side in sides]
        values = [None if option is None else meaning(option, known)[1] for option in options]
        default = known.defaults.get(name)
        left, right = (default if option is None else value for option, value in zip(options, values, strict=True))
        # What has no default, such as log_bin, is off.
        if not equal(_OFF if left is None else left, _OFF if right is None else right):
            origins = [None if option is None else option.origin for option in options]
            found.append(Difference(name, values[0], values[1], default, *origins))
    return found


def meaning(option: Option, known: KnownOptions | None) -> tuple[str, str | None]:
    """The variable that an option sets, and to what: `skip_x` sets x to OFF where there is no option of that name."""
    name, value = option.name, option.value
    if known is None or name not in known.names:
        for prefix, switch in _PREFIXES:
            rest = name.removeprefix(prefix)
            if rest != name and (known is None or rest in known.names) and value in (None, "1", "ON"):
                return rest, switch
    return name, "ON" if value is None else value


def equal(first: str, second: str) -> bool:
    """Whether two values of an option mean the same."""
    return canonical(first) == canonical(second)


def canonical(value: str) -> str:
    """One way of writing for all values that mean the same: 1073741824 for 1G, 1 for ON."""
    text = value.strip().lower()
    text = _SWITCHES.get(text, text)
    in_bytes = size(text)
    if in_bytes is not None:
        return str(in_bytes)
    try:
        number = float(text)
    except ValueError:
        return ",".join(sorted({part.strip() for part in text.split(",")}))
    return str(int(number)) if number.is_integer() else repr(number)


def _is_known(name: str, known: KnownOptions) -> bool:
    if name in known.names:
        return True
    prefixes = ("skip_", "disable_", "enable_", "maximum_")
    return any(name.removeprefix(prefix) in known.names for prefix in prefixes if name.startswith(prefix))
