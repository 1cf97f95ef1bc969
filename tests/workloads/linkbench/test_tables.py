import pytest

from ibench_lib.workloads.linkbench import tables


@pytest.mark.parametrize("partitions", [0, 16])
def test_the_first_table_has_the_partitions_and_the_index(partitions: int) -> None:
    links, counts, nodes = tables.create("2015", partitions, secondary=True)
    assert links.endswith(" PARTITION BY KEY(id1) PARTITIONS 16") == bool(partitions)
    assert "KEY id1_type (id1, link_type, visibility, time, id2, version, data)" in links
    assert "PARTITION" not in counts + nodes


def test_the_tables_of_2013_have_other_keys() -> None:
    links, _, _ = tables.create("2013", 0, secondary=False)
    assert "PRIMARY KEY (id1, id2, link_type))" in links and "id1_type" not in links
    assert tables.add_secondary("2013").endswith("KEY id1_type (id1, link_type, visibility, time, version, data)")
