"""Option files (my.cnf) as the servers read them.

Comments (`#` anywhere outside quotes, `;` at a line's start), groups, keys without value, dashes and underscores alike,
quoted values, escapes, `!include` and `!includedir`. What the servers do is described under "Using Option Files" in the
manuals of MySQL and MariaDB; tests compare with the servers' own my_print_defaults.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from ibench_lib.base.text_file import NotReadable, read_text
from ibench_lib.errors import ConfigError

_KEY = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
_GROUP = re.compile(r"\[([^\]]*)\]\s*(?:[#;].*)?")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "s": " ", '"': '"', "'": "'", "\\": "\\"}
_DEEPEST = 10
_MOST_FILES = 100
_MOST_BYTES = 1_000_000


@dataclass(frozen=True)
class Line:
    """One option. `key` as written, but with underscores and in lower case; `value` None for a key without one."""

    group: str
    key: str
    value: str | None
    origin: str


def parse(text: str, name: str, folder: Path | None = None) -> list[Line]:
    """The options of a file in order, those of included files in their places.

    Parameters
    ----------
    name : what the file is called in messages and origins.
    folder : where included files must lie; None for a text that may include nothing.

    Raises
    ------
    ConfigError : a line that the servers would refuse, or an include that leaves the folder.
    """
    return _parse(text, name, folder, [], depth=0)


def with_included(path: Path) -> list[Path]:
    """A file and those that it includes, as far as they can be read and lie in its folder: what must travel with it."""
    folder, known, left = path.parent.resolve(), [path], [path]
    while left:
        try:
            lines = [line.strip() for line in text_of(left.pop(), str(path)).splitlines()]
        except ConfigError:
            continue  # whoever parses it says so
        for line in lines:
            directive, _, argument = line.partition(" ")
            if directive not in ("!include", "!includedir"):
                continue
            try:
                named = (folder / _uncommented(argument)).resolve()
                files = sorted(named.glob("*.cnf")) if directive == "!includedir" else [named]
            except (OSError, ValueError):
                continue
            new = [file for file in files if file not in known and file.resolve().is_relative_to(folder)]
            known += new
            left += new
    return known


def render(key: str, value: str | None) -> str:
    """One option as a line that `parse` and the servers read back as it is."""
    if value is None:
        return key
    special = any(character in value for character in "#;'\"\\\n\t\r\b") or value != value.strip() or value == ""
    if not special:
        return f"{key}={value}"
    escaped = value.replace("\\", "\\\\")
    for letter, character in (("n", "\n"), ("t", "\t"), ("r", "\r"), ("b", "\b"), ('"', '"')):
        escaped = escaped.replace(character, f"\\{letter}")
    return f'{key}="{escaped}"'


def _parse(text: str, name: str, folder: Path | None, read: list[Path], depth: int) -> list[Line]:
    lines: list[Line] = []
    group: str | None = None
    for number, raw in enumerate(text.splitlines(), start=1):
        origin, line = f"{name}:{number}", raw.strip()
        if not line or line[0] in "#;":
            continue
        if line.startswith("!"):
            lines += _included(line, origin, folder, read, depth)
        elif line.startswith("["):
            match = _GROUP.fullmatch(line)
            if not match:
                raise ConfigError(f"{origin}: a group is [name], not {line!r:.80}")
            group = match[1].strip()
        else:
            key, equals, rest = line.partition("=")
            # A comment may follow a key without value, too.
            has_value = bool(equals) and "#" not in key
            key, value = (key.rstrip(), _value(rest)) if has_value else (_uncommented(line), None)
            if not _KEY.fullmatch(key):
                raise ConfigError(f"{origin}: not an option: {line!r:.80}")
            if group is None:
                raise ConfigError(f"{origin}: {key} comes before the first [group]")
            lines.append(Line(group, key.replace("-", "_").lower(), value, origin))
    return lines


def _included(line: str, origin: str, folder: Path | None, read: list[Path], depth: int) -> list[Line]:
    directive, _, argument = line.partition(" ")
    argument = _uncommented(argument)
    if directive not in ("!include", "!includedir") or not argument:
        raise ConfigError(f"{origin}: {directive} is neither !include nor !includedir with a path")
    if folder is None or depth == _DEEPEST:
        raise ConfigError(
            f"{origin}: {directive} cannot be used here" + (", files include each other" if depth else "")
        )
    try:
        path = (folder / argument).resolve()
        if not path.is_relative_to(folder.resolve()):
            raise ConfigError(
                f"{origin}: {argument:.200} is outside of {folder}", hint="copy it next to the file that includes it"
            )
        if directive == "!includedir" and not path.is_dir():
            raise ConfigError(f"{origin}: there is no folder {path}")
        # The files of a folder are read by name.
        in_folder = directive == "!includedir"
        files = sorted(entry for entry in path.iterdir() if entry.suffix == ".cnf") if in_folder else [path]
    except (OSError, ValueError) as error:  # a path too long, or with a NUL in it
        raise ConfigError(f"{origin}: {argument!r:.80} cannot be read: {_reason(error)}") from error
    lines = []
    for file in files:
        if not file.resolve().is_relative_to(folder.resolve()):
            raise ConfigError(f"{origin}: {file} leads outside of {folder}")
        read.append(file)
        if len(read) > _MOST_FILES:
            raise ConfigError(f"{origin}: over {_MOST_FILES} files are included", hint="do files include each other?")
        lines += _parse(text_of(file, origin), str(file.relative_to(folder.resolve())), folder, read, depth + 1)
    return lines


def text_of(file: Path, origin: str) -> str:
    """The text of an option file. `origin` says where it is named, for the message of the ConfigError."""
    try:
        return read_text(file, _MOST_BYTES)
    except FileNotFoundError:
        raise ConfigError(f"{origin}: {file} cannot be read: no such file") from None
    except NotReadable as error:
        raise ConfigError(f"{origin}: {file} cannot be read: {error}") from error


def _reason(error: OSError | ValueError) -> str:
    return error.strerror or str(error) if isinstance(error, OSError) else str(error)


def _value(text: str) -> str:
    value = _uncommented(text)
    if len(value) >= 2 and value[0] in "'\"" and value[-1] == value[0]:
        value = value[1:-1]
    return re.sub(r"\\(.)", lambda match: _ESCAPES.get(match[1], match[0]), value)


def _uncommented(text: str) -> str:
    """Up to a `#` that stands outside of quotes."""
    quote, escaped = "", False
    for position, character in enumerate(text):
        if character in "'\"" and not escaped:
            quote = "" if quote == character else quote or character
        elif character == "#" and not quote:
            return text[:position].strip()
        escaped = bool(quote) and character == "\\" and not escaped
    return text.strip()
