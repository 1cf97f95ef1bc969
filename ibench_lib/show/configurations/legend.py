"""What the names of configurations on a first screen stand for: the options in which they differ from the base."""

from __future__ import annotations

import html

import polars as pl

from ibench_lib.analysis.frames import by_position, short_names
from ibench_lib.ask.bases import Bases
from ibench_lib.base.wording import joined
from ibench_lib.show.kit.table_cells import setting_text

_MOST_NAMES = 8

_MOST_LETTERS, _MOST_IN_ALL = 40, 64
"""Of an option that is named next to a configuration's name, and of all of them."""


def legend(config_diff: pl.DataFrame, bases: Bases) -> str:
    """Each configuration that is compared with one of its own build, and what it sets otherwise (`config_diff`).

    HTML, folded; empty if there is none. A result of another build differs in more than its options, and is left out.
    """
    frame = _of_one_build(config_diff, bases)
    if frame.is_empty():
        return ""
    named = short_names([*dict.fromkeys([*frame["base"], *by_position(frame)])], bases.builds)
    lines: dict[str, dict[str, list[str]]] = {}
    of_cells = frame.sort("dbms_position", maintain_order=True).group_by("dbms", "setup", maintain_order=True)
    for (name, setup), rows in of_cells:
        changes = [
            f"{row['option']} {setting_text(row['value'])} ({setting_text(row['base_value'])})"
            for row in rows.to_dicts()
        ]
        lines.setdefault(str(name), {}).setdefault(", ".join(changes), []).append(str(setup))
    items = [
        f"<li><b>{html.escape(named[name])}</b>{f' in {joined(setups)}' if len(of_setups) > 1 else ''}: "
        f"{html.escape(text)}</li>"
        for name, of_setups in lines.items()
        for text, setups in of_setups.items()
    ]
    names = [named[name] for name in lines]
    said = joined(names) if len(names) <= _MOST_NAMES else f"the {len(names)} configurations"
    what = "changes" if len(names) == 1 else "change"
    return (
        f'<details class="fold"><summary>What {html.escape(said)} {what}</summary>'
        f"<p>Options, with those of {bases.said} in brackets:</p><ul>{''.join(items)}</ul></details>"
    )


def option_words(config_diff: pl.DataFrame, bases: Bases) -> dict[str, str]:
    """By configuration what tells it from the others: the options that it changes, first those that the fewest change.

    Such as `max_purge_lag 100, purge_threads 8 and 2 more`: as many as there is room for (`config_diff`), without the
    first word if it is that of all options. Left out are configurations of which that is not the same in all setups,
    or whose first option is too long for a label.
    """
    frame = _of_one_build(config_diff, bases)
    shared = frame.group_by("setup", "base", "option", "value").agg(pl.col("dbms").n_unique().alias("by"))
    frame = frame.join(shared, on=["setup", "base", "option", "value"], nulls_equal=True, maintain_order="left")
    options = set(frame["option"])
    first_words = {option.partition("_")[0] for option in options}
    # A label has no room for what says nothing.
    of_all = f"{first_words.pop()}_" if len(first_words) == 1 < len(options) else ""
    found: dict[str, set[str]] = {}
    for (name, _), rows in frame.group_by("dbms", "setup", maintain_order=True):
        changes = [
            f"{row['option'].removeprefix(of_all)} {setting_text(row['value'])}"
            for row in rows.sort("by", "option").to_dicts()
        ]
        shown = changes[:1]
        for change in changes[1:]:
            shown += [change] * (len(", ".join([*shown, change])) <= _MOST_IN_ALL)
        more = f" and {len(changes) - len(shown)} more" if len(shown) < len(changes) else ""
        found.setdefault(str(name), set()).add(", ".join(shown) + more)
    words = {name: said.pop() for name, said in found.items() if len(said) == 1}
    return {name: said for name, said in words.items() if len(said.split(", ")[0]) <= _MOST_LETTERS}


def _of_one_build(config_diff: pl.DataFrame, bases: Bases) -> pl.DataFrame:
    """The rows of configurations that are compared with one of their own build."""
    return config_diff.filter(
        pl.col("dbms").replace_strict(bases.builds, default=None)
        == pl.col("base").replace_strict(bases.builds, default="")
    )
