"""my.cnf of a run: a base for the server's family with named deltas on top, or a complete my.cnf; sizes scaled.

A fragment is a real my.cnf file, in a folder of the experiment's own or in `ibench_lib/configs/fragments/`. A name
resolves to the most specific file for the build: `<name>.<flavour>-<major>.<minor>.cnf`, then a range
`<name>.<flavour>-<first>-to-<last>.cnf`, `<name>.<flavour>-<major>.cnf`, `<name>.<flavour>.cnf`, `<name>.cnf`. A
flavour may take the files of another one where it has none of its own. Later fragments win.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from ibench_lib.configs.option_file import Line, text_of
from ibench_lib.configs.rules import Rules, Scaled
from ibench_lib.configs.syntax import MY_CNF, Syntax, Written
from ibench_lib.errors import ConfigError
from ibench_lib.paths import check_name, fragment_folders

_RANGE = re.compile(r"([0-9]{1,4}(?:\.[0-9]{1,4})*)-to-([0-9]{1,4}(?:\.[0-9]{1,4})*)")

LOOSE = "loose_"


@dataclass(frozen=True)
class Option:
    """One option of a run. `value` is None for a key without value; `full_value` the one at scale 1 where it differs.

    `key` is in lower case with underscores; `origin` is file:line.
    """

    key: str
    value: str | None
    origin: str
    full_value: str | None = None

    @property
    def name(self) -> str:
        """The key without `loose_`."""
        return self.key.removeprefix(LOOSE)

    @property
    def place(self) -> str:
        """Where it comes from and its key, for messages and lists: `a.cnf:2: loose_x`."""
        return f"{self.origin}: {self.key}"

    @property
    def loose(self) -> bool:
        """Whether a server that does not know it shall skip it."""
        return self.key.startswith(LOOSE)


@dataclass(frozen=True)
class ServerConfig:
    """The resolved configuration of one run.

    `options` in order, a key once unless its occurrences add up; `fragments` maps the name of each file to the options
    that came from it, as text; `dropped` names what a complete my.cnf has and a sandbox decides itself; `group` is the
    group that the server reads them in, `syntax` how its option file is written.
    """

    options: tuple[Option, ...]
    fragments: dict[str, str] = field(default_factory=dict)
    dropped: tuple[str, ...] = ()
    group: str = "mysqld"
    syntax: Syntax = MY_CNF

    def render(self, without: Collection[str] = ()) -> str:
        """The option file: one group, each line with its origin. `without` are the places of options to leave out."""
        written = []
        for option in self.options:
            if option.place not in without:
                scaled = "" if option.full_value is None else f", scaled from {option.full_value}"
                written.append(Written(option.key, option.value, f"{option.origin}{scaled}"))
        return self.syntax.text(self.group, written)

    def value(self, key: str) -> str | None:
        """The value of a key, None where it is not set or has none."""
        return next((option.value for option in self.options if option.key == key), None)


@dataclass(frozen=True)
class GeneratedFragment:
    """A fragment that is in no file: its name, and its lines with the places that ask for them."""

    name: str
    lines: tuple[Line, ...]

    def text(self, rules: Rules) -> str:
        """As an option file would have it."""
        return rules.syntax.text(rules.group, [Written(line.key, line.value) for line in self.lines])


def resolve(
    names: list[str], rules: Rules, scale: float, folder: Path | None = None, last: Sequence[GeneratedFragment] = ()
) -> ServerConfig:
    """Merge the fragments `names`, base first, by the rules of a server, with sizes times `scale`.

    `folder` is looked in before the built-in configurations; `last` win over all fragments, the last of them over all.

    Raises
    ------
    ConfigError : a fragment that does not exist for this server, or a line that cannot be used.
    """
    options: list[Option] = []
    fragments: dict[str, str] = {}
    for name in names:
        path = _find(check_name(name, "configuration"), rules, folder)
        text = text_of(path, path.name)
        fragments[path.name] = text
        for line in rules.syntax.parse(text, path.name, path.parent, rules.group):
            if line.group != rules.group:
                raise ConfigError(
                    f"{line.origin}: group [{line.group}] is not used here; options belong in [{rules.group}]"
                )
            _take(options, line, rules)
    _take_last(options, fragments, last, rules)
    return ServerConfig(tuple(_scaled(options, rules, scale)), fragments, (), rules.group, rules.syntax)


def complete(path: Path, rules: Rules, scale: float, last: Sequence[GeneratedFragment] = ()) -> ServerConfig:
    """A complete option file as it is: the groups that this server reads, less what a sandbox decides.

    `last` win over the file.

    Raises
    ------
    ConfigError : it cannot be read or used.
    """
    options: list[Option] = []
    dropped = []
    for line in rules.syntax.parse(text_of(path, path.name), path.name, path.parent, rules.group):
        if line.group not in rules.groups:
            continue
        name = rules.bare(_name(line))
        if name in rules.code:
            raise _dangerous(line)
        if name in rules.decided:
            dropped.append(f"{line.origin}: {rules.syntax.line(line.key, line.value)}")
        else:
            _merge(options, line, rules)
    written = [Written(option.key, option.value) for option in options]
    fragments = {path.name: rules.syntax.text(rules.group, written)}
    _take_last(options, fragments, last, rules)
    return ServerConfig(tuple(_scaled(options, rules, scale)), fragments, tuple(dropped), rules.group, rules.syntax)


def names(folder: Path | None = None) -> dict[str, list[Path]]:
    """Every configuration there is, by name, with its files."""
    by_name: dict[str, list[Path]] = {}
    for path in [*(fragments_in(folder) if folder else []), *_shipped()]:
        by_name.setdefault(path.name.split(".")[0], []).append(path)
    return dict(sorted(by_name.items()))


def suffixes() -> set[str]:
    """The suffixes that option files of some family have."""
    return {path.suffix for path in _shipped()}


def fragments_in(folder: Path) -> list[Path]:
    """The fragments in a folder."""
    known = suffixes()
    return sorted(path for path in folder.glob("*") if path.suffix in known)


def _shipped() -> list[Path]:
    """All fragments that come with the library, and with packages that add a family."""
    return [path for place in fragment_folders() for path in sorted(place.glob("*.*"))]


def _find(name: str, rules: Rules, folder: Path | None) -> Path:
    series = [".".join(map(str, rules.release[:length])) for length in (2, 1)]
    suffix = rules.syntax.suffix
    for place in [*([folder] if folder else []), *fragment_folders()]:
        for family in rules.families:
            exact, ranged = place / f"{name}.{family}-{series[0]}{suffix}", _in_range(place, f"{name}.{family}-", rules)
            wider = [place / f"{name}.{family}{which}{suffix}" for which in (f"-{series[1]}", "")]
            for path in (exact, *ranged, *wider):
                if path.is_file():
                    return path
        if (place / f"{name}{suffix}").is_file():
            return place / f"{name}{suffix}"
    raise ConfigError(f"no configuration {name!r} for {rules.server}", hint=f"known: {', '.join(names(folder))}")


def _in_range(place: Path, stem: str, rules: Rules) -> list[Path]:
    """The file whose name states a range of releases, first and last included, that has this one; or none."""
    paths, suffix = [], rules.syntax.suffix
    for path in sorted(place.glob(f"{stem}*-to-*{suffix}")):
        match = _RANGE.fullmatch(path.name.removeprefix(stem).removesuffix(suffix))
        if match is None:
            raise ConfigError(
                f"{path}: its name states no range of releases",
                hint=f"such as {stem}10.1-to-10.4{suffix}, both included",
            )
        first, last = (tuple(map(int, bound.split("."))) for bound in match.groups())
        if first <= rules.release[: len(first)] and rules.release[: len(last)] <= last:
            paths.append(path)
    if len(paths) > 1:
        raise ConfigError(
            f"{' and '.join(path.name for path in paths)} in {place} are both for {rules.server}",
            hint="ranges of one name must not overlap",
        )
    return paths


def _name(line: Line) -> str:
    name = line.key.removeprefix(LOOSE)
    if name.startswith(LOOSE):
        raise ConfigError(f"{line.origin}: {line.key} has {LOOSE} twice", hint="write it once")
    return name


def _take(options: list[Option], line: Line, rules: Rules) -> None:
    """Merge a line that says only what a configuration may say."""
    name = rules.bare(_name(line))
    if name in rules.code:
        raise _dangerous(line)
    if name in rules.decided:
        raise ConfigError(f"{line.origin}: {line.key} is set by the sandbox and cannot be part of a configuration")
    _merge(options, line, rules)


def _dangerous(line: Line) -> ConfigError:
    return ConfigError(
        f"{line.origin}: {line.key} runs or loads code or lets anybody in, and cannot be part of a configuration"
    )


def _take_last(
    options: list[Option], fragments: dict[str, str], last: Sequence[GeneratedFragment], rules: Rules
) -> None:
    for generated in last:
        for line in generated.lines:
            _take(options, line, rules)
        fragments[generated.name] = generated.text(rules)


def _merge(options: list[Option], line: Line, rules: Rules) -> None:
    if line.value is not None and any(character in line.value for character in "\n\r\0"):
        raise ConfigError(f"{line.origin}: the value of {line.key} contains a line break")
    name = _name(line)
    if rules.outside(line.value):
        raise ConfigError(
            f"{line.origin}: {line.key}={line.value!s:.80} names a place outside of the sandbox",
            hint="a run's files are in its data directory: name them without a folder, or relative to it",
        )
    if not rules.accumulating.fullmatch(name):
        # A value wins over an earlier one of the same option, with or without `loose_`.
        options[:] = [option for option in options if option.name != name]
    options.append(Option(line.key, line.value, line.origin))


def _scaled(options: list[Option], rules: Rules, scale: float) -> list[Option]:
    if scale == 1:
        return options
    given = {option.name: option for option in options}
    values: dict[str, int] = {}
    for name, scaled in rules.scaled.items():
        if name not in given:
            continue
        full = _full_size(given[name], rules)
        if full:
            values[name] = _shrunk(full, scaled, scale)
        if full and scaled.count is not None and scaled.count in given:
            # The files shrink together; where the least size of one would make too much of them all, there are fewer.
            files = _number_of_files(given[scaled.count])
            values[scaled.count] = max(scaled.fewest, min(files, int(full * files * scale) // scaled.least))
    return [
        replace(option, value=str(values[option.name]), full_value=option.value)
        if option.name in values and str(values[option.name]) != option.value
        else option
        for option in options
    ]


def _full_size(option: Option, rules: Rules) -> int:
    size = rules.syntax.size(option.value or "")
    if size is None:
        raise ConfigError(
            f"{option.origin}: {option.key} is scaled and needs a size such as 80G, not {option.value!r:.80}"
        )
    return size


def _number_of_files(option: Option) -> int:
    if not re.fullmatch(r"[1-9][0-9]{0,5}", option.value or ""):
        raise ConfigError(
            f"{option.origin}: {option.key} is scaled and needs a number of files, not {option.value!r:.80}"
        )
    return int(option.value or 0)


def _shrunk(full: int, scaled: Scaled, scale: float) -> int:
    value = max(scaled.least, int(full * scale))
    for at_least, step in reversed(scaled.multiples):
        if value >= at_least:
            return (value + step // 2) // step * step
    return max(scaled.least, value >> 20 << 20) if full >= 1 << 20 else value
