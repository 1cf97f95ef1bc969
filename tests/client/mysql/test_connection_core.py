"""The driver of MySQL's family says how it runs here."""

from ibench_lib.client.driver import core_of
from ibench_lib.client.mysql.connection_core import CORE, core_state
from ibench_lib.families.mysql.family import MySQLFamily


def test_the_driver_is_asked_for_its_own_core() -> None:
    assert core_of(MySQLFamily.driver) == core_state() == CORE.state()
    assert CORE.found().module in (None, CORE.used().module) or CORE.used().why == "IBENCH_CORE is 0"
