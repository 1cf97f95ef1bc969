"""What a server build is: a basedir with a server binary in it, however it got there."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

_Server = TypeVar("_Server")


@dataclass(frozen=True)
class Build:
    """One server build.

    `flavour` is the name of a module in `flavours/`. `command` starts the server binary: normally one path; for a build
    that has its own libc, the dynamic loader and its arguments come first. `environment` is added to the server's
    environment (LD_LIBRARY_PATH for a build unpacked without root), `options` are server options that this build needs
    wherever it is started. `version` is the dotted version as the binary prints it, such as 10.11.19-MariaDB.
    `template` is an initialised data directory that came with the build.
    """

    label: str
    flavour: str
    version: str
    basedir: Path
    command: tuple[str, ...]
    source: str
    environment: dict[str, str] = field(default_factory=dict)
    options: tuple[str, ...] = ()
    template: Path | None = None

    @property
    def release(self) -> tuple[int, ...]:
        """(10, 11, 19) of 10.11.19-MariaDB."""
        return release_of(self.version)

    @property
    def local(self) -> Build:
        """Itself: it is on this host."""
        return self

    @property
    def transport(self) -> None:
        """A sandbox listens as a run wants it."""
        return None

    @property
    def names_to_hide(self) -> Mapping[str, str]:
        """None: it has no name outside of this host."""
        return {}

    def server(self, start: Callable[[Build], _Server]) -> _Server:
        """A server that `start` makes of it."""
        return start(self)


@dataclass(frozen=True)
class Offer:
    """A build that can be installed: `label` is what it will be called, `what` the server in a few words.

    `origin` is where it comes from.
    """

    label: str
    what: str
    origin: str


def release_of(version: str) -> tuple[int, ...]:
    """The numbers at the beginning of a version: (10, 11, 19) of 10.11.19-MariaDB, (16, 4) of 16.4."""
    match = re.match(r"\d+(?:\.\d+)*", version)
    return tuple(map(int, match[0].split("."))) if match else ()
