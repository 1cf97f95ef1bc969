"""How sysbench reaches MySQL and the servers that descend from it."""

from __future__ import annotations

from ibench_lib.client.external import CannotDrive, Target
from ibench_lib.workloads.sysbench.options import Options

DRIVER, NAME = "mysql", "MySQL"
"""Of sysbench's driver, and of the servers in messages."""

TAKES_ENGINE = "mysql-storage-engine"
"""The option by which a script that makes tables takes their engine; None if there are no engines."""


def why_not(options: Options) -> str | None:
    """Why the options of an experiment do not apply to such servers; None if they do."""
    return None


def connection(target: Target) -> tuple[dict[str, object], dict[str, str | None]]:
    """The options and the environment with which sysbench reaches a server. Raises CannotDrive."""
    if target.certificate is not None:
        # Of sysbench 1.0, TLS takes a certificate of the client and its key, in the current folder.
        raise CannotDrive("the server is reached by TLS, which sysbench 1.0 cannot do with a CA's certificate alone")
    where: dict[str, object] = (
        {"mysql-socket": target.socket} if target.socket else {"mysql-host": target.host, "mysql-port": target.port}
    )
    who = {"mysql-user": target.user, "mysql-password": target.password, "mysql-db": target.database}
    return {**who, **where}, {}
