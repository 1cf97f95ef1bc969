"""A binary says what it is, and a flavour recognises its words."""

from collections.abc import Callable
from pathlib import Path

import pytest

from ibench_lib.errors import ServerStartError
from ibench_lib.servers.flavours.flavour import recognise
from ibench_lib.servers.identify import identify


@pytest.mark.parametrize(
    ("words", "flavour", "version"),
    [
        ("Ver 8.0.36 for Linux on x86_64 (MySQL Community Server - GPL)", "mysql", "8.0.36"),
        ("Ver 9.7.4-2 for Linux on x86_64 ((Debian))", "mysql", "9.7.4-2"),
        ("Ver 8.0.33-25 for Linux on x86_64 (Percona Server (GPL), Release 25)", "percona", "8.0.33-25"),
        ("Ver 10.11.19-MariaDB-0+deb12u1 for debian-linux-gnu", "mariadb", "10.11.19-MariaDB-0+deb12u1"),
    ],
)
def test_each_server_is_known_by_its_words(words: str, flavour: str, version: str) -> None:
    assert recognise(words) == (flavour, version)


def test_words_of_no_server_are_nobodys() -> None:
    assert recognise("GNU bash, version 5.2") is None


def test_the_folder_that_a_binary_lies_in_says_nothing(fake_server: Callable[..., Path], tmp_path: Path) -> None:
    binary = fake_server(tmp_path / "mariadb" / "percona" / "mysqld")
    found = identify("b", tmp_path, (str(binary),), source="test")
    assert (found.flavour, found.version, found.release) == ("mysql", "8.0.36", (8, 0, 36))


def test_a_program_that_is_no_server_is_refused_with_its_words(tmp_path: Path) -> None:
    program = tmp_path / "mysqld"
    program.write_text("#!/bin/sh\necho I am a teapot\n")
    program.chmod(0o755)
    with pytest.raises(ServerStartError, match="prints no server version") as caught:
        identify("b", tmp_path, (str(program),), source="test")
    assert caught.value.detail == "I am a teapot"
    with pytest.raises(ServerStartError, match="cannot be executed"):
        identify("b", tmp_path, (str(tmp_path / "nowhere"),), source="test")
