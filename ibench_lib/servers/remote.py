"""A server that somebody else runs: host, port, user, and where the password is to be found. No lifecycle.

The password itself is never stored: a description names an environment variable or an option file of the user's.
"""

from __future__ import annotations

import configparser
import contextlib
import json
import os
import ssl
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Literal

from ibench_lib.base.mask import SERVER, USER
from ibench_lib.client.driver import ConnectionLost, StatementError, connect
from ibench_lib.configs.meaning import KnownOptions
from ibench_lib.errors import RunFailed, ServerStartError, UsageError
from ibench_lib.paths import Workspace, check_name
from ibench_lib.servers import registry
from ibench_lib.servers.address import Address
from ibench_lib.servers.build import Build, release_of
from ibench_lib.servers.flavours.flavour import Flavour, every, flavour_of, recognise
from ibench_lib.servers.server import Server

SOURCE = "remote"
_KEY = "remote"
_CONNECT_TIMEOUT_S = 10


@dataclass(frozen=True)
class Access:
    """How to reach a remote server. Exactly one of `password_variable` and `option_file` says where the password is.

    `certificate` is a CA file, by which TLS is spoken; without it the connection is in the clear. `family` is the
    server's: it decides how it is spoken to.
    """

    host: str
    port: int
    user: str
    password_variable: str | None = None
    option_file: str | None = None
    certificate: str | None = None
    family: str = "mysql"

    def address(self) -> Address:
        """With the password, read now.

        Raises
        ------
        UsageError : there is none where it should be.
        """
        return Address(None, self.user, self._password(), self.port, self.certificate, self.host)

    def _password(self) -> str:
        if self.password_variable is not None:
            password = os.environ.get(self.password_variable)
            if password is None:
                raise UsageError(
                    f"the environment variable {self.password_variable}, which should hold the password for "
                    f"{self.user}@{self.host}, is not set",
                    hint=f"export {self.password_variable}=... in the shell that runs ibench",
                )
            return password
        file = Path(str(self.option_file)).expanduser()
        parser = configparser.RawConfigParser(allow_no_value=True, strict=False, inline_comment_prefixes=None)
        try:
            parser.read_string(file.read_text(encoding="utf-8"), source=str(file))
            return parser.get("client", "password").strip("'\"")
        except (OSError, UnicodeDecodeError, configparser.Error) as error:
            raise UsageError(
                f"{file} has no password for {self.user}@{self.host}: {error.__class__.__name__}",
                hint="add a group [client] with a line password=...",
            ) from error


@dataclass(frozen=True)
class Remote:
    """A remote server under a label, as it answered. `flavour` and `version` mean what they mean of a `Build`."""

    label: str
    flavour: str
    version: str
    access: Access
    source: Literal["remote"] = "remote"

    @property
    def basedir(self) -> str:
        """Where it is, for people: host:port."""
        return f"{self.access.host}:{self.access.port}"

    @property
    def release(self) -> tuple[int, ...]:
        """(10, 11, 19) of 10.11.19-MariaDB."""
        return release_of(self.version)

    @property
    def local(self) -> None:
        """Its files are on another host."""
        return None

    @property
    def transport(self) -> str:
        """TLS where there is a CA to trust, else TCP in the clear."""
        return "tls" if self.access.certificate else "tcp"

    @property
    def names_to_hide(self) -> Mapping[str, str]:
        """Its host and our user there."""
        return {self.access.host: SERVER, self.access.user: USER}

    def server(self, start: Callable[[Build], Server]) -> Server:
        """The server that is running already."""
        return RemoteServer(self)


class RemoteServer:
    """The `Server` that somebody else runs.

    Databases in `owned` are dropped when it closes. One that could not be dropped stays in `owned`.
    """

    def __init__(self, remote: Remote) -> None:
        self.build = remote
        self.owned: list[str] = []

    @property
    def address(self) -> Address:
        """With the password, read now."""
        return self.build.access.address()

    @property
    def local(self) -> None:
        """Nothing of it is on this host."""
        return None

    def __enter__(self) -> Address:
        return self.address

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        flavour = flavour_of(self.build)
        for database in tuple(self.owned):
            with (
                contextlib.suppress(StatementError, ConnectionLost),
                contextlib.closing(connect(flavour.driver, self.address.arguments(), None, 60.0)) as connection,
            ):
                connection.query(flavour.drop_database.format(name=check_name(database, "database")))
                self.owned.remove(database)

    def alive(self) -> bool:
        """We have no process to look at; a lost connection says when it is gone."""
        return True

    def ending(self) -> str | None:
        """We have no process to look at."""
        return None

    def log_tail(self) -> str:
        """Its error log is not ours to read."""
        return ""

    def disk_is_full(self) -> bool:
        """Its disk is not ours to look at."""
        return False

    def known_options(self) -> KnownOptions | None:
        """Its binary is not ours to ask."""
        return None


def register(label: str, access: Access, workspace: Workspace) -> Remote:
    """Give a remote server a label.

    Raises
    ------
    BuildNotFound : the label is taken.
    ServerStartError, UsageError : it does not answer, or refuses us.
    """
    registry.require_free(label, workspace)
    remote = _ask(label, access)
    with registry.arriving(workspace) as root:
        (root / registry.DESCRIPTION).write_text(json.dumps({_KEY: asdict(access)}, indent=1) + "\n", encoding="utf-8")
        os.rename(root, workspace.build_dir(label))
    return remote


def load(label: str, workspace: Workspace) -> Remote | None:
    """The remote server of that label; None where the label is a build's.

    Raises
    ------
    ServerStartError, UsageError : it does not answer, or refuses us.
    """
    try:
        described = json.loads((workspace.build_dir(label) / registry.DESCRIPTION).read_text(encoding="utf-8"))
        access = Access(**described[_KEY])
    except (OSError, ValueError, KeyError, TypeError):
        return None  # whatever else it is, the registry says
    return _ask(label, access)


def _ask(label: str, access: Access) -> Remote:
    _check_ca(label, access)
    try:
        greeting = flavour_of_family(access.family).greeting(access.address().arguments(), _CONNECT_TIMEOUT_S)
    except RunFailed as error:
        hint = "check the host, port and user, and where the password is stored"
        if access.certificate and "SSL" in error.what:
            hint = f"check the server's certificate, and that --tls-ca, {access.certificate}, is the CA that signed it"
        raise ServerStartError(
            f"build {label}: {access.user}@{access.host}:{access.port} refuses the connection: {error.what}", hint=hint
        ) from error
    recognised = recognise(greeting)
    if recognised is None:
        raise ServerStartError(f"build {label}: no known server has version {greeting!r:.80}")
    return Remote(label, *recognised, access)


def flavour_of_family(family: str) -> Flavour:
    """One of the flavours of a family, which all speak alike. Raises UsageError if there is none."""
    flavours = every()
    for flavour in flavours:
        if flavour.family == family:
            return flavour
    known = ", ".join(sorted({flavour.family for flavour in flavours}))
    raise UsageError(f"there is no family of servers {family!r:.80}", hint=f"there is {known}")


def _check_ca(label: str, access: Access) -> None:
    """Raises UsageError for a CA file from which no certificate can be read."""
    try:
        ssl.create_default_context(cafile=access.certificate)
    except OSError as error:
        reason = error.strerror if not isinstance(error, ssl.SSLError) else "it has no certificate in PEM format"
        raise UsageError(f"build {label}: the CA file {access.certificate}: {reason}", hint="see --tls-ca") from error
