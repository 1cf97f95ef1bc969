"""Percona Server is a MySQL with a name of its own."""

from ibench_lib.servers.flavours.flavour import find, flavour_of
from tests.families.mysql.described import build


def test_it_reads_what_mysql_reads_and_prefers_configurations_of_its_own() -> None:
    percona, mysql = find("percona"), find("mysql")
    assert percona.families == ("percona", *mysql.families)
    theirs, ours = mysql.rules((8, 0, 33)), percona.rules((8, 0, 33))
    assert (ours.groups, ours.decided, ours.code) == (theirs.groups, theirs.decided, theirs.code)
    assert flavour_of(build("percona", "8.0.33-25")) is percona
