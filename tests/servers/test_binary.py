"""What the file of a server binary tells of how it was built."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibench_lib.paths import Workspace
from ibench_lib.servers.binary import TELLS_NOTHING, BinaryFacts, facts_of, facts_of_build, unknown_facts
from ibench_lib.servers.build import Build
from tests.command import ibench
from tests.servers.elf import elf

NOTHING = BinaryFacts()


def told(path: Path, content: bytes) -> BinaryFacts:
    path.write_bytes(content)
    return facts_of(path)


@pytest.mark.parametrize("wide", [True, False])
@pytest.mark.parametrize("little", [True, False])
def test_a_binary_of_any_width_and_byte_order_tells_its_facts(tmp_path: Path, wide: bool, little: bool) -> None:
    comment = b"GCC: (GNU) 4.8.5 20150623\0GCC: (GNU) 4.8.2\0GCC: (GNU) 4.8.5 20150623\0"
    needed = ("libz.so.1", "libjemalloc.so.2", "libssl.so.1.1", "libc.so.6")
    content = elf(comment=comment, needed=needed, wide=wide, little=little)
    assert told(tmp_path / "mysqld", content) == BinaryFacts(
        "GCC: (GNU) 4.8.5 20150623; GCC: (GNU) 4.8.2", "00ff10", False, "libjemalloc.so.2", "libssl.so.1.1"
    )


def test_what_a_binary_does_not_have_is_unknown(tmp_path: Path) -> None:
    bare = elf(comment=b"", build_id=b"", needed=(), symbols=False)
    found = told(tmp_path / "mysqld", bare)
    assert found == BinaryFacts(stripped=True)
    assert unknown_facts(found) == {"binary.compiler": TELLS_NOTHING, "binary.build_id": TELLS_NOTHING}
    assert unknown_facts(BinaryFacts("GCC", "00", False)) == {}
    assert unknown_facts(None) == {"binary": "the server's binary is not on this host"}


def test_a_file_that_is_no_elf_file_tells_nothing(tmp_path: Path) -> None:
    for content in (b"", b"\x7fEL", b"#!/bin/sh\necho x\n", b"\x7fELF" + bytes(60)):
        assert told(tmp_path / "mysqld", content) == NOTHING
    assert facts_of(tmp_path / "nowhere") == facts_of(tmp_path) == NOTHING


def test_text_in_a_binary_is_one_line_and_not_long(tmp_path: Path) -> None:
    hostile = elf(comment=b"\x1b[31mGCC\n\xff" + 5000 * b"x" + b"\0")
    compiler = told(tmp_path / "mysqld", hostile).compiler
    assert compiler is not None and compiler.startswith("[31mGCC xxx") and len(compiler) == 200


@given(data=st.data())
def test_a_damaged_binary_makes_no_traceback(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    content = bytearray(elf(needed=("libjemalloc.so.2", "libssl.so.3"), wide=data.draw(st.booleans())))
    for _ in range(data.draw(st.integers(1, 8))):
        at = data.draw(st.integers(0, len(content) - 1))
        content[at : at + 1] = data.draw(st.binary(min_size=1, max_size=8))
    cut = data.draw(st.integers(0, len(content)))
    path = tmp_path_factory.getbasetemp() / "damaged"
    for damaged in (bytes(content), bytes(content[:cut])):
        found = told(path, damaged)
        for text in (found.compiler, found.build_id, found.allocator, found.tls_library):
            assert text is None or (text.isprintable() and len(text) <= 8 * 202)


def test_the_server_of_this_machine_tells_what_it_is(build: Build) -> None:
    found = facts_of_build(build)
    assert found is not None and found.stripped is not None
    assert found.build_id is None or len(bytes.fromhex(found.build_id)) >= 8
    damaged = replace(build, command=(str(build.basedir / "no-such-binary"),))
    assert facts_of_build(damaged) == NOTHING


def test_the_facts_of_a_build_are_printed(workspace: Workspace, build: Build) -> None:
    result = ibench(workspace, "servers", "facts", "system")
    assert result.returncode == 0, result.stderr
    facts = facts_of_build(build)
    assert facts is not None and (facts.build_id or TELLS_NOTHING) in result.stdout
    assert "version_compile_os" in result.stdout and "version_comment" in result.stdout
    assert f"system: {build.flavour} {build.version}" in result.stdout
