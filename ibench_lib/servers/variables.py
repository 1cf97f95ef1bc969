"""The options that a build knows, and whether it accepts an option file. Its flavour knows how to ask."""

from __future__ import annotations

from collections.abc import Sequence

from ibench_lib.configs.meaning import KnownOptions
from ibench_lib.servers.build import Build
from ibench_lib.servers.flavours.flavour import flavour_of


def known_options(build: Build, plugins: Sequence[str] = ()) -> KnownOptions:
    """The options of a build with these plugins loaded. No data directory is touched. Raises ServerStartError."""
    return flavour_of(build).known_options(build, plugins)


def refusal(build: Build, text: str, plugins: Sequence[str] = ()) -> str | None:
    """The server's own message if it refuses an option file; None if it accepts it. No data directory is touched."""
    return flavour_of(build).refusal(build, text, plugins)
