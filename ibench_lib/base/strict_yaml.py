"""YAML without surprises, checked against a pydantic model, every problem reported with file:line.

YAML 1.2 rules (NO is a name, 12:30 a string); duplicate keys and tags are refused, and whole numbers with a leading
zero, because readers disagree about them. `load` raises the caller's error class with all problems at once.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails
from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from ibench_lib.base.wording import count
from ibench_lib.errors import UsageError

Model = TypeVar("Model", bound=BaseModel)
Location = tuple[str | int, ...]

_AMBIGUOUS_NUMBER = re.compile(r"[-+]?0\d+")
_PLAIN_TAGS = {f"tag:yaml.org,2002:{kind}" for kind in ("str", "int", "float", "bool", "null", "seq", "map")}


def load(path: Path, model: type[Model], error: type[UsageError]) -> tuple[Model, str]:
    """Read `path` and validate it. Returns the model and the file's text.

    Raises
    ------
    error : the file is missing, no YAML, or does not fit the model. `detail` has one line per problem.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise error(f"{path}: no such file", hint=_files_nearby(path)) from None
    except (OSError, UnicodeDecodeError) as cause:
        raise error(f"{path}: cannot be read: {cause}") from cause
    try:
        root = YAML(typ="rt").compose(text)
    except MarkedYAMLError as cause:
        line = cause.problem_mark.line + 1 if cause.problem_mark else 1
        raise error(f"{path}:{line}: not valid YAML: {cause.problem}") from cause
    except YAMLError as cause:
        raise error(f"{path}: not valid YAML: {cause}") from cause
    if not isinstance(root, MappingNode):
        raise error(f"{path}:1: expected a mapping of keys to values")
    problems = [f"{path}:{line}: {problem}" for line, problem in _refused(root)]
    if not problems:
        try:
            return model.model_validate(YAML(typ="safe", pure=True).load(text)), text
        except ValidationError as cause:
            problems = [
                f"{path}:{_locate(root, item['loc'])[0]}: {_sentence(model, root, item)}"
                for item in cause.errors(include_url=False)
            ]
    first, *rest = problems
    if rest:
        raise error(f"{path}: {count(len(problems), 'problem')}", detail="\n".join(problems))
    raise error(first)


def _refused(node: Node) -> Iterator[tuple[int, str]]:
    """(line, problem) of everything that YAML allows and we do not."""
    line = node.start_mark.line + 1
    if str(node.tag) not in _PLAIN_TAGS:
        yield line, f"tag {node.tag} is not allowed"
    if isinstance(node, ScalarNode) and node.style is None and _AMBIGUOUS_NUMBER.fullmatch(node.value):
        yield line, f"{node.value} is ambiguous: put it in quotes, or remove the leading zero"
    elif isinstance(node, SequenceNode):
        for child in node.value:
            yield from _refused(child)
    elif isinstance(node, MappingNode):
        seen: dict[str, int] = {}
        for key, value in node.value:
            at = key.start_mark.line + 1
            if key.value in seen:
                yield at, f"key {key.value!r} is given twice (first in line {seen[key.value]})"
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


def suggestion(name: str, known: list[str]) -> str:
    """`; did you mean 'x'?` for the nearest known name, else `; known are ...`."""
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.6)
    if near:
        return f"; did you mean {near[0]!r}?"
    return f"; known are {', '.join(known)}" if known else ""


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
        found = _model_in(argument)
        if found:
            return found
    return None


def _files_nearby(path: Path) -> str | None:
    if not path.parent.is_dir():
        return None
    names = sorted(entry.name for entry in path.parent.iterdir() if entry.suffix in (".yaml", ".yml"))
    return f"{path.parent} has: {', '.join(names)}" if names else None
