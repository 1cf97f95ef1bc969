"""The order of releases."""

from __future__ import annotations

from datetime import date

import pytest

from ibench_lib.analysis.releases import ReleaseDate, _dates, dated, is_next, line_text, release_of, release_text


@pytest.mark.parametrize(
    ("version", "release"),
    [
        ("10.11.19-MariaDB-0+deb12u1", (10, 11, 19)),
        ("8.0.33-25", (8, 0, 33)),
        ("9.7.4-2", (9, 7, 4)),
        ("9.7", (9, 7, 0)),
        ("5.6.24", (5, 6, 24)),
        ("15.20", (15, 20)),
        ("18.4 (Debian 18.4-1)", (18, 4)),
        ("9.6.24", (9, 6, 24)),
        ("trunk", None),
        ("8", None),
        ("v8.0.1", None),
        ("", None),
        (None, None),
        ("9" * 5000 + ".1.1", None),
        ("8.0." + "9" * 5000, None),
    ],
)
def test_a_version_has_a_place_or_none(version: str | None, release: tuple[int, ...] | None) -> None:
    assert release_of(version) == release


def test_releases_are_ordered_by_number_and_not_by_letter() -> None:
    versions = ["10.2.11", "5.6.24", "10.11.5", "8.0.9", "10.1.23", "8.0.10"]
    known = sorted(filter(None, map(release_of, versions)))
    assert list(map(release_text, known)) == ["5.6.24", "8.0.9", "8.0.10", "10.1.23", "10.2.11", "10.11.5"]


def test_only_the_next_patch_is_the_next_release() -> None:
    assert is_next((8, 0, 29), (8, 0, 30))
    assert not is_next((8, 0, 28), (8, 0, 30)) and not is_next((5, 7, 44), (8, 0, 45))
    assert is_next((15, 19), (15, 20)) and not is_next((15, 20), (16, 21)) and not is_next((15, 20), (15, 20, 1))


def test_a_release_is_of_a_release_line_and_has_a_date_or_none() -> None:
    assert line_text((10, 11, 19)) == "10.11" and line_text((15, 20)) == "15"
    assert dated("mysql", (8, 0, 34)) == ReleaseDate(date(2023, 7, 18), tagged=False)
    assert dated("mariadb", (10, 11, 5)) == ReleaseDate(date(2023, 8, 14), tagged=False)
    assert dated("percona", (8, 0, 33)) == ReleaseDate(date(2023, 6, 15), tagged=False)
    tagged = dated("mysql", (5, 6, 24))
    assert tagged is not None and tagged.text == "2015-03-25 (tagged)"
    assert dated("mysql", (8, 0, 99)) is dated("oracle", (8, 0, 34)) is None


def test_a_younger_release_of_an_older_line_is_younger() -> None:
    older, younger = dated("mysql", (8, 0, 34)), dated("mysql", (5, 7, 44))
    assert older is not None and younger is not None and older.day < younger.day


def test_dates_rise_within_each_release_line() -> None:
    by_line: dict[tuple[str, str], list[tuple[int, date]]] = {}
    for (flavour, release), found in _dates().items():
        by_line.setdefault((flavour, line_text(release)), []).append((release[2], found.day))
    assert {("mysql", "8.0"), ("mysql", "9.7"), ("mariadb", "11.4"), ("percona", "5.7")} <= by_line.keys()
    for line, releases in by_line.items():
        days = [day for _, day in sorted(releases)]
        assert days == sorted(days), line
    assert {flavour for flavour, _ in by_line} == {"mysql", "mariadb", "percona"}
