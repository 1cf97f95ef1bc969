"""Ids that a link can lead to."""

from __future__ import annotations

import re


def html_id(text: str) -> str:
    """An id that a URL's fragment can name: other characters become '-'."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip("-") or "x"
