"""The order of releases."""

from __future__ import annotations

import pytest

from ibench_lib.ask.releases import is_next, release_of, release_text


@pytest.mark.parametrize(
    ("version", "release"),
    [
        ("10.11.19-MariaDB-0+deb12u1", (10, 11, 19)),
        ("8.0.33-25", (8, 0, 33)),
        ("9.7.4-2", (9, 7, 4)),
        ("9.7", (9, 7, 0)),
        ("5.6.24", (5, 6, 24)),
        ("trunk", None),
        ("8", None),
        ("v8.0.1", None),
        ("", None),
        (None, None),
        ("9" * 5000 + ".1.1", None),
        ("8.0." + "9" * 5000, None),
    ],
)
def test_a_version_has_a_place_or_none(version: str | None, release: tuple[int, int, int] | None) -> None:
    assert release_of(version) == release


def test_releases_are_ordered_by_number_and_not_by_letter() -> None:
    versions = ["10.2.11", "5.6.24", "10.11.5", "8.0.9", "10.1.23", "8.0.10"]
    known = sorted(filter(None, map(release_of, versions)))
    assert list(map(release_text, known)) == ["5.6.24", "8.0.9", "8.0.10", "10.1.23", "10.2.11", "10.11.5"]


def test_only_the_next_patch_is_the_next_release() -> None:
    assert is_next((8, 0, 29), (8, 0, 30))
    assert not is_next((8, 0, 28), (8, 0, 30)) and not is_next((5, 7, 44), (8, 0, 45))
