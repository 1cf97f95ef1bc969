"""How much disk and memory a configuration asks for; whether there is room is in snapshot/test_use.py."""

import pytest

from ibench_lib.configs.resolve import resolve
from ibench_lib.servers.flavours.flavour import find


@pytest.mark.parametrize(
    ("name", "release"),
    [
        ("mysql", (5, 6, 24)),
        ("mysql", (5, 7, 40)),
        ("mysql", (8, 0, 33)),
        ("percona", (8, 0, 33)),
        ("mariadb", (10, 1, 23)),
        ("mariadb", (10, 4, 7)),
        ("mariadb", (10, 11, 19)),
    ],
)
def test_all_bases_ask_for_the_redo_log_and_buffer_pool_of_the_report(name: str, release: tuple[int, ...]) -> None:
    flavour = find(name)
    rules = flavour.rules(release)
    assert flavour.log_bytes(resolve(["cy10a"], rules, 1.0)) == 128 << 30
    assert flavour.log_bytes(resolve(["cy10a", "a12"], rules, 1.0)) == 32 << 30
    assert flavour.log_bytes(resolve(["cy10a"], rules, 0.01)) == pytest.approx(1.28 * 2**30, rel=0.03)
    assert flavour.log_bytes(resolve(["p1"], rules, 1.0)) == 0
    assert flavour.memory_bytes(resolve(["cy10a"], rules, 1.0)) == 80 << 30
    assert flavour.memory_bytes(resolve(["p1"], rules, 1.0)) == 0
