"""A build and its server, on this host or remote: what a run needs of either.

What only a server on this host has is in `local`, which is None for a remote server.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Protocol

from ibench_lib.configs.meaning import KnownOptions
from ibench_lib.servers.address import Address
from ibench_lib.servers.build import Build


class AnyBuild(Protocol):
    """What an experiment's label stands for: a build on this host, or a server that runs elsewhere."""

    @property
    def label(self) -> str:
        """What experiments call it."""

    @property
    def flavour(self) -> str:
        """The name of its flavour."""

    @property
    def version(self) -> str:
        """Its version, as the server prints it."""

    @property
    def release(self) -> tuple[int, ...]:
        """Its version as numbers."""

    @property
    def source(self) -> str:
        """Where it comes from: a source of builds, or `remote`."""

    @property
    def basedir(self) -> Path | str:
        """Where it is; for a remote server host:port."""

    @property
    def local(self) -> Build | None:
        """The build whose files are on this host; None for a remote server."""

    @property
    def transport(self) -> str | None:
        """The only transport to it, `tcp` or `tls`; None if a run may choose."""

    @property
    def names_to_hide(self) -> Mapping[str, str]:
        """Names that the files of a run must not contain, and their replacements."""

    def server(self, start: Callable[[Build], Server]) -> Server:
        """The context manager that a run's server lives in; `start` makes that of a build on this host."""


class LocalServer(Protocol):
    """What only a server on this host has."""

    @property
    def build(self) -> Build:
        """The build that it runs."""

    @property
    def directory(self) -> Path:
        """Its private directory, which is deleted when it closes."""

    @property
    def datadir(self) -> Path:
        """Its data directory."""

    @property
    def tmpdir(self) -> Path:
        """Its folder for temporary files."""

    @property
    def copy_s(self) -> float | None:
        """How long it took to copy the data directory at the start; None if it started with an empty one."""

    def pid(self) -> int | None:
        """Its process; None while there is none."""

    def stop(self, timeout_s: float) -> float:
        """Shut it down cleanly and keep its files, for `start_again`. Returns how many seconds it took.

        Raises
        ------
        RunFailed : it took longer, or did not shut down cleanly; then it is dead.
        """

    def start_again(self, origin: Path) -> Address:
        """After `stop`: start on a copy of a data directory, in the place of the one before. The address is a new one.

        Raises
        ------
        ServerStartError : the copy fails, or the server does not come up.
        """


class Server(Protocol):
    """Context manager that gives the address of a server that answers.

    `owned` are databases that were created for this run; they are dropped when it closes.
    """

    owned: list[str]

    @property
    def build(self) -> AnyBuild:
        """What runs."""

    @property
    def address(self) -> Address:
        """Where it is now. Only while it is open."""

    @property
    def local(self) -> LocalServer | None:
        """What only a server on this host has; None for a remote one."""

    def __enter__(self) -> Address: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def alive(self) -> bool:
        """Whether its process is alive, as far as this host can tell."""

    def ending(self) -> str | None:
        """How its process has ended, such as "was killed by SIGKILL"; None if it lives, or this host cannot tell."""

    def log_tail(self) -> str:
        """The last lines of its error log, for a message; empty if this host cannot read it."""

    def disk_is_full(self) -> bool:
        """Whether it failed because the disk of its data is full, as far as this host can tell."""

    def known_options(self) -> KnownOptions | None:
        """The options that it knows; None if its binary is not on this host."""
