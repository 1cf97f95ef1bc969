"""What is put into a notebook next to tables and charts."""

from ibench_lib.ask.selection import choose
from ibench_lib.show.display import warnings
from tests.shared import lake_of
from tests.synthetic import Run


def test_warnings_that_differ_in_numbers_share_a_line_that_unfolds() -> None:
    busy = [f"process python ({pid}) uses {percent} % of a core" for pid, percent in ((30467, 20), (30468, 33))]
    runs = [
        Run(warnings=(busy[0], "swap <is> used")), Run("b", minute=1, warnings=(busy[1],)), Run("c", minute=2),
    ]  # fmt: skip
    markup = warnings(choose(lake_of(*runs), "demo").runs).markup
    assert f"<summary>{busy[0]}, and 1 like it (system.cy10a, system.b; 2 of 3 runs)</summary>" in markup
    assert f"<li>{busy[1]} (system.b)</li>" in markup and markup.count("<details>") == 1
    assert "<li>swap &lt;is&gt; used (system.cy10a; 1 of 3 runs)</li>" in markup
    assert "No run has a warning." in warnings(choose(lake_of(Run()), "demo").runs).markup
