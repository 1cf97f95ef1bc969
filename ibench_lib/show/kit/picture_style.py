"""The style of first screens and pictures, of which a page has one and each output of a notebook has its own."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from ibench_lib.show.kit.theme import COLOURS, SIZES

_FILE = Path(__file__).with_name("pictures.css")

_ROOTS = ".headline, .strips, .picture"
"""What an output with a picture begins with."""

_DARK = 'body[data-jp-theme-light="false"]'
"""JupyterLab with a dark theme."""

_AGAINST = """\
.ratios tr, .heat tr { background: none !important; }
.ran :is(dt, dd) { float: none; width: auto; }
"""
"""JupyterLab has stripes for all tables, and columns for all lists."""


@cache
def picture_style() -> str:
    """The rules, as CSS. They need the tokens of the theme (`theme.style_sheet`)."""
    return _FILE.read_text(encoding="utf-8")


@cache
def notebook_style() -> str:
    """An element with the rules and their tokens for an output of a notebook; nothing outside of it has them.

    Colours that pictures paint with themselves have the light ones with them (`theme.paint`).
    """
    used = set(re.findall(r"var\(--([\w-]+)", picture_style()))
    sizes = [f"--{name}:{size}" for name, size in SIZES.items() if name in used]
    light = [f"--{name}:{pair[0]}" for name, pair in COLOURS.items() if name in used]
    dark = [f"--{name}:{pair[1]}" for name, pair in COLOURS.items()]
    tokens = f":is({_ROOTS}){{color:var(--ink);{';'.join(sizes + light)}}}{_DARK} :is({_ROOTS}){{{';'.join(dark)}}}"
    # Rules name these elements, and a rule in a scope is for what is inside of its root: so that is their parent.
    return f"<style>{tokens}@scope (:has(> :is({_ROOTS}))){{{_AGAINST}{picture_style()}}}</style>"
