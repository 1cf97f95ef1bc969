"""Commands whose options and arguments are read without pydantic where there is nothing to convert.

typer imports pydantic for each command that has options, also where none of them is given: a fifth of the time that
short commands take.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, get_args

from typer.core import TyperCommand, TyperGroup

_ANY_PATH = {
    "exists": False, "file_okay": True, "dir_okay": True, "writable": False, "resolve_path": False, "allow_dash": False,
    "path_type": None,
}  # fmt: skip
"""What typer may ask of a path, where it asks no more than to be able to read what is there."""


class PlainCommand(TyperCommand):
    """A command that takes values as they are where typer would only copy them."""

    def parse_args(self, context: Any, typed: list[str]) -> list[str]:
        """What typer does, with parameters that spare a conversion."""
        _spare_conversions(self, context)
        return super().parse_args(context, typed)


class PlainGroup(TyperGroup):
    """The same for a group of commands."""

    def parse_args(self, context: Any, typed: list[str]) -> list[str]:
        """What typer does, with parameters that spare a conversion."""
        _spare_conversions(self, context)
        return super().parse_args(context, typed)


def _spare_conversions(command: Any, context: Any) -> None:
    for parameter in command.get_params(context):
        parameter.process_value = partial(_process, parameter, type(parameter).process_value)


def _process(parameter: Any, by_typer: Callable[[Any, Any, Any], Any], context: Any, value: Any) -> Any:
    """The value of a parameter as a command gets it, from what was typed or is the default."""
    descriptor = getattr(parameter, "type_descriptor", None)  # another typer may have none
    if descriptor is None or (parameter.required and value is None):
        return by_typer(parameter, context, value)
    several = parameter.multiple or parameter.nargs == -1
    kind, info = descriptor.annotation, descriptor.parameter_info
    element = next(iter(get_args(kind)), None) if several else kind
    plain: Any
    if value is None:
        plain = () if several else None
    # What is typed is text: a value of another type is a default.
    elif not several and type(value) is kind and info.parser is None:
        plain = value
    elif several and element is str and info.parser is None and {type(one) for one in value} == {str}:
        plain = list(value)
    elif element is Path and info.parser is None and _are_any_paths(value if several else [value], info):
        plain = [Path(one) for one in value] if several else Path(value)
    else:
        return by_typer(parameter, context, value)
    return plain if parameter.callback is None else parameter.callback(context, parameter, plain)


def _are_any_paths(typed: Any, info: Any) -> bool:
    """Whether these are texts that typer would only make paths of, without an error."""
    if any(getattr(info, name, None) != taken for name, taken in _ANY_PATH.items()):
        return False
    return all(type(one) is str and (os.access(one, os.R_OK) or not os.path.exists(one)) for one in typed)
