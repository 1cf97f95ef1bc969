"""Names of functions as people know them, and the part of the server that a stack belongs to.

perf gives a function with its arguments, and one that the compiler has split or specialised under several names. Here
all of these are one name, so that two builds can be compared. `symbols.toml` has the names that differ between
versions, and the subsystems.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import translate
from functools import cache
from pathlib import Path

UNKNOWN = "[unknown]"
"""What perf calls a function without a name; its library may follow, in brackets."""

ENGINE = "storage engine, and functions without a name"
"""The subsystems of the engine together, where so many functions have no name that they cannot be told apart."""

KERNEL, OTHER, NO_NAME = "kernel", "other", "unknown"
"""Subsystems that no pattern gives: the kernel; functions that fit no pattern; and functions without a name."""

_RULES = Path(__file__).with_suffix(".toml")

# Where a stack enters the kernel; what is further in has names of its own, which may look like the server's.
_KERNEL_ENTRY = re.compile(r"entry_SYSCALL\w*|do_syscall_64|x64_sys_call|asm_\w+|ret_from_fork\w*|el0\w*")

_WILD = re.compile(r"[*?\[]")
_CLONE = re.compile(r"(?:\.(?:isra|part|constprop|cold|lto_priv|llvm|localalias|clone|warm|hot|str)(?:\.?\d+)*)+$")
_VERSION = re.compile(r"@@?[A-Za-z_][\w.]*$")
_ABI = re.compile(r"\[abi:\w+\]")
_CLONE_OF = re.compile(r" \[clone [^]]*\]")
_OPERATOR = re.compile(r"\boperator\s*(?:\(\)|\[\]|<<=|>>=|<=>|->\*|<<|>>|<=|>=|->|<|>|,)")
_QUALIFIER = re.compile(r" (?:const|volatile)(?=$|::| &)| ?&&?$")
_THUNK = re.compile(r"^(?:(?:non-)?virtual thunk to |covariant return thunk to )")
_SPACED = re.compile(r"\(anonymous namespace\)|\{(?:unnamed|default)[^{}]*\}|\boperator (?=[A-Za-z_])")
_PAIRS = {"(": ")", "<": ">", "{": "}"}


@cache
def short_name(symbol: str) -> str:
    """The name of a function: no arguments, return type, version of the library or suffix of the compiler.

    Template arguments are `<>`. A name that another version has for the same function is that of `symbols.toml`.
    `rec_get_offsets_func(unsigned char const*, dict_index_t const*) [clone .part.12]` is `rec_get_offsets_func`.
    """
    name = _cut(symbol)
    for pattern, other in _rules().aliases:
        if match := pattern.fullmatch(name):
            return match.expand(other)
    return name


@dataclass(frozen=True)
class Stack:
    """A folded stack: the name of the thread, and names of functions, the outermost first."""

    thread: str
    functions: tuple[str, ...]

    @property
    def leaf(self) -> str:
        """The innermost function; `UNKNOWN` where perf saw none."""
        return self.functions[-1] if self.functions else UNKNOWN

    @property
    def subsystem(self) -> str:
        """The part of the server that the sample belongs to."""
        return _subsystem(self.functions)


@cache
def stack_of(folded: str) -> Stack:
    """The stack that a row of `profile_stacks` has as text. A function that called itself directly is there once."""
    thread, *symbols = folded.split(";")
    functions: list[str] = []
    for symbol in symbols:
        name = short_name(symbol)
        if not functions or functions[-1] != name:
            functions.append(name)
    return Stack(thread, tuple(functions))


def is_unknown(function: str) -> bool:
    """Whether perf had no name for it."""
    return function.startswith(UNKNOWN)


@cache
def subsystem_of(function: str) -> str | None:
    """The subsystem of a function by its own name; None if no pattern fits."""
    if is_unknown(function):
        return NO_NAME
    return next((name for name, globs in _rules().subsystems if globs.fit(function)), None)


def coarse(subsystem: str) -> str:
    """The subsystem as it can be told where many functions have no name."""
    return ENGINE if subsystem == NO_NAME or subsystem in _rules().of_engine else subsystem


def subsystems() -> list[str]:
    """All subsystems, in the order of their rules."""
    return [*(name for name, _ in _rules().subsystems), KERNEL, OTHER, NO_NAME]


@cache
def _subsystem(functions: tuple[str, ...]) -> str:
    if not functions:
        return NO_NAME
    if any(map(_is_kernel_entry, functions)):
        return KERNEL
    return next(filter(None, map(subsystem_of, reversed(functions))), OTHER)


@cache
def _is_kernel_entry(function: str) -> bool:
    return _KERNEL_ENTRY.fullmatch(function) is not None


def _cut(symbol: str) -> str:
    name = _CLONE.sub("", _VERSION.sub("", symbol.strip()))
    if name.startswith(("[", "0x")):
        return name
    name = _THUNK.sub("", _CLONE_OF.sub("", _ABI.sub("", name)))
    # Tokens with a bracket or a space that is part of the name stand aside while brackets are cut.
    kept: list[str] = []

    def aside(found: re.Match[str]) -> str:
        kept.append(re.sub(r"\boperator\s+(?=\W)", "operator", found[0]))
        return f"\0{len(kept) - 1}\0"

    name = _SPACED.sub(aside, _OPERATOR.sub(aside, name))
    name = _without_brackets(name)
    name = _QUALIFIER.sub("", _QUALIFIER.sub("", name))
    # A conversion is named by its type, which may have spaces.
    conversion = next((i for i, text in enumerate(kept) if text == "operator "), None)
    before = name.find(f"\0{conversion}\0") if conversion is not None else len(name)
    name = name[name.rfind(" ", 0, before) + 1 :] if " " in name[:before] else name
    for number, text in enumerate(kept):
        name = name.replace(f"\0{number}\0", text)
    return name or symbol


def _without_brackets(name: str) -> str:
    """Without arguments; of templates and lambdas the brackets stay: `<>`, `{lambda#2}`."""
    kept: list[str] = []
    place = 0
    while place < len(name):
        bracket = name[place]
        if bracket not in _PAIRS:
            kept.append(bracket)
            place += 1
            continue
        end = _end_of(name, place)
        if bracket == "<":
            while kept and kept[-1] == " ":  # operator<< <int>
                kept.pop()
            kept.append("<>")
        elif bracket == "{":
            kept.append("{" + _without_brackets(name[place + 1 : end - 1]) + "}")
        place = end
    return "".join(kept)


def _end_of(name: str, place: int) -> int:
    """The place after the bracket that closes the one at `place`; the end of the name if nothing does."""
    open_: list[str] = []
    for at in range(place, len(name)):
        letter = name[at]
        if letter in _PAIRS:
            open_.append(_PAIRS[letter])
        elif open_ and letter == open_[-1] and not (letter == ">" and name[at - 1] == "-"):
            open_.pop()
            if not open_:
                return at + 1
    return len(name)


@dataclass(frozen=True)
class _Globs:
    """Globs in groups: most are a name or the beginning of one, and to compile a thousand of them takes long."""

    names: frozenset[str]
    beginnings: tuple[str, ...]
    others: re.Pattern[str]

    def fit(self, name: str) -> bool:
        """Whether one of them matches the name of a function."""
        return name in self.names or name.startswith(self.beginnings) or self.others.fullmatch(name) is not None


@dataclass(frozen=True)
class _Rules:
    subsystems: tuple[tuple[str, _Globs], ...]
    of_engine: frozenset[str]
    aliases: tuple[tuple[re.Pattern[str], str], ...]


def _globs(patterns: Sequence[str]) -> _Globs:
    plain = {pattern for pattern in patterns if not _WILD.search(pattern.removesuffix("*"))}
    # An empty group fits nothing but the empty name, which no function has.
    others = "|".join(translate(pattern) for pattern in patterns if pattern not in plain)
    return _Globs(
        frozenset(pattern for pattern in plain if not pattern.endswith("*")),
        tuple(sorted(pattern[:-1] for pattern in plain if pattern.endswith("*"))),
        re.compile(others),
    )


@cache
def _rules() -> _Rules:
    file = tomllib.loads(_RULES.read_text(encoding="utf-8"))
    return _Rules(
        tuple((one["name"], _globs(one["functions"])) for one in file["subsystems"]),
        frozenset(one["name"] for one in file["subsystems"] if one.get("engine")),
        tuple((re.compile(one["pattern"]), one["name"]) for one in file["aliases"]),
    )
