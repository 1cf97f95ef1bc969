"""my.cnf of a run: a base fragment for the server's family, named deltas on top, sizes scaled.

A fragment is a real my.cnf file in `ibench_lib/configs/`. A name resolves to the most specific file for the build:
`<name>.<flavour>.cnf` before `<name>.cnf`. Later fragments win. Every rendered line says where it came from.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from ibench_lib.errors import ConfigError
from ibench_lib.paths import check_name

CONFIGS = Path(__file__).with_name("configs")

_OPTION = re.compile(r"(?P<key>[A-Za-z][A-Za-z0-9_.-]*)\s*(?:=\s*(?P<value>.*))?")
_SIZE = re.compile(r"(\d+)([KMGTkmgt]?)")
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}

# Where a run lives and what it loads is the sandbox's business; an experiment must not redirect it or run code with it.
REFUSED = frozenset(
    [
        "basedir",
        "bind_address",
        "chroot",
        "datadir",
        "init_file",
        "log_error",
        "pid_file",
        "plugin_dir",
        "plugin_load",
        "plugin_load_add",
        "port",
        "skip_networking",
        "socket",
        "tmpdir",
        "user",
    ]
)

# Sizes that shrink with an experiment's scale, each with the least value that servers accept or that still works.
SCALED_FLOORS = {
    "innodb_buffer_pool_size": 24 << 20,
    "innodb_log_file_size": 4 << 20,
    "innodb_redo_log_capacity": 8 << 20,
    "innodb_max_purge_lag": 1,
}


@dataclass(frozen=True)
class Option:
    """One line of a fragment. `value` is None for a key without a value; `key` is normalised to underscores."""

    key: str
    value: str | None
    origin: str


@dataclass(frozen=True)
class ServerConfig:
    """The resolved configuration of one run: its options by key, and the fragments they came from (name -> text)."""

    options: dict[str, Option]
    fragments: dict[str, str]

    def render(self) -> str:
        """The my.cnf: one [mysqld] group, each line with its origin."""
        lines = ["[mysqld]"]
        for option in self.options.values():
            text = option.key if option.value is None else f"{option.key}={option.value}"
            lines.append(f"{text:<50} # {option.origin}")
        return "\n".join(lines) + "\n"


def resolve(names: list[str], flavour: str, scale: float, folder: Path = CONFIGS) -> ServerConfig:
    """Merge the fragments `names`, base first, for a build of `flavour`, with sizes times `scale`.

    Raises
    ------
    ConfigError : a fragment that does not exist for this flavour, or a line that cannot be used.
    """
    options: dict[str, Option] = {}
    fragments: dict[str, str] = {}
    for name in names:
        path = _find(check_name(name, "configuration"), flavour, folder)
        fragments[path.name] = path.read_text(encoding="utf-8")
        for option in parse(fragments[path.name], path.name):
            options.pop(option.key, None)
            options[option.key] = option
    return ServerConfig({key: _scaled(option, scale) for key, option in options.items()}, fragments)


def parse(text: str, name: str) -> list[Option]:
    """The [mysqld] options of a fragment in order; `name` is used in messages and origins."""
    options: list[Option] = []
    group = None
    for number, line in enumerate(text.splitlines(), start=1):
        stripped = line.strip()
        if not stripped or stripped[0] in "#;":
            continue
        if stripped.startswith("["):
            group = stripped.strip("[]").strip()
            if group != "mysqld":
                raise ConfigError(f"{name}:{number}: group [{group}] is not used here; options belong in [mysqld]")
            continue
        match = _OPTION.fullmatch(stripped.split(" #")[0].rstrip())
        if group is None or not match:
            raise ConfigError(f"{name}:{number}: not an option of a [mysqld] group: {stripped!r:.80}")
        key = match["key"].replace("-", "_").lower()
        if key.removeprefix("loose_") in REFUSED:
            raise ConfigError(f"{name}:{number}: {key} is set by the sandbox and cannot be part of a configuration")
        options.append(Option(key, match["value"], f"{name}:{number}"))
    return options


def _find(name: str, flavour: str, folder: Path) -> Path:
    for candidate in (folder / f"{name}.{flavour}.cnf", folder / f"{name}.cnf"):
        if candidate.is_file():
            return candidate
    known = sorted({path.name.split(".")[0] for path in folder.glob("*.cnf")})
    raise ConfigError(f"no configuration {name!r} for {flavour}", hint=f"known are {', '.join(known)}")


def _scaled(option: Option, scale: float) -> Option:
    floor = SCALED_FLOORS.get(option.key.removeprefix("loose_"))
    if floor is None or option.value is None or scale == 1:
        return option
    match = _SIZE.fullmatch(option.value)
    if not match:
        raise ConfigError(f"{option.origin}: {option.key} is scaled and needs a size such as 80G, not {option.value!r}")
    size = int(match[1]) * _UNITS[match[2].upper()]
    if size == 0:
        return option
    value = max(floor, int(size * scale))
    if size >= 1 << 20:
        value = max(floor, value >> 20 << 20)
    return Option(option.key, str(value), f"{option.origin}, {option.value} at scale {scale:g}")
