"""A folder names a dbms if it begins as builds are called, and does not look like the address of a host."""

from __future__ import annotations

import pytest

from ibench_lib.importers.layout import dbms_of


@pytest.mark.parametrize(
    ("folders", "dbms"),
    [
        (["my8033.cy10a"], "my8033.cy10a"),
        (["x.my5651_rel_o2nofp.z12a_c8r32.pk1"], "my5651_rel_o2nofp.z12a_c8r32"),
        (["20m.ma1011.cy10a", "l.i0"], "ma1011.cy10a"),
        (["mysql-8.0.21.BP140", "thr1"], "mysql-8.0.21.BP140"),
        (["my8033.cy10a", "my8034.cy10a"], "my8034.cy10a"),
        (["pg153.cx7a.tar.gz"], "pg153.cx7a"),
        (["db7.example"], None),
        (["mysql1.example.com"], None),
        (["my8033"], None),
        ([], None),
    ],
)
def test_the_innermost_such_folder_counts(folders: list[str], dbms: str | None) -> None:
    assert dbms_of(folders) == dbms
