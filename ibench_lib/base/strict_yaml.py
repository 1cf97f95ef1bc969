"""YAML without surprises, checked against a pydantic model, every problem reported with file:line.

YAML 1.2 rules (NO is a name, 12:30 a string, and so is a date); duplicate keys and tags are refused, and whole numbers
with a leading zero, because readers disagree about them. `load` raises the caller's error class with all problems at
once.

A file is parsed once. What is nested too deeply, repeats itself without end or is too large is refused on the way, in
time that grows with the part that was read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails
from ruamel.yaml import YAML
from ruamel.yaml.constructor import SafeConstructor
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import (
    AliasEvent,
    CollectionEndEvent,
    CollectionStartEvent,
    Event,
    MappingStartEvent,
    ScalarEvent,
)
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode
from ruamel.yaml.parser import Parser

from ibench_lib.base.text_file import NotReadable, read_text
from ibench_lib.base.wording import count, suggestion
from ibench_lib.errors import UsageError

Model = TypeVar("Model", bound=BaseModel)
Location = tuple[str | int, ...]

MOST_BYTES = 1_000_000
MOST_NODES = 10_000
"""Of a file with its aliases written out."""
MOST_LEVELS = 40

_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x84\x86-\x9f\u202a-\u202e\u2066-\u2069]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_WHOLE_NUMBER = re.compile(r"[-+]?(0x[0-9a-fA-F_]+|0o[0-7_]+|[0-9][0-9_]*)")
_AMBIGUOUS_NUMBER = re.compile(r"[-+]?0\d+")
_PLAIN_TAGS = {
    f"tag:yaml.org,2002:{kind}" for kind in ("str", "int", "float", "bool", "null", "seq", "map", "timestamp")
}


def load(
    path: Path, model: type[Model] | Callable[[object], type[Model]], error: type[UsageError]
) -> tuple[Model, str]:
    """Read `path` and validate it. Returns the model and the file's text.

    `model` may be a function that chooses the model by what the file holds.

    Raises
    ------
    error : the file is missing, no YAML, or does not fit the model. `detail` has one line per problem.
    """
    text = _read(path, error)
    try:
        root, constructor = _parsed(text)
    except _TooMuch as cause:
        line, problem = cause.args
        raise error(f"{path}:{line}: {problem}") from None
    except MarkedYAMLError as cause:
        line = cause.problem_mark.line + 1 if cause.problem_mark else 1
        raise error(f"{path}:{line}: not valid YAML: {cause.problem}") from cause
    except YAMLError as cause:
        raise error(f"{path}:1: not valid YAML: {' '.join(str(cause).split())}") from cause
    except Exception as cause:  # whatever a text can do to a parser is that text's fault
        raise error(f"{path}:1: not valid YAML: {type(cause).__name__}") from cause
    if not isinstance(root, MappingNode):
        raise error(f"{path}:1: expected a mapping of keys to values")
    problems = [f"{path}:{line}: {problem}" for line, problem in _refused(root)]
    if not problems:
        content = _values(constructor, root, path, error)
        chosen: type[Model] = model if isinstance(model, type) else model(content)
        try:
            return chosen.model_validate(content), text
        except ValidationError as cause:
            problems = [
                f"{path}:{_locate(root, item['loc'])[0]}: {_sentence(chosen, root, item)}"
                for item in cause.errors(include_url=False)
            ]
    first, *rest = problems
    if rest:
        raise error(f"{path}: {count(len(problems), 'problem')}", detail="\n".join(problems))
    raise error(first)


def lines_of_keys(text: str, location: Location) -> list[int]:
    """The lines of the keys of a mapping of a document that `load` has accepted, by its location; none if absent."""
    node, _ = _parsed(text)
    for part in location:
        values = node.value if isinstance(part, int) else {name.value: value for name, value in node.value}
        if isinstance(part, str) and part not in values:
            return []
        node = values[part]
    return [name.start_mark.line + 1 for name, _ in node.value]


def line_at(text: str, location: Location) -> int:
    """The line of what stands at a location of a document that `load` has accepted."""
    return _locate(_parsed(text)[0], location)[0]


def _read(path: Path, error: type[UsageError]) -> str:
    """The text of a file; not of a device or a pipe, which may have no end."""
    try:
        return read_text(path, MOST_BYTES).replace("\r\n", "\n").replace("\r", "\n")
    except FileNotFoundError:
        raise error(f"{path}: no such file", hint=_files_nearby(path)) from None
    except NotReadable as cause:
        raise error(f"{path}:1: {cause}") from cause


@lru_cache(maxsize=4)  # lines are asked for one by one
def _parsed(text: str) -> tuple[Any, SafeConstructor]:
    """The root of a document, None for an empty text, and what makes values of it. Raises YAMLError and _TooMuch."""
    yaml = YAML(typ="safe", pure=True)
    yaml.Parser, yaml.Constructor = _BoundedParser, _DatesAreTexts
    return yaml.compose(text), yaml.constructor


def _values(constructor: SafeConstructor, root: Node, path: Path, error: type[UsageError]) -> Any:
    try:
        return constructor.construct_document(root)
    except Exception as cause:  # as above: such as a number that is none
        _parsed.cache_clear()  # what makes values has stopped on the way, and would go on there
        raise error(f"{path}:1: not valid YAML: {type(cause).__name__}: {str(cause)[:80].splitlines()[0]}") from cause


class _DatesAreTexts(SafeConstructor):
    """What a model says of a date decides, not how it is quoted."""


_DatesAreTexts.add_constructor("tag:yaml.org,2002:timestamp", SafeConstructor.construct_yaml_str)


@dataclass
class _Open:
    """A collection whose end has not been read: its anchor, and how many nodes it has, aliases written out."""

    anchor: str | None
    is_mapping: bool
    nodes: int = 1
    children: int = 0


class _TooMuch(Exception):
    """What would take too long or too much to build: its line, and the problem."""


class _BoundedParser(Parser):
    """A parser that raises _TooMuch at the event at which a text becomes too much, before a node is made of it."""

    def __init__(self, loader: Any) -> None:
        super().__init__(loader)
        self._under_way: list[_Open] = []
        self._sizes: dict[str, int] = {}
        self._total = 0

    def get_event(self) -> Event:
        """The next event of the document. Raises _TooMuch at what is too deep, too large or too long."""
        event: Event = super().get_event()
        if problem := self._too_much(event):
            raise _TooMuch(event.start_mark.line + 1, problem)
        return event

    def _too_much(self, event: Event) -> str | None:
        under_way, sizes = self._under_way, self._sizes
        if isinstance(event, CollectionEndEvent):
            ended = under_way.pop()
            if ended.anchor is not None:
                sizes[ended.anchor] = ended.nodes
            if under_way:
                under_way[-1].nodes += ended.nodes
            return None
        if not isinstance(event, AliasEvent | ScalarEvent | CollectionStartEvent):
            return None  # begin and end of stream and document
        if under_way:
            parent = under_way[-1]
            if parent.is_mapping and parent.children % 2 == 0 and not isinstance(event, ScalarEvent):
                return "a key must be a plain word or text"
            parent.children += 1
        nodes = 1
        if isinstance(event, AliasEvent):
            if any(collection.anchor == event.anchor for collection in under_way):
                return f"alias *{event.anchor:.40} refers to a node that contains it"
            nodes = sizes.get(event.anchor, 1)
        elif isinstance(event, ScalarEvent) and event.anchor is not None:
            sizes[event.anchor] = 1
        self._total += nodes
        if self._total > MOST_NODES:
            return f"over {MOST_NODES:,} values, counting those that aliases stand for"
        if isinstance(event, CollectionStartEvent):
            if len(under_way) == MOST_LEVELS:
                return f"nested over {MOST_LEVELS} levels deep"
            under_way.append(_Open(event.anchor, isinstance(event, MappingStartEvent)))
        elif under_way:
            under_way[-1].nodes += nodes
        return None


def _unusable(value: str, plain: bool) -> str | None:
    """What is wrong with a text, apart from its place."""
    if match := _SURROGATE.search(value):
        return f"U+{ord(match[0]):04X} is half a character"
    if match := _CONTROL.search(value):
        return f"control character U+{ord(match[0]):04X} is not allowed"
    if plain and _WHOLE_NUMBER.fullmatch(value) and not _fits_64_bits(value.replace("_", "").lower()):
        return f"{value[:20]}{'...' if len(value) > 20 else ''} has more than 64 bits"
    return None


def _fits_64_bits(digits: str) -> bool:
    base = 16 if "0x" in digits else 8 if "0o" in digits else 10
    return len(digits) <= 80 and -(2**63) <= int(digits, base) < 2**63


def _refused(node: Node) -> Iterator[tuple[int, str]]:
    """(line, problem) of everything that YAML allows and we do not."""
    line = node.start_mark.line + 1
    if str(node.tag) not in _PLAIN_TAGS:
        yield line, f"tag {node.tag} is not allowed"
    if isinstance(node, ScalarNode):
        plain = node.style is None
        if plain and _AMBIGUOUS_NUMBER.fullmatch(node.value):
            yield line, f"{node.value:.40} is ambiguous: put it in quotes, or remove the leading zero"
        elif problem := _unusable(node.value, plain):
            yield line, problem
    elif isinstance(node, SequenceNode):
        for child in node.value:
            yield from _refused(child)
    elif isinstance(node, MappingNode):
        seen: dict[str, int] = {}
        for key, value in node.value:
            at = key.start_mark.line + 1
            if key.value in seen:
                yield at, f"key {key.value!r:.80} is given twice (first in line {seen[key.value]})"
            seen.setdefault(key.value, at)
            yield from _refused(key)
            yield from _refused(value)


def _locate(root: Node, location: Location) -> tuple[int, str]:
    """(line, dotted name) of the deepest node on the way to `location`.

    Parts that the file does not have are left out, as pydantic adds the member of a union; a missing key is the last
    part and stays.
    """
    node = root
    line: int = root.start_mark.line + 1
    names: list[str] = []
    for position, part in enumerate(location):
        if isinstance(node, MappingNode):
            entry = next((pair for pair in node.value if pair[0].value == str(part)), None)
            if entry is None:
                if position == len(location) - 1:
                    names.append(str(part))
                continue
            line, node = entry[0].start_mark.line + 1, entry[1]
            names.append(str(part))
        elif isinstance(node, SequenceNode) and isinstance(part, int) and part < len(node.value):
            node = node.value[part]
            line = node.start_mark.line + 1
            names.append(f"[{part + 1}]")
    return line, ".".join(names).replace(".[", "[")


def _sentence(model: type[BaseModel], root: Node, item: ErrorDetails) -> str:
    location, kind = item["loc"], item["type"]
    where = _locate(root, location)[1]
    if kind == "extra_forbidden":
        parent = _model_at(model, location[:-1])
        return f"unknown key {where!r}{suggestion(str(location[-1]), list(parent.model_fields) if parent else [])}"
    if kind == "missing":
        return f"missing key {where!r}"
    if kind == "value_error":
        return f"{where}: {item['msg'].removeprefix('Value error, ')}".removeprefix(": ")
    if kind == "string_pattern_mismatch":
        return f"{where}: {item['input']!r:.80} is not a usable name: letters, digits, '.', '_' and '-', at most 64"
    given = item["input"]
    rest = f", not {given!r:.80}" if given is None or isinstance(given, str | int | float) else ""
    return f"{where}: {item['msg'].replace('Input should', 'should')}{rest}"


def _model_at(model: type[BaseModel], location: Location) -> type[BaseModel] | None:
    """The model that validates what stands at `location`."""
    current: type[BaseModel] | None = model
    for part in location:
        if isinstance(part, int) or current is None or part not in current.model_fields:
            continue
        current = _model_in(current.model_fields[part].annotation)
    return current


def _model_in(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    for argument in get_args(annotation):
        model = _model_in(argument)
        if model:
            return model
    return None


def _files_nearby(path: Path) -> str | None:
    if not path.parent.is_dir():
        return None
    names = sorted(entry.name for entry in path.parent.iterdir() if entry.suffix in (".yaml", ".yml"))
    return f"{path.parent} has: {', '.join(names)}" if names else None
