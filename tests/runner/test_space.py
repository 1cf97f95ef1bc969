"""How much disk and memory a configuration asks for; whether there is room is in snapshot/test_use.py."""

import pytest

from ibench_lib.configs.resolve import Option, ServerConfig, resolve
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
    assert flavour.log_bytes(resolve(["cy10a"], rules, 1.0), release) == 128 << 30
    assert flavour.log_bytes(resolve(["cy10a", "a12"], rules, 1.0), release) == 32 << 30
    assert flavour.log_bytes(resolve(["cy10a"], rules, 0.01), release) == pytest.approx(1.28 * 2**30, rel=0.03)
    assert flavour.log_bytes(resolve(["p1"], rules, 1.0), release) == 0
    assert flavour.memory_bytes(resolve(["cy10a"], rules, 1.0)) == 80 << 30
    assert flavour.memory_bytes(resolve(["p1"], rules, 1.0)) == 0


@pytest.mark.parametrize(
    ("name", "release", "files"),
    [
        ("mysql", (5, 6, 24), 2),
        ("mysql", (5, 7, 44), 2),
        ("percona", (8, 0, 33), 2),
        ("mariadb", (10, 1, 23), 2),
        ("mariadb", (10, 4, 7), 2),
        ("mariadb", (10, 5, 0), 1),
        ("mariadb", (10, 11, 19), 1),
    ],
)
def test_the_size_of_a_redo_log_file_stands_for_as_many_as_the_server_makes(
    name: str, release: tuple[int, ...], files: int
) -> None:
    flavour = find(name)

    def of(*options: tuple[str, str]) -> int:
        return flavour.log_bytes(ServerConfig(tuple(Option(*one, "box.cnf:1") for one in options)), release)

    assert of(("innodb_log_file_size", "96M")) == files * 96 << 20
    assert (
        of(("innodb_log_file_size", "96M"), ("innodb_log_files_in_group", "4")) == (4 if files == 2 else 1) * 96 << 20
    )
    assert of(("innodb_log_files_in_group", "4")) == 0
