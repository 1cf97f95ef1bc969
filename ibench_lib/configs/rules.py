"""How a server flavour reads option files. Flavours provide these values; this folder knows no server."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from ibench_lib.configs.syntax import MY_CNF, Syntax

_NOTHING = re.compile(r"(?!)")
# A path at the beginning of a value or of one of its parts, that is absolute, a home folder, or leads upwards.
_OUTSIDE = re.compile(r"(?:^|[;:,=])\s*(?:/|~|\.\.(?:/|$))|/\.\.(?:/|$)")


@dataclass(frozen=True)
class Scaled:
    """An option that shrinks with an experiment's scale, down to `least`.

    `multiples` are pairs (from, step): a scaled value of at least `from` is rounded to a multiple of `step`; the last
    pair that applies counts. `count` names the option that says how many files of this size there are: where `least`
    would make too much of all of them, there are fewer files, at least `fewest`.
    """

    least: int
    multiples: tuple[tuple[int, int], ...] = ()
    count: str | None = None
    fewest: int = 2


@dataclass(frozen=True)
class Rules:
    """How one release of a flavour reads its option file, and what a configuration may say in it.

    Parameters
    ----------
    flavour, release : the server that the rules are for, such as `mysql` and (8, 0, 36).
    families : flavours whose fragments it uses, most specific first.
    group : the group that fragments write their options in, and that the rendered file has.
    groups : all groups of a complete option file that the server reads.
    decided : options that a sandbox sets; they are left out of a complete file.
    code : options that run or load code, or let anybody in; they are refused everywhere.
    prefixes : prefixes that a server removes from an option's name: skip_x sets x.
    accumulating : options of which every occurrence counts, not only the last.
    scaled : options that shrink with an experiment's scale.
    replaced : options for the same thing whose names are not alike, to be named where a server lacks one of them.
    syntax : how it writes its option files.
    """

    flavour: str
    release: tuple[int, ...]
    families: tuple[str, ...]
    group: str
    groups: frozenset[str]
    decided: frozenset[str] = frozenset()
    code: frozenset[str] = frozenset()
    prefixes: tuple[str, ...] = ()
    accumulating: re.Pattern[str] = _NOTHING
    scaled: Mapping[str, Scaled] = field(default_factory=dict)
    replaced: Mapping[str, str] = field(default_factory=dict)
    syntax: Syntax = MY_CNF

    @property
    def server(self) -> str:
        """Flavour and release, for messages: `mysql 8.0.36`."""
        return f"{self.flavour} {'.'.join(map(str, self.release))}"

    def outside(self, value: str | None) -> bool:
        """Whether a value names a place outside of the directory that a server begins relative paths with."""
        return value is not None and _OUTSIDE.search(value) is not None

    def bare(self, name: str) -> str:
        """The option that a name sets: `plugin_load` of `skip_plugin_load`."""
        for prefix in self.prefixes:
            rest = name.removeprefix(prefix)
            if rest != name and (rest in self.decided or rest in self.code):
                return rest
        return name
