"""What the Insert Benchmark's steps are in words, by their kind and by patterns of their names."""

from __future__ import annotations

WORDS = {
    "load": {r"l\.i0": "inserts in key order"},
    "index": {r"l\.x": "creation of secondary indexes"},
    "write": {r"l\.i[12]": "inserts with secondary indexes"},
    # What the report of 2023 calls q100 is our qr100.
    "query": {r"qr?\d+": "range queries", r"qp\d+": "point queries"},
}
