"""Words in braces in the arguments of a command, such as `{seconds}`, and what stands for them."""

from __future__ import annotations

import re
from collections.abc import Mapping

OF_THE_SERVER = ("socket", "host", "port", "user", "database", "option_file")
PYTHON = "python"
OF_THE_STEP = ("seconds", "threads", "amount", "seed")
PASSWORD = "password"

# ${name} is the shell's.
_PLACE = re.compile(r"\{\{([a-z][a-z0-9_]*)\}\}|(?<!\$)\{([a-z][a-z0-9_]*)\}")


def named_in(text: str) -> list[str]:
    """The placeholders of a text, in order."""
    return [place[2] for place in _PLACE.finditer(text) if place[2]]


def filled(text: str, values: Mapping[str, object]) -> str:
    """The text with the values of its placeholders. `{{name}}` becomes `{name}`; other braces stay. Raises KeyError."""
    return _PLACE.sub(lambda found: "{" + found[1] + "}" if found[1] else str(values[found[2]]), text)
