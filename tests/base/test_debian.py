"""What apt is asked, of an apt that only notes it."""

import inspect
from pathlib import Path

import pytest

from ibench_lib.base import debian


class Apt:
    """Programs of apt that note what they are asked and answer a text."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.answer("")

    def answer(self, text: str) -> None:
        (self._folder / "answer").write_text(text)
        for name in ("apt-get", "apt-cache", "dpkg-deb"):
            program = self._folder / name
            program.write_text(f'#!/bin/sh\necho "{name} $*" >> {self._folder}/asked\ncat {self._folder}/answer\n')
            program.chmod(0o755)

    def asked(self) -> list[str]:
        noted = self._folder / "asked"
        return noted.read_text().splitlines() if noted.is_file() else []


@pytest.fixture
def apt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Apt:
    path = f"{tmp_path}:/usr/bin:/bin"
    monkeypatch.setattr(debian, "_PATH", path)
    monkeypatch.setattr(debian, "_ENV", ["/usr/bin/env", f"PATH={path}"])
    for name in ("candidate_version", "_debian_archive"):  # tests of servers let each be asked once
        monkeypatch.setattr(debian, name, inspect.unwrap(getattr(debian, name)))
    return Apt(tmp_path)


def test_the_archive_of_debian_is_known_without_reading_all_packages(apt: Apt) -> None:
    """Where apt keeps no cache, as in a container, it takes a second to read them."""
    apt.answer(
        "'http://security.debian.org/debian-security/dists/bookworm-security/InRelease' security_InRelease 0 \n"
        "'https://deb.nodesource.com/node_20.x/dists/nodistro/InRelease' node_InRelease 0 \n"
        "'http://deb.debian.org/debian/dists/bookworm/InRelease' deb.debian.org_InRelease 0 \n"
        "'http://deb.debian.org/debian/dists/bookworm/main/binary-amd64/Packages.xz' deb.debian.org_Packages 0 \n"
    )
    assert debian.has_debian_archive()
    assert debian._debian_archive() == "http://deb.debian.org/debian"
    assert set(apt.asked()) == {"apt-get update --print-uris"}


@pytest.mark.parametrize("said", ["", "'http://x/ubuntu/dists/noble/InRelease' x 0 \n", "E: Unable to parse\n"])
def test_other_sources_of_apt_have_no_archive_of_debian(apt: Apt, said: str) -> None:
    apt.answer(said)
    assert not debian.has_debian_archive()
