from collections import Counter

import pytest

from ibench_lib.workloads.linkbench.population import (
    ROWS,
    Graph,
    Part,
    inserts,
    loaders,
    parts_of,
    rows_by_table,
    sizes,
)
from ibench_lib.workloads.linkbench.tables import COUNT, LINK, NODE

GRAPH = Graph(3000, "scaled")


def statements(processes: int) -> list[bytes]:
    return [
        made.text
        for loader in range(processes)
        for part in parts_of(GRAPH, loader, processes)
        for made in inserts(7, GRAPH, part)
    ]


def test_rows_do_not_depend_on_the_number_of_loaders() -> None:
    one = statements(1)
    assert statements(2) == one == statements(5)


def test_each_part_has_the_statements_and_rows_that_it_tells() -> None:
    found = Counter[str]()
    for part in parts_of(GRAPH, 0, 1):
        made = list(inserts(7, GRAPH, part))
        assert len(made) == part.statements and sum(insert.rows for insert in made) == part.rows
        assert all(0 < insert.rows <= ROWS for insert in made)
        for insert in made:
            found[insert.table] += insert.rows
    assert found == rows_by_table(GRAPH) and found[NODE] == 3000 and found[LINK] > found[COUNT] > 0


@pytest.mark.parametrize("nodes", [1, 1024, 2048, 2049])
def test_small_graphs_have_no_empty_statement(nodes: int) -> None:
    """The original's load broke on multiples of its chunks, with an empty batch."""
    graph = Graph(nodes, "scaled")
    made = [insert for part in parts_of(graph, 0, 1) for insert in inserts(1, graph, part)]
    assert all(insert.rows for insert in made)
    assert sum(insert.rows for insert in made if insert.table == NODE) == nodes


def test_a_large_node_is_shared_by_several_loaders() -> None:
    graph = Graph(100_000, "original")
    (links, _), shares = sizes(graph), []
    for loader in range(4):
        parts = list(parts_of(graph, loader, 4))
        shares.append(sum(part.rows for part in parts))
    assert max(shares) - min(shares) < 150_000 and sum(shares) == sum(rows_by_table(graph).values())
    assert max(part.last - part.first for part in parts_of(graph, 0, 1)) <= 50_176 < links.max()


def test_links_are_unique_and_begin_at_their_node() -> None:
    (part,) = parts_of(Graph(500, "scaled"), 0, 1)
    assert part == Part(0, 0, part.last, 500, part.counts)
    links = [
        tuple(map(int, row.split(",")[:3]))
        for insert in inserts(1, Graph(500, "scaled"), part)
        if insert.table == LINK
        for row in insert.text.decode().partition("VALUES (")[2].split("),(")
    ]
    assert len(set(links)) == len(links) == part.last
    first = Counter((id1, kind) for id1, _, kind in links)
    for id1, id2, kind in links:
        assert id1 <= id2 < id1 + first[id1, kind]


def test_no_loader_is_without_a_part() -> None:
    assert [loaders(Graph(nodes, "scaled"), 8) for nodes in (500, 2049, 100_000)] == [1, 2, 8]
