"""What LinkBench's steps are in words, by their kind and by patterns of their names."""

from __future__ import annotations

WORDS = {"requests": {"t1": "1 requester", r"t(\d+)": r"\1 requesters"}}
