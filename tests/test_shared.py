"""What tests share knows which test it serves."""

import pytest

from tests import shared
from tests.synthetic import Run


def test_a_test_of_make_test_quick_asks_no_lake(request: pytest.FixtureRequest) -> None:
    assert shared.quick_test == request.node.nodeid
    for ask in (lambda: shared.asked("steps", Run()), lambda: shared.lake_of(Run())):
        with pytest.raises(pytest.fail.Exception, match="test_quick_asks_no_lake asks a lake: mark it"):
            ask()


@pytest.mark.lake
def test_one_that_is_marked_asks() -> None:
    assert shared.quick_test is None and not shared.asked("steps", Run()).is_empty()
