"""A number that several client processes of a step share: one of them writes it, the others read it at any time.

It is 8 bytes of memory without a name. The runner makes it and passes its descriptor to the processes; it is gone when
the last of them has ended.
"""

from __future__ import annotations

import mmap
import os

_BYTES = 8


class SharedNumber:
    """A whole number of 64 bits, 0 at first. Without a descriptor it is private to this object.

    It is written and read as one machine word, so a reader sees the old number or the new one, never a mixture.
    """

    def __init__(self, descriptor: int | None = None) -> None:
        memory = bytearray(_BYTES) if descriptor is None else mmap.mmap(descriptor, _BYTES)
        self._word = memoryview(memory).cast("q")

    @property
    def value(self) -> int:
        """The number as it is now."""
        return self._word[0]

    @value.setter
    def value(self, value: int) -> None:
        self._word[0] = value


def make_shared() -> int:
    """A descriptor of such memory, the caller's to pass on and to close."""
    descriptor = os.memfd_create("ibench", os.MFD_CLOEXEC)
    os.ftruncate(descriptor, _BYTES)
    return descriptor
