"""What a build says of itself."""

import pytest

from ibench_lib.servers.build import release_of
from tests.families.mysql.described import build


@pytest.mark.parametrize(
    ("version", "release"),
    [("10.11.19-MariaDB", (10, 11, 19)), ("8.0.33-25", (8, 0, 33)), ("16.4", (16, 4)), ("main", ())],
)
def test_a_release_is_the_numbers_that_a_version_begins_with(version: str, release: tuple[int, ...]) -> None:
    assert release_of(version) == release == build("mysql", version).release


def test_a_build_on_this_host_is_its_own_local_build_and_hides_no_name() -> None:
    here = build("mysql", "9.7.4")
    assert here.local is here and here.transport is None and here.names_to_hide == {}
