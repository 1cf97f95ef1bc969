"""The account of a server that refuses to run as root: one clear line where there is none, or it cannot get in."""

import os
from pathlib import Path

import pytest

from ibench_lib.errors import HostUnfit
from ibench_lib.servers.account import VARIABLE, Account, unprivileged


def test_the_account_is_nobodys_unless_another_one_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    assert unprivileged().name == "nobody" and unprivileged().user != 0
    monkeypatch.setenv(VARIABLE, "no-such-user")
    with pytest.raises(HostUnfit, match="there is no user no-such-user"):
        unprivileged()
    monkeypatch.setenv(VARIABLE, "root")
    with pytest.raises(HostUnfit, match="which is root"):
        unprivileged()


def test_a_closed_folder_above_its_files_is_named(open_path: Path) -> None:
    closed = open_path / "closed"
    (closed / "inner").mkdir(parents=True)
    closed.chmod(0o700)
    stranger = Account("stranger", 4_000_001, 4_000_001)
    with pytest.raises(HostUnfit, match=f"user stranger cannot enter {closed}, in which") as raised:
        stranger.require_entry(closed / "inner" / "datadir")
    assert f"chmod o+x {closed}" in str(raised.value.hint)
    owner = closed.stat()
    Account("owner", owner.st_uid, owner.st_gid).require_entry(closed / "inner")
    closed.chmod(0o711)
    stranger.require_entry(closed / "inner" / "datadir")
    stranger.require_entry(closed / "inner" / "not yet" / "made" / "datadir")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_files_are_given_with_what_is_in_them(tmp_path: Path) -> None:
    (tmp_path / "datadir" / "base").mkdir(parents=True)
    (tmp_path / "datadir" / "base" / "1").write_text("")
    (tmp_path / "datadir" / "link").symlink_to("/etc/hostname")
    Account("stranger", 4_000_001, 4_000_002).own([tmp_path / "datadir"])
    found = {path.lstat().st_uid for path in [tmp_path / "datadir", *(tmp_path / "datadir").rglob("*")]}
    assert found == {4_000_001}
    assert Path("/etc/hostname").stat().st_uid == 0, "what a link leads to is not its"
