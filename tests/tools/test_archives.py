"""A published table of an archive becomes the CSV that ibench imports."""

from pathlib import Path

import pytest

from tests.places import ROOT
from tools.archives import ARCHIVES, commands, published_csv

TABLE = """\
col-1 : x.my5651_rel.z12a_c8r32.pk1
col-2 : x.my9500_rel.z12a_c8r32.pk1

col-1\tcol-2
100\t90\tpoint-query_range=100
20\t30\tread-only_range=10

7\t8\tscan.warm_range=100
"""


def test_a_row_of_the_table_becomes_a_row_for_each_result() -> None:
    assert published_csv(TABLE, "50m", 1).splitlines() == [
        "setup,dbms,step,qps",
        "50m,my5651_rel.z12a_c8r32,point-query.t1,100",
        "50m,my9500_rel.z12a_c8r32,point-query.t1,90",
        "50m,my5651_rel.z12a_c8r32,read-only-10.t1,20",
        "50m,my9500_rel.z12a_c8r32,read-only-10.t1,30",
        "50m,my5651_rel.z12a_c8r32,scan-warm.t1,7",
        "50m,my9500_rel.z12a_c8r32,scan-warm.t1,8",
    ]


@pytest.mark.parametrize("row", ["1\tpoint-query_range=100", "1\t2\tof-nobody_range=100"])
def test_a_row_that_is_not_understood_is_refused(row: str) -> None:
    with pytest.raises(ValueError, match="line 9"):
        published_csv(f"{TABLE}{row}\n", "50m", 1)


def test_the_commands_name_what_the_post_shows() -> None:
    archive = ARCHIVES["nov25"]
    logs, table, post = commands(archive, Path("arc"), Path("arc/t.csv"))
    text = (ROOT / archive.post).read_text(encoding="utf-8")
    assert f"experiment: {archive.experiment}*" in text and post.endswith(archive.post)
    assert f"--experiment {archive.experiment} " in logs and f"--experiment {archive.experiment}_published " in table
