"""Any frame as a table."""

from __future__ import annotations

import pytest

import ibench_lib as ib
from ibench_lib.paths import Workspace

pytestmark = pytest.mark.lake


def test_any_frame_is_a_table(workspace: Workspace) -> None:
    frame = ib.sql(ib.lake(workspace), "SELECT range::INT AS n, range / 3 AS x, 'a<b' AS t, [1, 2] AS l FROM range(3)")
    markup = ib.frame_table(frame, most=2).html()
    assert "0.333333" in markup and "a&lt;b" in markup and "1, 2" in markup and "The first 2 of 3 rows." in markup
