"""What differs between the server families, behind one interface: one module per flavour, named like it.

Adding a flavour is adding a module `servers/<flavour>.py` with these functions.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Protocol, cast

from ibench_lib.servers.build import Build


class Flavour(Protocol):
    """The functions of a flavour module."""

    def initialise_command(self, build: Build, my_cnf: Path, datadir: Path, user: list[str]) -> list[str]:
        """Command line that creates an initialised data directory at `datadir`."""

    def start_options(self, build: Build) -> list[str]:
        """Options this flavour needs beside the common ones, to keep a sandbox private."""

    def set_root_password(self, build: Build, password: str, host: str | None) -> str:
        """SQL for the init file: root's password for the socket, and for TCP from `host` where that is given.

        One statement per line. No account without a password may be left.
        """

    def reset_binary_log(self, build: Build) -> str:
        """The statement that deletes all binary logs."""


def flavour_of(build: Build) -> Flavour:
    """The flavour module of a build."""
    return cast(Flavour, importlib.import_module(f"ibench_lib.servers.flavours.{build.flavour}"))
