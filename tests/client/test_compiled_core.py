"""Which core a process uses, by what is there and by its environment, and what it costs to ask."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hatch_build import SOURCES, lacking
from ibench_lib.client import compiled_core
from ibench_lib.client.compiled_core import CHOICE, CompiledCore, Core, CoreMissing
from ibench_lib.client.driver import core_of
from ibench_lib.client.mysql import connection_core
from ibench_lib.client.mysql.compiled import wire_of
from ibench_lib.families.mysql.family import MySQLFamily
from ibench_lib.families.postgres import driver_core
from ibench_lib.servers.flavours.flavour import every
from tests.places import ROOT
from tests.waiting import PATIENCE_S

CORES = pytest.mark.parametrize("of_driver", [connection_core, driver_core], ids=["mysql", "postgres"])
_ASKED = "from {0} import core_state; print(core_state().name)"


def run(program: str, **environment: str) -> str:
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@CORES
def test_the_environment_chooses(of_driver: Any) -> None:
    program = _ASKED.format(of_driver.__name__)
    assert run(program, **{CHOICE: "0"}) == "Python"
    here = of_driver.CORE.found()
    assert run(program) == ("Python" if here.source is None else f"compiled {here.source[:12]}")


def test_one_that_must_be_there_and_is_not_makes_no_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    core = CompiledCore("nowhere", Path("nowhere"))
    monkeypatch.delenv(CHOICE, raising=False)
    assert core.state() == ("Python", "not built")
    monkeypatch.setenv(CHOICE, "1")
    assert core.state() == ("Python", "not built"), "it is found out once"
    core.forget()
    assert core.state().name == "missing"
    monkeypatch.setattr("ibench_lib.client.mysql.compiled.CORE", core)
    ours, theirs = socket.socketpair()
    with ours, theirs, pytest.raises(CoreMissing, match=r"IBENCH_CORE is 1, but .* cannot be used: not built"):
        wire_of(ours, deprecate_eof=False, timeout_s=PATIENCE_S)


@pytest.mark.skipif(
    lacking() is not None or os.environ.get(CHOICE) == "0", reason="it cannot be built, or is not wanted"
)
@CORES
def test_this_environment_has_the_cores_so_that_none_of_these_tests_is_left_out(of_driver: Any) -> None:
    assert of_driver.CORE.found().why == "compiled", "`make env` builds it"


def test_each_source_is_built_and_found_by_its_driver() -> None:
    """The hook cannot ask the library which drivers have a core."""
    found = {path.relative_to(ROOT) for path in (ROOT / "ibench_lib").rglob("core.c")}
    assert found == set(SOURCES)
    for source in found:
        assert len(list((ROOT / source).parent.glob("*_core.py"))) == 1


def test_a_core_that_is_missing_or_does_not_load_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    for error, why in [
        (ModuleNotFoundError("No module named '_core'"), "not built"),
        (ImportError("undefined symbol: PyIter_Send"), "it does not load: undefined symbol: PyIter_Send"),
    ]:

        def fail(_name: str, error: Exception = error) -> Any:
            raise error

        monkeypatch.setattr(compiled_core.importlib, "import_module", fail)
        assert connection_core.CORE.found() == Core(None, None, why)


@CORES
def test_a_core_of_another_source_is_not_used(of_driver: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    module = of_driver.CORE.used().module
    if module is None:
        pytest.skip("no compiled core")
    monkeypatch.setattr(module, "SOURCE", "0" * 64)
    assert of_driver.CORE.found() == Core(None, None, "built from another core.c or exchange.h")


def test_to_ask_for_it_imports_nothing_that_its_use_needs() -> None:
    """`ibench doctor` names the cores; numpy and PyMySQL take it longer than all else that it does."""
    assert core_of(MySQLFamily.driver) == connection_core.core_state()
    drivers = sorted({flavour.driver for flavour in every()})
    asked = "; ".join(f"core_of({driver!r})" for driver in drivers)
    loaded = set(run(f"import sys; from ibench_lib.client.driver import core_of; {asked}; print(*sys.modules)").split())
    assert {connection_core.__name__, driver_core.__name__} <= loaded
    assert not {"numpy", "pymysql", *drivers} & loaded
