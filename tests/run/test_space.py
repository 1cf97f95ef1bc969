"""How much disk and memory a configuration asks for; whether there is room is in snapshot/test_use.py."""

import pytest

from ibench_lib.configs.resolve import resolve
from ibench_lib.run.space import redo_bytes


@pytest.mark.parametrize(
    ("flavour", "release"),
    [
        ("mysql", (5, 6, 24)),
        ("mysql", (5, 7, 40)),
        ("mysql", (8, 0, 33)),
        ("percona", (8, 0, 33)),
        ("mariadb", (10, 1, 23)),
        ("mariadb", (10, 11, 19)),
    ],
)
def test_all_bases_ask_for_the_redo_log_of_the_report(flavour: str, release: tuple[int, int, int]) -> None:
    assert redo_bytes(resolve(["cy10a"], flavour, release, 1.0)) == 128 << 30
    assert redo_bytes(resolve(["cy10a", "a12"], flavour, release, 1.0)) == 32 << 30
    assert redo_bytes(resolve(["cy10a"], flavour, release, 0.01)) == pytest.approx(1.28 * 2**30, rel=0.03)
    assert redo_bytes(resolve(["p1"], flavour, release, 1.0)) == 0
