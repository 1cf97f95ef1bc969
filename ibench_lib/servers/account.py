"""Whose processes a server's are that refuses to run as root, when ibench itself does."""

from __future__ import annotations

import os
import pwd
import stat
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from ibench_lib.errors import HostUnfit

VARIABLE = "IBENCH_SERVER_USER"
"""The environment variable that names the account."""

_USUAL = "nobody"


@dataclass(frozen=True)
class Account:
    """A user of this machine without privileges."""

    name: str
    user: int
    group: int

    @property
    def numbers(self) -> tuple[int, int]:
        """User and group, for `tethered`."""
        return self.user, self.group

    def require_entry(self, folder: Path) -> None:
        """Refuse a folder that the account cannot reach, because one above it is closed.

        Raises
        ------
        HostUnfit : with the folder above it.
        """
        for above in reversed(folder.resolve().parents):
            try:
                facts = above.stat()
            except FileNotFoundError:
                return  # we are going to make it
            bit = stat.S_IXUSR if facts.st_uid == self.user else stat.S_IXGRP if facts.st_gid == self.group else None
            if not facts.st_mode & (bit or stat.S_IXOTH):
                raise HostUnfit(
                    f"the server refuses to run as root, and user {self.name} cannot enter {above}, in which its files"
                    f" would be",
                    hint=f"chmod o+x {above}, put the project elsewhere, or name another user in {VARIABLE}",
                )

    def own(self, paths: Iterable[Path]) -> None:
        """Give files and folders, and what is in them, to the account."""
        for path in paths:
            os.chown(path, *self.numbers, follow_symlinks=False)
            for folder, folders, files in os.walk(path):
                for name in (*folders, *files):
                    os.chown(os.path.join(folder, name), *self.numbers, follow_symlinks=False)


def unprivileged() -> Account:
    """The account that IBENCH_SERVER_USER names, else nobody's.

    Raises
    ------
    HostUnfit : there is no such user, or it is root.
    """
    name = os.environ.get(VARIABLE) or _USUAL
    try:
        entry = pwd.getpwnam(name)
    except KeyError:
        raise HostUnfit(
            f"the server refuses to run as root, and there is no user {name:.80}",
            hint=f"create one without privileges, and name it in {VARIABLE}; or run ibench as a user other than root",
        ) from None
    if entry.pw_uid == 0:
        raise HostUnfit(
            f"{VARIABLE} names {name:.80}, which is root, and the server refuses to run as root",
            hint="name a user without privileges",
        )
    return Account(name, entry.pw_uid, entry.pw_gid)
