"""What options of a configuration mean: values in force, differences between two.

Values are compared by meaning: 1G is 1073741824, ON is 1, a list has no order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ibench_lib.configs.resolve import Option, ServerConfig

_OFF = "OFF"
_PREFIXES = (("skip_", _OFF), ("disable_", _OFF), ("enable_", "ON"))


@dataclass(frozen=True)
class KnownOptions:
    """`names` of all options, with underscores; `defaults` of those that have one, as the server writes it."""

    names: frozenset[str]
    defaults: dict[str, str]


@dataclass(frozen=True)
class Difference:
    """An option that means something else in two configurations; None where it is not set and has no default."""

    name: str
    first: str | None
    second: str | None
    default: str | None
    first_origin: str | None
    second_origin: str | None


@dataclass(frozen=True)
class EffectiveOption:
    """What an option is with one build: `origin` is file:line, "default", or "not known" if the build lacks it.

    `value` is None where it has none.
    """

    value: str | None
    origin: str


def not_in_force(config: ServerConfig, known: KnownOptions | None, variables: Mapping[str, str]) -> list[str]:
    """Sentences on options whose value the server has changed: rounded, capped or ignored.

    `variables` is SHOW GLOBAL VARIABLES after start; `known` is None for a remote server, whose options nobody can ask.
    """
    sentences = []
    for option in config.options:
        name, asked = meaning(option, known)
        used = variables.get(name)
        if asked is not None and used is not None and config.syntax.canonical(asked) != config.syntax.canonical(used):
            sentences.append(f"{name}: asked {asked} ({option.origin}), the server uses {used or 'an empty value'}")
    return sentences


def differences(first: ServerConfig, second: ServerConfig, known: KnownOptions) -> list[Difference]:
    """Options that mean something else in two configurations; one set to its default equals one not set."""
    canonical = first.syntax.canonical
    sides = [{meaning(option, known)[0]: option for option in config.options} for config in (first, second)]
    differences = []
    for name in sorted({*sides[0], *sides[1]}):
        options = [side.get(name) for side in sides]
        values = [None if option is None else meaning(option, known)[1] for option in options]
        default = known.defaults.get(name)
        left, right = (default if option is None else value for option, value in zip(options, values, strict=True))
        # What has no default, such as log_bin, is off.
        if canonical(_OFF if left is None else left) != canonical(_OFF if right is None else right):
            origins = [None if option is None else option.origin for option in options]
            differences.append(Difference(name, values[0], values[1], default, *origins))
    return differences


def differences_of_builds(
    first: ServerConfig, second: ServerConfig, known: tuple[KnownOptions, KnownOptions]
) -> list[tuple[str, EffectiveOption, EffectiveOption]]:
    """Options that are in force with other values for each configuration on its own build, by name.

    `known` is what the builds know. These are the options that are set, and those that both builds know. Defaults that
    name a place are left out: each installation has its own.
    """
    names = {
        meaning(option, of)[0] for config, of in zip((first, second), known, strict=True) for option in config.options
    }
    both = known[0].defaults.keys() & known[1].defaults.keys()
    places = {name for name in both if any("/" in of.defaults[name] for of in known)}
    changed = []
    for name in sorted(names | (both - places)):
        one, other = (_effective(name, config, of) for config, of in zip((first, second), known, strict=True))
        if one.value is None or other.value is None:
            same = one.value is other.value and one.origin == other.origin
        else:
            same = first.syntax.canonical(one.value) == first.syntax.canonical(other.value)
        if not same:
            changed.append((name, one, other))
    return changed


def _effective(name: str, config: ServerConfig, known: KnownOptions) -> EffectiveOption:
    for option in config.options:
        sets, value = meaning(option, known)
        if sets == name and (name in known.names or not option.loose):
            return EffectiveOption(value, option.origin)
    if name not in known.names:
        return EffectiveOption(None, "not known")
    return EffectiveOption(known.defaults.get(name), "default")


def meaning(option: Option, known: KnownOptions | None) -> tuple[str, str | None]:
    """The variable that an option sets, and to what: `skip_x` sets x to OFF where there is no option of that name."""
    name, value = option.name, option.value
    if known is None or name not in known.names:
        for prefix, switch in _PREFIXES:
            rest = name.removeprefix(prefix)
            if rest != name and (known is None or rest in known.names) and value in (None, "1", "ON"):
                return rest, switch
    return name, "ON" if value is None else value
