"""What TPC-C's steps are in words, by their kind and by patterns of their names."""

from __future__ import annotations

WORDS = {"run": {"run": "all transactions"}}
