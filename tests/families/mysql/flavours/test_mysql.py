"""How MySQL makes a data directory, by release."""

from pathlib import Path

import pytest

from ibench_lib.errors import ServerStartError
from ibench_lib.servers.flavours.flavour import flavour_of
from tests.families.mysql.described import build


@pytest.mark.parametrize(("flavour", "version"), [("mysql", "5.7.44"), ("mysql", "9.7.4"), ("percona", "8.0.33-25")])
def test_mysql_initialises_itself_with_the_builds_own_options(flavour: str, version: str) -> None:
    found = build(flavour, version)
    command = flavour_of(found).initialise_command(found, Path("/x/my.cnf"), Path("/x/datadir"), ["--user=root"])
    assert command[:3] == ["/opt/db/bin/mysqld", "--defaults-file=/x/my.cnf", "--initialize-insecure"]
    assert {"--datadir=/x/datadir", "--basedir=/opt/db", "--secure-file-priv=", "--user=root"} <= set(command)


def test_older_mysql_has_a_script_and_says_when_it_is_missing(tmp_path: Path) -> None:
    found = build("mysql", "5.6.51", tmp_path)
    with pytest.raises(ServerStartError, match="no mysql_install_db in"):
        flavour_of(found).initialise_command(found, tmp_path / "my.cnf", tmp_path / "d", [])
    script = tmp_path / "scripts" / "mysql_install_db"
    script.parent.mkdir()
    script.touch()
    assert flavour_of(found).initialise_command(found, tmp_path / "my.cnf", tmp_path / "d", [])[0] == str(script)
