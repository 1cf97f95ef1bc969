"""The cache folder of the user, and who else could write there."""

import os
from pathlib import Path

import pytest

from ibench_lib.base import user_cache


@pytest.fixture(autouse=True)
def _place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


def test_it_is_made_for_this_user_only(tmp_path: Path) -> None:
    place = user_cache.folder("apt")
    assert place == tmp_path / "ibench" / "apt"
    assert place.is_dir() and place.stat().st_mode & 0o777 == 0o700
    assert user_cache.folder("apt") == place


def test_a_relative_path_is_no_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "here")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert user_cache.folder("apt") == tmp_path / ".cache" / "ibench" / "apt"


def test_a_folder_that_others_may_write_to_is_none(tmp_path: Path) -> None:
    (tmp_path / "ibench" / "apt").mkdir(parents=True)
    (tmp_path / "ibench" / "apt").chmod(0o777)
    assert user_cache.folder("apt") is None


def test_a_file_or_a_link_in_its_place_is_none(tmp_path: Path) -> None:
    (tmp_path / "ibench").mkdir()
    (tmp_path / "ibench" / "apt").write_text("")
    os.symlink(tmp_path, tmp_path / "ibench" / "printed")
    assert user_cache.folder("apt") is None
    assert user_cache.folder("printed") is None


def test_the_files_that_were_not_used_for_longest_go(tmp_path: Path) -> None:
    place = tmp_path / "ibench"
    place.mkdir()
    for age, name in enumerate(("newest", "newer", "older", "oldest")):
        user_cache.write(place / name, b"12345")
        os.utime(place / name, (1_000_000 - age, 1_000_000 - age))
    user_cache.forget_oldest(place, 3)
    assert sorted(path.name for path in place.iterdir()) == ["newer", "newest", "older"]
    user_cache.forget_oldest(place, 3, 14)
    assert sorted(path.name for path in place.iterdir()) == ["newer", "newest"]
    user_cache.write(place / "newer", b"1")
    assert (place / "newer").read_bytes() == b"1" and len(list(place.iterdir())) == 2
