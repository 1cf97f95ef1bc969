"""Percona Server: initialised, started, configured and queried like the MySQL that it is based on."""

from __future__ import annotations

from ibench_lib.families.mysql.flavours.mysql import MySQL
from ibench_lib.servers.flavours.flavour import Flavour


class Percona(MySQL):
    """Uses MySQL's configurations unless it has its own."""

    name = "percona"
    families = ("percona", "mysql")
    mark: str | None = "percona"


FLAVOUR: Flavour = Percona()
