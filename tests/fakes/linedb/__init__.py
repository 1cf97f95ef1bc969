"""A family of servers of its own: another program, wire, option file, collector, figure, and cause of dips.

Nothing outside of this folder knows it: a package that is installed names it as below.
"""

from __future__ import annotations

from pathlib import Path


def entry_point(folder: Path) -> Path:
    """Make a folder which, if it is on Python's path, has a package that adds this family. Returns it."""
    package = folder / "site" / "linedb_family-1.0.dist-info"
    package.mkdir(parents=True)
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: linedb-family\nVersion: 1.0\n")
    (package / "entry_points.txt").write_text("[ibench.families]\nlinedb = tests.fakes.linedb\n")
    return folder / "site"
