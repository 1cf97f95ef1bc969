"""What a table of two sides says of each."""

from __future__ import annotations

import pytest

from ibench_lib.show.compare.comparison import side_text
from tests.ask.pairs import metric

pytestmark = pytest.mark.lake


@pytest.mark.parametrize(("gib", "text"), [(2**-15, "32 KiB"), (0.005, "5.12 MiB"), (0.09, "92.2 MiB"), (1.5, "1.50")])
def test_sizes_that_are_little_in_gib_have_a_unit_that_fits(gib: float, text: str) -> None:
    found = metric("dbgb1", [gib, gib], [gib, gib])
    assert side_text(found, [row | {"run_status": "complete"} for row in found.a_rows]) == text
