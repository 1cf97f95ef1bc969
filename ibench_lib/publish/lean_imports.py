"""Hide slow optional dependencies from libraries that would import them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

# A grammar of internet addresses compiled at import, and arrow, for checks of jsonschema's that notebooks do not use;
# papermill's ways to notebooks in S3 and in HDFS.
_SLOW = ("rfc3987", "rfc3987_syntax", "isoduration", "boto3", "pyarrow.fs")


@contextmanager
def lean_imports() -> Iterator[None]:
    """Within this context the modules in `_SLOW` look as if they were not installed."""
    hidden = [name for name in _SLOW if name not in sys.modules]
    for name in hidden:
        sys.modules[name] = None  # type: ignore[assignment]
    try:
        yield
    finally:
        for name in hidden:
            del sys.modules[name]
