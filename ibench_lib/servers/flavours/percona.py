"""Percona Server: initialised, started, configured and asked like the MySQL that it is made from."""

from __future__ import annotations

from ibench_lib.servers.flavours.flavour import Flavour
from ibench_lib.servers.flavours.mysql import MySQL


class Percona(MySQL):
    """Takes MySQL's configurations where it has none of its own."""

    name = "percona"
    families = ("percona", "mysql")
    mark: str | None = "percona"


FLAVOUR: Flavour = Percona()
