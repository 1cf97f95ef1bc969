"""The tests of the wire run over Python's wire and over the compiled one."""

import pytest

from ibench_lib.client.mysql.compiled import CompiledWire
from ibench_lib.client.mysql.connection_core import CORE

NEEDS_CORE = pytest.mark.skipif(CORE.used().module is None, reason=f"no compiled core: {CORE.used().why}")


@pytest.fixture(params=["python", pytest.param("compiled", marks=NEEDS_CORE)])
def wire(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Which wire the name `Wire` of a test's module is."""
    if request.param == "compiled":
        monkeypatch.setattr(request.module, "Wire", CompiledWire)
    return str(request.param)
