"""The kind of a step by its name, also of the names in published reports: q100 of 2023, q100.2 of 2021."""

from __future__ import annotations

import re

_KINDS = {"l.i0": "load", "l.x": "index", "l.i1": "write", "l.i2": "write"}
_QUERIES = re.compile(r"q[rp]?[1-9][0-9]{0,6}(\.[0-9]{1,2})?")


def kind_of(step: str) -> str | None:
    """load, index, write or query; None for a name that is no step of this workload."""
    return _KINDS.get(step) or ("query" if _QUERIES.fullmatch(step) else None)
