"""How to reach a server."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

LOOPBACK = "127.0.0.1"


@dataclass(frozen=True)
class Listener:
    """The process that listens on a server's socket, and its user's number."""

    process: int
    user: int


@dataclass(frozen=True)
class Address:
    """By socket; by TCP where `port` is set; by TLS where `certificate`, a file with the CA's, is as well.

    `listener` is set for a server that cannot prove its identity: a client has to ask the kernel, before it sends
    anything, whether this process listens on the socket. Never printed, never stored: it holds the password.
    """

    socket: str | None
    user: str
    password: str
    port: int | None = None
    certificate: str | None = None
    host: str = LOOPBACK
    listener: Listener | None = None

    def __repr__(self) -> str:
        where = f"socket={self.socket!r}" if self.port is None else f"host={self.host!r}, port={self.port}"
        return f"Address({where}, user={self.user!r}, password=***)"

    def arguments(self) -> dict[str, Any]:
        """Keyword arguments for `pymysql.connect`: by TCP where there is a port.

        `listener` is for drivers of servers that have one.
        """
        who = {"user": self.user, "password": self.password}
        if self.port is not None:
            tls = {"ssl": {"ca": self.certificate}} if self.certificate else {"ssl_disabled": True}
            return {"host": self.host, "port": self.port, **tls, **who}
        # PyMySQL would prefer TLS here as well, and read the certificates of the system for each connection.
        proof = {} if self.listener is None else {"listener": asdict(self.listener)}
        return {"unix_socket": self.socket, "ssl_disabled": True, **who, **proof}
