"""What each dbms is compared with, one base for all or one for each build, and in which steps."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import polars as pl

PREVIOUS = "previous"
"""As a base: each dbms is compared with the one before it."""


@dataclass(frozen=True)
class Bases:
    """The bases of a comparison.

    A configuration is compared with the base of its own build if there is one, else with the first base. A base is
    compared with the first base, so that builds are compared where they have the same configuration. In a chain each
    dbms is compared with the one before it.

    Attributes
    ----------
    names : dbms that others are compared with; empty where there is no run.
    builds : dbms -> its build; needed only with several bases.
    chain : all dbms in order if each is compared with the one before it; else empty.
    """

    names: tuple[str, ...] = ()
    builds: Mapping[str, str] = field(default_factory=dict)
    chain: tuple[str, ...] = ()

    @property
    def first(self) -> str:
        """The base of the bases; empty where there is no run."""
        return self.names[0] if self.names else ""

    @property
    def by_build(self) -> bool:
        """Whether builds have bases of their own."""
        return len(self.names) > 1

    def of(self, dbms: str) -> str:
        """What a dbms is compared with; the first base with itself."""
        if dbms in self.chain:
            return self.chain[max(0, self.chain.index(dbms) - 1)]
        if dbms not in self.names:
            build = self.builds.get(dbms)
            for name in self.names:
                if build is not None and self.builds.get(name) == build:
                    return name
        return self.first

    def groups(self, names: Iterable[str]) -> dict[str, list[str]]:
        """Base -> which of these dbms are compared with it, but not with themselves; the first base is first."""
        groups: dict[str, list[str]] = {}
        for name in names:
            base = self.of(name)
            groups.setdefault(base, [])
            if name != base:
                groups[base].append(name)
        first = {self.first: groups.pop(self.first)} if self.first in groups else {}
        return first | {base: others for base, others in groups.items() if others}

    def ordered(self, names: Sequence[str]) -> list[str]:
        """These dbms build by build, each base before those that are compared with it; as they are with one base."""
        if not self.by_build:
            return list(names)
        ordered: list[str] = []
        for base in self.names:
            ordered += [name for name in names if name == base]
            ordered += [name for name in names if name not in self.names and self.of(name) == base]
        return ordered

    @property
    def said(self) -> str:
        """What a figure is relative to, in notes on all of them."""
        return str(self) if self.chain else "the base"

    def __str__(self) -> str:
        return "the one before it" if self.chain else "the base of the same build" if self.by_build else self.first


def bases(base: str | Bases) -> Bases:
    """Bases as they are, or the one named as the base of all."""
    return base if isinstance(base, Bases) else Bases((base,) if base else ())


def chosen_bases(cells: Sequence[tuple[str, str, str]], base: str = "") -> Bases | None:
    """The bases of (dbms, build, configuration) of a comparison, in its order.

    Parameters
    ----------
    base : a dbms for all; or a configuration, then each build's dbms with it; or `previous`: the dbms before; or empty:
        the first dbms for all, unless there are several builds and one of them has several configurations. Then each
        build has a base: its dbms with the configuration of the first dbms, or else the build's first.

    Returns
    -------
    None if there is no such dbms and no such configuration.
    """
    builds = {dbms: build for dbms, build, _ in cells}
    if base in builds:
        return Bases((base,), builds)
    if base == PREVIOUS and base not in {config for _, _, config in cells}:
        return Bases(tuple(builds)[:1], builds, tuple(builds))
    if base:
        by_build: dict[str, str] = {}
        for dbms, build, config in cells:
            if config == base:
                by_build.setdefault(build, dbms)
        return Bases(tuple(by_build.values()), builds) if by_build else None
    if not cells:
        return Bases()
    first, _, config = cells[0]
    if len(set(builds.values())) < 2 or len(set(builds.values())) == len(builds):
        return Bases((first,), builds)
    of_build: dict[str, str] = {}
    for dbms, build, of_cell in cells:
        if build not in of_build or (of_cell == config and not _has(cells, of_build[build], config)):
            of_build[build] = dbms
    return Bases(tuple(of_build.values()), builds)


def _has(cells: Sequence[tuple[str, str, str]], dbms: str, config: str) -> bool:
    return any(name == dbms and of_cell == config for name, _, of_cell in cells)


def no_results(frame: pl.DataFrame) -> set[str]:
    """The steps of one setup whose throughput is no result, such as a warm-up; none where the frame does not tell."""
    if "compared" not in frame.columns:
        return set()
    return set(frame.filter(~pl.col("compared").fill_null(True))["step"])
