"""The list of what the library offers."""

from __future__ import annotations

import ibench_lib as ib
from tests.show.parsed import Parsed


def test_the_contents_list_every_function_and_question() -> None:
    tables = [Parsed(table) for table in ib.contents().items]
    heads = {row[0] for table in tables for row in table.rows if len(row) == 3}
    assert {f"ib.{name}" for name in ib.__all__} | ib.questions().keys() <= heads
    assert all(row[2] for table in tables for row in table.rows if len(row) == 3), "each is documented"
