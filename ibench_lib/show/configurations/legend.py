"""What the names of configurations on a first screen stand for: the options in which they differ from the base."""

from __future__ import annotations

import html

import polars as pl

from ibench_lib.analysis.frames import by_position, short_names
from ibench_lib.ask.bases import Bases
from ibench_lib.base.wording import joined
from ibench_lib.show.kit.table_cells import setting_text

_MOST_NAMES = 8


def legend(config_diff: pl.DataFrame, bases: Bases) -> str:
    """Each configuration that is compared with one of its own build, and what it sets otherwise (`config_diff`).

    HTML, folded; empty if there is none. A result of another build differs in more than its options, and is left out.
    """
    frame = config_diff.filter(
        pl.col("dbms").replace_strict(bases.builds, default=None)
        == pl.col("base").replace_strict(bases.builds, default="")
    )
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
