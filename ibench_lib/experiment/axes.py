"""Axes of an experiment besides builds, configurations and setups: numbers of clients, and values of options.

A cell of an axis says in its names where it is on it. Clients are a size of the load, so they are part of the setup's
name, and results with the same number of clients are compared. A value is part of the configuration's name.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, create_model

from ibench_lib.base.choices import BY_FORM
from ibench_lib.errors import NameRefused
from ibench_lib.paths import check_name
from ibench_lib.workloads.workload import CommonOptions

MOST_CONFIGS = 200
"""How many configurations an experiment may have with all values of its options."""

MOST_CELLS = 10_000
"""How many cells an experiment may have: weeks of work, and what a plan still lists in a second."""

FRAGMENT = "vary"
"""What a run calls the fragment that has the values of its cell. It has no suffix, so it cannot be a file's."""

SET = "set"
"""The same for the options that a configuration sets in the experiment file."""

Chosen = tuple[tuple[str, str], ...]
"""Options with one of their values each."""

_KEY = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,99}")


def _key(given: str) -> str:
    if not _KEY.fullmatch(given):
        raise ValueError(f"{given!r:.80} is not the name of an option")
    return given.replace("-", "_").lower()


def _as_written(given: object) -> str:
    if isinstance(given, bool) or not isinstance(given, str | int | float):
        raise ValueError(f"a value of an option is a word or a number, not {given!r:.80}")
    text = str(given)
    try:
        check_name(f"x-{text}", "value")
    except NameRefused:
        raise ValueError(
            f"{text!r:.80} cannot be part of a configuration's name, which has letters, digits, '.', '_' and '-';"
            " put it in a fragment"
        ) from None
    return text


def _once(values: list[Any]) -> list[Any]:
    for value in values:
        if values.count(value) > 1:
            raise ValueError(f"{value} occurs twice")
    return values


def _keys_once(given: object) -> object:
    """Two spellings of one option would be one key, and the last would win."""
    seen: dict[str, str] = {}
    for key in given if isinstance(given, dict) else ():
        name = str(key).replace("-", "_").lower()
        if name in seen:
            raise ValueError(f"{seen[name]!r:.80} and {key!r:.80} are one option")
        seen[name] = str(key)
    return given


def _as_in_my_cnf(given: object) -> str:
    if isinstance(given, bool) or not isinstance(given, str | int | float):
        raise ValueError(f"a value of an option is a text or a number, not {given!r:.80}")
    text = str(given)
    if not text or not text.isprintable() or len(text) > 500:
        raise ValueError(f"{text!r:.80} has to be one line of 1 to 500 printable characters")
    return text


_Key = Annotated[str, AfterValidator(_key)]
_Value = Annotated[str, BeforeValidator(_as_written)]
_Values = Annotated[list[_Value], Field(min_length=1), AfterValidator(_once)]
Vary = Annotated[dict[_Key, _Values], BeforeValidator(_keys_once)]
"""Option -> the values that it takes, in the order of the file."""

Settings = Annotated[
    dict[_Key, Annotated[str, BeforeValidator(_as_in_my_cnf)]], Field(min_length=1), BeforeValidator(_keys_once)
]
"""Option -> its value. It is in no name, so it may have any characters."""

_Clients = Annotated[int, Field(ge=1, le=1024)]
_Counts = Annotated[list[_Clients], Field(min_length=1, max_length=64), AfterValidator(_once)]


def with_counts(options: type[CommonOptions]) -> type[CommonOptions]:
    """The options of a workload in an experiment file, where `clients` may be a list of numbers."""
    default = options.model_fields["clients"]
    clients: Any = (Annotated[_Clients | _Counts, BY_FORM], ... if default.is_required() else default.default)
    return create_model(options.__name__, __base__=options, __doc__=options.__doc__, clients=clients)


def counts_of(options: CommonOptions) -> list[int | None]:
    """The numbers of clients of an axis; only None if the file has one number."""
    given: object = options.clients
    return [*given] if isinstance(given, list) else [None]


def combinations(vary: Mapping[str, Sequence[str]]) -> list[Chosen]:
    """Every choice of a value for each option; one empty choice if nothing varies."""
    return [tuple(zip(vary, values, strict=True)) for values in itertools.product(*vary.values())]


def one_by_one(values_of: Mapping[str, Sequence[str]]) -> list[Chosen]:
    """No option, for the base; then each value of each option by itself."""
    return [(), *(((key, value),) for key, values in values_of.items() for value in values)]


def config_name(name: str, chosen: Chosen) -> str:
    """What results call a configuration with these values: `base-innodb_io_capacity-2k`."""
    return "-".join([name, *(f"{key}-{value}" for key, value in chosen)])


def setup_name(name: str, clients: int | None) -> str:
    """What results call a setup with so many clients: `cached-clients-004`, which sorts by the number."""
    return name if clients is None else f"{name}-clients-{clients:03d}"
