"""The lake: runs on disk, and DuckDB over them. `ibench_lib.lake()` opens it.

The folder is called what a notebook calls, so the module itself answers the call (see "Customizing module attribute
access" in Python's data model).
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import duckdb


class _Lake(ModuleType):
    def __call__(self, *arguments: Any, **named: Any) -> duckdb.DuckDBPyConnection:
        from ibench_lib.lake import reader

        return reader.lake(*arguments, **named)


sys.modules[__name__].__class__ = _Lake
