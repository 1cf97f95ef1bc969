"""How sysbench reaches PostgreSQL: by libpq, which reads environment variables as well."""

from __future__ import annotations

import os
import pwd
import re
from pathlib import Path

from ibench_lib.client.external import CannotDrive, Target
from ibench_lib.workloads.sysbench.options import Options

DRIVER, NAME = "pgsql", "PostgreSQL"
TAKES_ENGINE = None

_SOCKET = re.compile(r"\.s\.PGSQL\.(\d+)")


def why_not(options: Options) -> str | None:
    """Why the options of an experiment do not apply to such servers; None if they do."""
    if "engine" in options.model_fields_set:
        return f"engine: {options.engine}: PostgreSQL has no storage engines: leave it out"
    return None


def connection(target: Target) -> tuple[dict[str, object], dict[str, str | None]]:
    """The options and the environment with which sysbench reaches a server. Raises CannotDrive.

    The environment says whether to use TLS, because libpq would otherwise take what the server offers. What the user's
    environment has for libpq is left out: a service or an address there could name another server, and options there
    could change the session.
    """
    host, port = (target.host, target.port) if target.socket is None else _folder_and_port(Path(target.socket))
    options: dict[str, object] = {
        "pgsql-host": host,
        "pgsql-port": port,
        "pgsql-user": target.user,
        "pgsql-password": target.password,
        "pgsql-db": target.database,
    }
    environment: dict[str, str | None] = {name: None for name in os.environ if name.startswith("PG")}
    environment |= {"PGSSLMODE": "disable", "SYSBENCH_TEST_CHAR": "VARCHAR"}
    if target.certificate is not None:
        environment |= {"PGSSLMODE": "verify-full", "PGSSLROOTCERT": target.certificate}
    if target.listener_user is not None:
        environment["PGREQUIREPEER"] = _name_of(target.listener_user)
    return options, environment


def _name_of(user: int) -> str:
    """The name of a user of this machine, by which libpq knows whom a socket's server has to belong to."""
    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:
        raise CannotDrive(
            f"user {user}, whose the server is, has no name, which libpq needs to know the server by"
        ) from None


def _folder_and_port(socket: Path) -> tuple[str, int]:
    """Where libpq looks for a socket: it knows a folder, and takes the name from the port."""
    name = socket.readlink().name if socket.is_symlink() else socket.name
    if (found := _SOCKET.fullmatch(name)) is None:
        raise CannotDrive(f"the socket {name} is none that libpq can find: its name has to be .s.PGSQL.PORT")
    return str(socket.parent), int(found[1])
