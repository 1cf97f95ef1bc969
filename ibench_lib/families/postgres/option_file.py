"""Option files of PostgreSQL (`postgresql.conf`): `name = value` without groups; sizes and times have units."""

from __future__ import annotations

import re
from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path

from ibench_lib.configs.option_file import Line
from ibench_lib.configs.syntax import Syntax, Written
from ibench_lib.errors import ConfigError

SIZES = frozenset(["shared_buffers", "max_wal_size", "min_wal_size", "autovacuum_work_mem", "maintenance_work_mem"])
"""Sizes that need a unit here: without one, the server takes each in a unit of its own."""

_LINE = re.compile(r"([A-Za-z_][\w.]*)\s*(?:=\s*|\s+)(.*)")
_QUOTED = re.compile(r"'((?:[^'\\]|''|\\.)*)'\s*(?:#.*)?")
_PLAIN = re.compile(r"([^\s#']+)\s*(?:#.*)?")
_NUMBER = re.compile(r"([+-]?\d+(?:\.\d+)?)\s*([a-zA-Z]*)")
_BYTES = {unit: 1 << (10 * power) for power, unit in enumerate(["B", "kB", "MB", "GB", "TB"])}
_MILLISECONDS = {
    "us": Fraction(1, 1000),
    "ms": Fraction(1),
    "s": Fraction(1000),
    "min": Fraction(60_000),
    "h": Fraction(3_600_000),
    "d": Fraction(86_400_000),
}
_SWITCHES = {"true": "on", "yes": "on", "false": "off", "no": "off"}
_LOOSE = "loose_"


class PostgresConf:
    """Files that end in `.conf`. A line `loose_x = 1` is `x = 1` for servers that know x, and no line for others."""

    suffix = ".conf"

    def parse(self, text: str, name: str, folder: Path | None, group: str) -> list[Line]:
        """All lines are in `group`. A file that includes another is refused, and so is a size without a unit."""
        found = []
        for number, raw in enumerate(text.splitlines(), 1):
            origin, line = f"{name}:{number}", raw.strip()
            if not line or line.startswith("#"):
                continue
            match = _LINE.fullmatch(line)
            value = match and (_QUOTED.fullmatch(match[2]) or _PLAIN.fullmatch(match[2]))
            if match is None or not value:
                raise ConfigError(f"{origin}: not an option: {line!r:.80}")
            key = match[1].lower()
            if key in ("include", "include_dir", "include_if_exists"):
                raise ConfigError(f"{origin}: {key} cannot be used here", hint="write the options into this file")
            plain = _unquoted(value[1]) if match[2].startswith("'") else value[1]
            if key.removeprefix(_LOOSE) in SIZES and re.fullmatch("[1-9][0-9]*", plain):
                raise ConfigError(f"{origin}: {key} = {plain:.40} has no unit", hint="such as 128MB or 8kB")
            found.append(Line(group, key, plain, origin))
        return found

    def line(self, key: str, value: str | None) -> str:
        """Quoted where that is needed; a size without a unit is in bytes, of which servers before 11 know none."""
        name, text = key.removeprefix(_LOOSE), "on" if value is None else value
        if name in SIZES and re.fullmatch("[1-9][0-9]*", text):
            text = f"{text}B" if int(text) % 1024 else f"{int(text) // 1024}kB"
        if not re.fullmatch(r"[\w.+-]+", text):
            text = "'" + text.replace("\\", "\\\\").replace("'", "''") + "'"
        return f"{name} = {text}"

    def text(self, group: str, options: Iterable[Written]) -> str:
        """A line for each option."""
        lines = []
        for key, value, note in options:
            line = self.line(key, value)
            lines.append(line if note is None else f"{line:<50} # {note}")
        return "".join(f"{line}\n" for line in lines)

    def size(self, text: str) -> int | None:
        """Bytes of 128MB, or of a number alone, which is how a scaled size is kept."""
        match = _NUMBER.fullmatch(text)
        if match is None or match[2] not in {"", *_BYTES}:
            return None
        value = Fraction(match[1]) * _BYTES[match[2] or "B"]
        return int(value) if value >= 0 else None

    def canonical(self, value: str) -> str:
        """Bytes, milliseconds, on and off, numbers without needless zeros; letters without regard to case."""
        text = value.strip()
        match = _NUMBER.fullmatch(text)
        if match is not None and match[2] in {"", *_BYTES, *_MILLISECONDS}:
            unit = Fraction(_BYTES.get(match[2], 0)) or _MILLISECONDS.get(match[2], Fraction(1))
            number = Fraction(match[1]) * unit
            return str(int(number)) if number.denominator == 1 else repr(float(number))
        return _SWITCHES.get(text.lower(), text.lower())


def _unquoted(text: str) -> str:
    return re.sub(r"''|\\(.)", lambda match: match[1] or "'", text)


POSTGRES_CONF: Syntax = PostgresConf()
