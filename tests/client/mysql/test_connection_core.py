"""Which core a process uses, by what is there and by its environment, and what it costs to ask."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from typing import Any

import pytest

from hatch_build import lacking
from ibench_lib.client.driver import core_of
from ibench_lib.client.mysql import connection_core
from ibench_lib.client.mysql.compiled import wire_of
from ibench_lib.client.mysql.connection_core import CHOICE, Core, CoreMissing, core, core_state
from ibench_lib.families.mysql.family import MySQLFamily
from tests.client.mysql.conftest import NEEDS_CORE
from tests.waiting import PATIENCE_S


def run(program: str, **environment: str) -> str:
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_the_environment_chooses(monkeypatch: pytest.MonkeyPatch) -> None:
    name = "from ibench_lib.client.mysql.connection_core import core_state; print(core_state().name)"
    assert run(name, **{CHOICE: "0"}) == "Python"
    here = connection_core.found()
    assert run(name) == ("Python" if here.source is None else f"compiled {here.source[:12]}")
    monkeypatch.delenv(CHOICE, raising=False)
    monkeypatch.setattr(connection_core, "found", lambda: Core(None, None, "not built"))
    core.cache_clear()
    try:
        assert core_state() == ("Python", "not built")
        core.cache_clear()
        monkeypatch.setenv(CHOICE, "1")
        assert core_state().name == "missing"
        ours, theirs = socket.socketpair()
        with ours, theirs, pytest.raises(CoreMissing, match=r"IBENCH_CORE is 1, but .* cannot be used: not built"):
            wire_of(ours, deprecate_eof=False, timeout_s=PATIENCE_S)
    finally:
        core.cache_clear()


@pytest.mark.skipif(
    lacking() is not None or os.environ.get(CHOICE) == "0", reason="it cannot be built, or is not wanted"
)
def test_this_environment_has_the_core_so_that_none_of_these_tests_is_left_out() -> None:
    assert connection_core.found().why == "compiled", "`make env` builds it"


def test_a_core_that_is_missing_or_does_not_load_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    for error, why in [
        (ModuleNotFoundError("No module named '_core'"), "not built"),
        (ImportError("undefined symbol: PyIter_Send"), "it does not load: undefined symbol: PyIter_Send"),
    ]:

        def fail(_name: str, error: Exception = error) -> Any:
            raise error

        monkeypatch.setattr(connection_core.importlib, "import_module", fail)
        assert connection_core.found() == Core(None, None, why)


@NEEDS_CORE
def test_a_core_of_another_source_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(core().module, "SOURCE", "0" * 64)
    assert connection_core.found() == Core(None, None, "built from another core.c")


def test_to_ask_for_it_imports_nothing_that_its_use_needs() -> None:
    """`ibench doctor` names the core; numpy and PyMySQL take it longer than all else that it does."""
    assert core_of(MySQLFamily.driver) == core_state()
    program = f"import sys; from ibench_lib.client.driver import core_of; core_of({MySQLFamily.driver!r})"
    loaded = set(run(f"{program}; print(*sys.modules)").split())
    assert "ibench_lib.client.mysql.connection_core" in loaded
    assert not {"numpy", "pymysql", MySQLFamily.driver} & loaded
