"""The parts of the load are divided without gap or overlap, and take the statements that are announced."""

from collections import Counter

from ibench_lib.workloads.tpcc.parts import Part, parts_of, statements_of
from ibench_lib.workloads.tpcc.population import inserts


def test_parts_are_divided_without_gap_or_overlap() -> None:
    whole = list(parts_of(2, 3, 0, 1))
    assert len(whole) == 2 * 10 + 2 * 3 * 10 == len(set(whole))
    for loaders in (2, 3, 7):
        shares = [list(parts_of(2, 3, loader, loaders)) for loader in range(loaders)]
        assert Counter(part for share in shares for part in share) == Counter(whole)
        assert max(map(len, shares)) - min(map(len, shares)) <= 2


def test_the_statements_of_a_loader_are_those_of_its_parts() -> None:
    sizes = {part: len(list(inserts(1, 2, part))) for part in (Part(1, 0, 1), Part(1, 1, 1), Part(1, 1, 2))}
    items, first, other = sizes.values()
    for loaders in (1, 2, 3, 7):
        for loader in range(loaders):
            expected = sum(
                items if part.warehouse == 0 else first if part.district == 1 else other
                for part in parts_of(2, 3, loader, loaders)
            )
            assert statements_of(2, 3, loader, loaders) == expected, (loader, loaders)
