"""Its option files: `name: value ; note` on each line, without groups."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from ibench_lib.configs.option_file import Line
from ibench_lib.configs.syntax import Syntax, Written
from ibench_lib.errors import ConfigError


class LineFile:
    """Sizes are in kilobytes: 2m is 2000."""

    suffix = ".line"

    def parse(self, text: str, name: str, folder: Path | None, group: str) -> list[Line]:
        """A line without a colon is refused."""
        found = []
        for number, line in enumerate(text.splitlines(), 1):
            if not (option := line.partition(" ;")[0].strip()):
                continue
            key, colon, value = option.partition(":")
            if not colon:
                raise ConfigError(f"{name}:{number}: not an option: {option!r:.80}")
            found.append(Line(group, key.strip(), value.strip(), f"{name}:{number}"))
        return found

    def line(self, key: str, value: str | None) -> str:
        """`key: value`."""
        return f"{key}: {value}"

    def text(self, group: str, options: Iterable[Written]) -> str:
        """A line for each."""
        lines = [self.line(key, value) + (f" ; {note}" if note else "") for key, value, note in options]
        return "".join(f"{line}\n" for line in lines)

    def size(self, text: str) -> int | None:
        """Kilobytes."""
        number, unit = (text[:-1], 1000) if text.endswith("m") else (text, 1)
        return int(number) * unit if number.isdigit() else None

    def canonical(self, value: str) -> str:
        """A size as its number."""
        found = self.size(value)
        return value if found is None else str(found)


LINE_FILE: Syntax = LineFile()
