"""What gives pictures their style, on pages and in notebooks."""

from __future__ import annotations

import re

from ibench_lib.publish.page import template_text
from ibench_lib.show.kit import theme
from ibench_lib.show.kit.picture_style import notebook_style, picture_style


def test_an_output_of_a_notebook_has_each_token_that_its_rules_use() -> None:
    style = notebook_style()
    used = set(re.findall(r"var\(--([\w-]+)\)", style))
    light, dark = re.findall(r":is\([^)]*\)\{([^}]*)\}", style.partition("@scope")[0])
    assert used <= set(re.findall(r"--([\w-]+):", light)) and len(used) > 8
    assert f"--line-1:{theme.COLOURS['line-1'][1]}" in dark and "--line-1" not in light
    assert style.count("<style>") == style.count("</style>") == 1 and picture_style() in style


def test_no_rule_of_an_output_reaches_the_rest_of_a_notebook() -> None:
    _, scope, rules = notebook_style().partition("@scope (:has(> :is(.headline, .strips, .picture))){")
    assert scope and rules.removesuffix("</style>").endswith("}")
    depth = 0
    for letter in rules.removesuffix("</style>")[:-1]:
        depth += (letter == "{") - (letter == "}")
        assert depth >= 0, "all of them stand inside of it"
    assert depth == 0


def test_a_page_has_no_second_rule_for_pictures() -> None:
    for rule in (".ratios", ".picture svg", ".strip line", ".ran"):
        assert f"\n{rule}" not in template_text("post/post.css").partition("@media print")[0], rule
