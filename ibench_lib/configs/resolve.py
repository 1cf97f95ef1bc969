"""my.cnf of a run: a base for the server's family with named deltas on top, or a complete my.cnf; sizes scaled.

A fragment is a real my.cnf file, in a folder of the experiment's own or in `ibench_lib/configs/fragments/`. A name
resolves to the most specific file for the build: `<name>.<flavour>-<major>.<minor>.cnf`,
`<name>.<flavour>-<major>.cnf`, `<name>.<flavour>.cnf`, `<name>.cnf`; Percona Server takes MySQL's where it has none of
its own. Later fragments win.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from pathlib import Path

from ibench_lib.configs.option_file import Line, parse, render, server_groups
from ibench_lib.errors import ConfigError
from ibench_lib.paths import FRAGMENTS, check_name

_SIZE = re.compile(r"(\d+)([KMGTPE]?)", re.IGNORECASE)
_UNITS = {unit: 1 << (10 * power) for power, unit in enumerate(["", "K", "M", "G", "T", "P", "E"])}

# Where a run lives is the sandbox's business.
OF_THE_SANDBOX = frozenset(
    [
        "basedir",
        "bind_address",
        "chroot",
        "datadir",
        "general_log_file",
        "innodb_data_home_dir",
        "innodb_log_group_home_dir",
        "innodb_tmpdir",
        "innodb_undo_directory",
        "lc_messages_dir",
        "log_error",
        "mysqlx_port",
        "mysqlx_socket",
        "pid_file",
        "port",
        "secure_file_priv",
        "skip_networking",
        "slow_query_log_file",
        "socket",
        "tmpdir",
        "user",
    ]
)
# These run code, or load it.
_CODE = frozenset(
    [
        "early_plugin_load",
        "init_connect",
        "init_file",
        "init_replica",
        "init_slave",
        "plugin_dir",
        "plugin_load",
        "plugin_load_add",
    ]
)
# Each occurrence counts, not the last alone.
_ACCUMULATING = re.compile(r"(loose_)?(performance_schema_instrument|(replicate|binlog)_(do|ignore|wild|rewrite)_.*)")

# Sizes that shrink with an experiment's scale, each with the least value that servers accept or that still works.
SCALED_FLOORS = {
    "innodb_buffer_pool_size": 24 << 20,
    "innodb_log_file_size": 4 << 20,
    "innodb_redo_log_capacity": 8 << 20,
    "innodb_max_purge_lag": 1,
}
_LOG_FILES = "innodb_log_files_in_group"
# MySQL rounds a buffer pool up to chunks of 128M, and one of 1G and more to a chunk for each of its up to 8 instances.
# A scaled size is a multiple of these, so that a pool is of one size with all builds and numbers of instances.
_CHUNK, _ALL_CHUNKS = 128 << 20, 1 << 30


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
        return self.key.removeprefix("loose_")

    @property
    def loose(self) -> bool:
        """Whether a server that does not know it shall skip it."""
        return self.key.startswith("loose_")


@dataclass(frozen=True)
class ServerConfig:
    """The resolved configuration of one run.

    `options` in order, a key once unless its occurrences add up; `fragments` maps the name of each file to the options
    that came from it, as text; `dropped` names what a complete my.cnf has and a sandbox decides itself.
    """

    options: tuple[Option, ...]
    fragments: dict[str, str] = field(default_factory=dict)
    dropped: tuple[str, ...] = ()

    def render(self) -> str:
        """The my.cnf: one [mysqld] group, each line with its origin."""
        lines = ["[mysqld]"]
        for option in self.options:
            scaled = "" if option.full_value is None else f", scaled from {option.full_value}"
            lines.append(f"{render(option.key, option.value):<50} # {option.origin}{scaled}")
        return "\n".join(lines) + "\n"

    def value(self, key: str) -> str | None:
        """The value of a key, None where it is not set or has none."""
        return next((option.value for option in self.options if option.key == key), None)


def resolve(
    names: list[str], flavour: str, release: tuple[int, int, int], scale: float, folder: Path | None = None
) -> ServerConfig:
    """Merge the fragments `names`, base first, for a build of that flavour and release, with sizes times `scale`.

    `folder` is looked in before the built-in configurations.

    Raises
    ------
    ConfigError : a fragment that does not exist for this build, or a line that cannot be used.
    """
    options: list[Option] = []
    fragments: dict[str, str] = {}
    for name in names:
        path = _find(check_name(name, "configuration"), flavour, release, folder)
        text = _read(path)
        fragments[path.name] = text
        for line in parse(text, path.name, path.parent):
            if line.group != "mysqld":
                raise ConfigError(f"{line.origin}: group [{line.group}] is not used here; options belong in [mysqld]")
            name_of_it = line.key.removeprefix("loose_")
            if name_of_it in OF_THE_SANDBOX | _CODE:
                raise ConfigError(
                    f"{line.origin}: {line.key} is set by the sandbox and cannot be part of a configuration"
                )
            _merge(options, line)
    return ServerConfig(tuple(_scaled(options, scale)), fragments)


def complete(path: Path, flavour: str, release: tuple[int, int, int], scale: float) -> ServerConfig:
    """A complete my.cnf as it is: the groups that this server reads, less what a sandbox decides.

    Raises
    ------
    ConfigError : it cannot be read or used.
    """
    options: list[Option] = []
    dropped = []
    groups = server_groups(flavour, release)
    for line in parse(_read(path), path.name, path.parent):
        if line.group not in groups:
            continue
        name = line.key.removeprefix("loose_")
        if name in _CODE:
            raise ConfigError(f"{line.origin}: {line.key} runs or loads code, and cannot be part of a configuration")
        if name in OF_THE_SANDBOX:
            dropped.append(f"{line.origin}: {render(line.key, line.value)}")
        else:
            _merge(options, line)
    text = "".join(f"{render(option.key, option.value)}\n" for option in options)
    return ServerConfig(tuple(_scaled(options, scale)), {path.name: f"[mysqld]\n{text}"}, tuple(dropped))


def names(folder: Path | None = None) -> dict[str, list[Path]]:
    """Every configuration there is, by name, with its files."""
    found: dict[str, list[Path]] = {}
    for place in [*([folder] if folder else []), FRAGMENTS]:
        for path in sorted(place.glob("*.cnf")):
            found.setdefault(path.name.split(".")[0], []).append(path)
    return dict(sorted(found.items()))


def size(text: str) -> int | None:
    """Bytes of a size such as 80G, None for what is none."""
    match = _SIZE.fullmatch(text)
    return int(match[1]) * _UNITS[match[2].upper()] if match else None


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} cannot be read: {error}") from error


def _find(name: str, flavour: str, release: tuple[int, int, int], folder: Path | None) -> Path:
    families = ["percona", "mysql"] if flavour == "percona" else [flavour]
    suffixes = [
        f".{family}{series}" for family in families for series in (f"-{release[0]}.{release[1]}", f"-{release[0]}", "")
    ]
    for place in [*([folder] if folder else []), FRAGMENTS]:
        for suffix in (*suffixes, ""):
            if (place / f"{name}{suffix}.cnf").is_file():
                return place / f"{name}{suffix}.cnf"
    raise ConfigError(
        f"no configuration {name!r} for {flavour} {'.'.join(map(str, release))}",
        hint=f"known are {', '.join(names(folder))}",
    )


def _merge(options: list[Option], line: Line) -> None:
    if line.value is not None and any(character in line.value for character in "\n\r\0"):
        raise ConfigError(f"{line.origin}: the value of {line.key} contains a line break")
    if not _ACCUMULATING.fullmatch(line.key):
        # A value wins over an earlier one of the same option, with or without `loose_`.
        name = line.key.removeprefix("loose_")
        options[:] = [option for option in options if option.name != name]
    options.append(Option(line.key, line.value, line.origin))


def _scaled(options: list[Option], scale: float) -> list[Option]:
    if scale == 1:
        return options
    wanted = {option.name: _full_size(option) for option in options if option.name in SCALED_FLOORS}
    files = next((int(option.value or 0) for option in options if option.name == _LOG_FILES), None)
    values = {name: _shrunk(name, full, scale) for name, full in wanted.items() if full}
    log_file = wanted.get("innodb_log_file_size")
    if files and log_file:
        # The files shrink together; where the least size of one would make too much of them all, there are fewer.
        floor = SCALED_FLOORS["innodb_log_file_size"]
        values[_LOG_FILES] = max(2, min(files, int(log_file * files * scale) // floor))
    return [
        replace(option, value=str(values[option.name]), full_value=option.value)
        if option.name in values and str(values[option.name]) != option.value
        else option
        for option in options
    ]


def _full_size(option: Option) -> int:
    found = size(option.value or "")
    if found is None:
        raise ConfigError(f"{option.origin}: {option.key} is scaled and needs a size such as 80G, not {option.value!r}")
    return found


def _shrunk(name: str, full: int, scale: float) -> int:
    value = max(SCALED_FLOORS[name], int(full * scale))
    if name == "innodb_buffer_pool_size" and value >= _CHUNK:
        step = _CHUNK if value < _ALL_CHUNKS else _ALL_CHUNKS
        return (value + step // 2) // step * step
    return max(SCALED_FLOORS[name], value >> 20 << 20) if full >= 1 << 20 else value
