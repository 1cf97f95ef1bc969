"""The build hook compiles the cores of the drivers, and whatever keeps it from that is one line and no failure."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

import hatch_build
from hatch_build import COMPILED, SHARED, SOURCES, build, lacking
from tests.places import ROOT

pytestmark = pytest.mark.skipif(lacking() is not None, reason=str(lacking()))


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("IBENCH_CORE", raising=False)
    monkeypatch.delenv("CC", raising=False)
    for source in (SHARED, *SOURCES):
        (tmp_path / source).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / source, tmp_path / source)
    return tmp_path


def compiler(folder: Path, script: str) -> str:
    path = folder / "compiler"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return str(path)


def left(checkout: Path) -> set[Path]:
    return {path.relative_to(checkout) for source in SOURCES for path in (checkout / source).parent.glob("*.so*")}


@pytest.mark.slow
def test_it_is_built_next_to_its_source_without_a_warning(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        hatch_build, "FLAGS", (*hatch_build.FLAGS, "-Wall", "-Wextra", "-Wno-unused-parameter", "-Werror")
    )
    assert build(checkout) is None
    assert left(checkout) == set(COMPILED)


def test_nobody_who_wants_none_gets_one(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IBENCH_CORE", "0")
    assert build(checkout) == "IBENCH_CORE is 0"
    assert left(checkout) == set()


def test_what_keeps_it_from_being_built_is_one_line(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for command, why in [
        ("echo core.c: about to fail >&2; echo 'core.c:1: error: boom' >&2; exit 1", "failed: core.c:1: error: boom"),
        ("exit 1", f"{checkout}/compiler failed: it said nothing"),
        ("exit 0", "No such file or directory"),  # it has made nothing
        (None, "No closing quotation"),
    ]:
        monkeypatch.setenv("CC", "'" if command is None else compiler(checkout, command))
        found = build(checkout)
        assert found is not None and why in found and "\n" not in found, found
        assert left(checkout) == set(), why


def test_a_checkout_that_cannot_be_written_is_left_as_it_is(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", compiler(checkout, "echo 'collect2: error: ld returned 1 exit status' >&2; exit 1"))
    monkeypatch.setattr(hatch_build.os, "access", lambda _path, mode: mode != os.W_OK)  # root may write everywhere
    monkeypatch.setattr(hatch_build, "lacking", lambda: None)
    assert build(checkout) == f"{(checkout / COMPILED[0]).parent} cannot be written"
    assert left(checkout) == set()


def test_a_compiler_without_an_end_is_given_up(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hatch_build, "LONGEST_S", 0.1)
    monkeypatch.setenv("CC", compiler(checkout, "exec sleep 60"))
    assert build(checkout) == "the compiler did not end within 0.1 s"
    assert left(checkout) == set()


def test_what_is_missing_is_named(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hatch_build.sysconfig, "get_paths", lambda: {"include": str(checkout / "include")})
    assert build(checkout) == f"{checkout}/include has no Python.h: install python3-dev"
    monkeypatch.undo()
    monkeypatch.setenv("PATH", str(checkout))
    monkeypatch.setenv("CC", " ")
    monkeypatch.delenv("IBENCH_CORE", raising=False)
    assert build(checkout) == "no C compiler: install gcc"
    monkeypatch.undo()
    monkeypatch.delenv("IBENCH_CORE", raising=False)
    (checkout / SHARED).unlink()
    assert "No such file or directory" in str(build(checkout))
