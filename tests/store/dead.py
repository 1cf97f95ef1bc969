"""A run whose runner has died."""

from pathlib import Path

from tests.synthetic import Run

DEAD = Run(status="running", steps=("l.i0", "l.x", "l.i1"), l_i1_s=2)


def altered(path: Path) -> None:
    """One bit in the middle of a file is another one."""
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
