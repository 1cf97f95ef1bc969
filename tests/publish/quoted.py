"""Figures that an author quotes in the tl;dr of a post, held against what its notebook shows."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable

from nbformat import NotebookNode

_NUMBER = r"[+-]?\d[\d,]*(?:\.\d+)?"
_UNIT = r"x|\u202f?\s?%|\s(?:us|ms|s|MB|MiB|GB|GiB)\b|/s|(?=\])"
_FIGURE = re.compile(rf"(?<![\w.+-])({_NUMBER})(?:x?(?:, | to )({_NUMBER}))?({_UNIT})")
_SCALES = {"s": (1.0, 1e3, 1e6), "ms": (1.0, 1e3, 1e-3), "us": (1.0, 1e-3)}
"""What values are divided by before they are compared: tables have their own units of time."""


def shown(ran: NotebookNode) -> str:
    """The text of all tables and sentences of a notebook that ran."""
    outputs = (output.get("data", {}).get("text/html", "") for cell in ran.cells for output in cell.get("outputs", []))
    pages = (re.sub(r"(?s)<(script|style|svg)\b.*?</\1>", " ", page) for page in outputs)
    return html.unescape(re.sub(r"<[^>]*>", " ", "\n".join(pages)))


def not_shown(tldr: Iterable[str], text: str) -> list[str]:
    """The figures with a unit, and the ends of brackets, that nothing in the text is when it is rounded as they are.

    A ratio has to be there as a ratio, "0.67x", and the end of a bracket in a bracket. Versions, names in code, links
    and counts are no figures.
    """
    numbers = {number.replace(",", "") for number in re.findall(_NUMBER, text)}
    values = [float(number) for number in numbers]
    ratios = set(re.findall(rf"({_NUMBER})x", text)) | set(re.findall(rf"[\[(]({_NUMBER})x?(?:, | to )", text))
    ratios |= set(re.findall(rf"(?:, | to )({_NUMBER})x?[\])]", text))
    missing = []
    for line in tldr:
        plain = re.sub(r"`[^`]*`|\]\([^)]*\)", " ", line).replace("**", "")
        for low, high, unit in _FIGURE.findall(plain):
            for figure in filter(None, (low, high)):
                whole = f"{figure}{unit}"
                if not (figure in ratios if unit in ("x", "") else is_among(whole, values)):
                    missing.append(whole)
    return missing


def is_among(figure: str, values: Iterable[float]) -> bool:
    """Whether one of the values is a figure such as "49 s" when it is rounded as the figure is."""
    number, unit = re.findall(rf"({_NUMBER})(.*)", figure.replace(",", ""))[0]
    half = 0.5 * 10 ** -len(number.partition(".")[2]) * (1 + 1e-9)
    scales = _SCALES.get(unit.strip(), (1.0,))
    return any(abs(float(number) - value / scale) <= half for value in values for scale in scales)
