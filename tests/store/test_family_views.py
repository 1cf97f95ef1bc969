"""Rules of dips of one family of servers are not held against the runs of another."""

import pytest

from ibench_lib.store import family_views, reader
from tests.shared import lake_of
from tests.synthetic import Run


def test_a_family_adds_what_it_has_by_its_name() -> None:
    there = {"any_dip_causes", "mysql_dip_causes", "other_dip_causes"}
    text = family_views.dip_causes(there)
    assert "'mysql' AS family FROM mysql_dip_causes" in text and "other" not in text, "there is no family other"
    assert "mysql" not in family_views.dip_rules({"any_dip_rules"})
    assert "mysql_dip_samples($ids, $dipped)" in family_views.family_dip_samples({"mysql_dip_samples"})


@pytest.mark.lake
def test_each_flavour_has_its_family_and_each_cause_the_family_of_its_rules() -> None:
    lake = lake_of(Run())
    families = reader.sql(lake, "SELECT flavour, family FROM server_families ORDER BY ALL").rows()
    assert families == [
        ("mariadb", "mysql"), ("mysql", "mysql"), ("percona", "mysql"), ("postgres", "postgres"),
    ]  # fmt: skip
    mixed = "SELECT r.cause FROM dip_rules r JOIN dip_causes c USING (cause) WHERE c.family <> r.family"
    assert reader.sql(lake, mixed).rows() == []
    twice = "SELECT cause FROM dip_causes GROUP BY cause HAVING count(*) > 1"
    assert reader.sql(lake, twice).rows() == [], "a name is of one family: evidence finds its cause by the name alone"
