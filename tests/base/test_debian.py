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
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(debian, "_CANDIDATES", {})
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


POLICY = """mariadb-server-core:
  Installed: (none)
  Candidate: 1:10.11.19-0+deb12u1
  Version table:
     1:10.11.19-0+deb12u1 500
        500 http://deb.debian.org/debian bookworm/main amd64 Packages
mariadb-plugin:
  Installed: (none)
  Candidate: (none)
  Version table:
postgresql-15:
  Installed: 15.18-0+deb12u1
  Candidate: 15.20-0+deb12u1
  Version table:
"""
NAMES = ("mariadb-server-core", "mariadb-plugin", "postgresql-[1-9][0-9]")


def _versions() -> list[str | None]:
    return [debian.candidate_version(name) for name in (*NAMES[:2], "postgresql-15", "postgresql-17")]


def test_apt_is_asked_once_for_all_candidates(apt: Apt) -> None:
    apt.answer(POLICY)
    debian.ask_for_candidates(NAMES)
    assert _versions() == ["10.11.19", None, "15.20", None]
    debian.ask_for_candidates(NAMES[:1])
    assert apt.asked() == [f"apt-cache policy {' '.join(sorted(NAMES))}"]
    assert debian.candidate_version("other") is None
    assert len(apt.asked()) == 2, "nobody has asked for that one before"


def test_what_apt_said_counts_until_its_lists_or_packages_change(
    apt: Apt, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lists = tmp_path / "lists"
    lists.mkdir()
    monkeypatch.setattr(debian, "_OF_APT", (str(lists),))
    apt.answer(POLICY)

    def in_another_process() -> list[str | None]:
        monkeypatch.setattr(debian, "_CANDIDATES", {})
        debian.ask_for_candidates(NAMES)
        return _versions()

    assert in_another_process() == in_another_process() == ["10.11.19", None, "15.20", None]
    assert len(apt.asked()) == 1
    (lists / "Packages").write_text("new")
    assert in_another_process() and len(apt.asked()) == 2
    (tmp_path / "apt-cache").write_text((tmp_path / "apt-cache").read_text() + "exit 1\n")
    assert in_another_process() and in_another_process() and len(apt.asked()) == 4, "a failure is not kept"
