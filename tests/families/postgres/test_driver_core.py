"""The driver of PostgreSQL says how it runs here."""

from ibench_lib.client.driver import core_of
from ibench_lib.client.mysql import connection_core
from ibench_lib.families.postgres.driver_core import CORE, core_state
from ibench_lib.families.postgres.flavours.postgres import FLAVOUR


def test_the_driver_is_asked_for_its_own_core() -> None:
    assert core_of(FLAVOUR.driver) == core_state() == CORE.state()
    sources = CORE.found().source, connection_core.CORE.found().source
    assert None in sources or sources[0] != sources[1]
