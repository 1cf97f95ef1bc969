"""Which block device holds a path: by the device number of its file system, through partitions to whole devices."""

from __future__ import annotations

import os
from pathlib import Path

_BLOCK = Path("/sys/dev/block")
_MOUNTS = Path("/proc/self/mountinfo")


def device_below(path: Path, block: Path = _BLOCK, mounts: Path = _MOUNTS) -> tuple[str | None, str | None]:
    """Kernel name of the whole device below `path`, or None and the reason.

    A device mapper or RAID device is one itself: what it is made of is not looked for. An overlay is looked through to
    its upper folder, which is where writes go.
    """
    try:
        number = path.stat().st_dev
    except OSError as error:
        return None, f"{path}: {error.strerror}"
    mount = _mount_of(number, mounts)
    node = block / f"{os.major(number)}:{os.minor(number)}"
    if not node.exists() and mount is not None:
        kind, source, options = mount
        upper = options.get("upperdir")
        if kind == "overlay" and upper:
            # In a container its host's path does not exist here.
            return device_below(Path(upper), block, mounts) if Path(upper).exists() else (None, _no_device(path, kind))
        try:
            # Some file systems, btrfs for one, have numbers of their own and name their device in the mount table.
            number = os.stat(source).st_rdev if source.startswith("/dev/") else 0
        except OSError:
            number = 0
        node = block / f"{os.major(number)}:{os.minor(number)}"
    if not node.exists():
        return None, _no_device(path, mount[0] if mount else "unknown")
    whole = node.resolve()
    if (whole / "partition").exists():
        whole = whole.parent
    return whole.name, None


def _no_device(path: Path, kind: str) -> str:
    return f"{path} lies on a file system ({kind}) without a block device of its own"


def _mount_of(number: int, mounts: Path) -> tuple[str, str, dict[str, str]] | None:
    """Type, source and options of the file system with this device number, from a mountinfo."""
    wanted = f"{os.major(number)}:{os.minor(number)}"
    try:
        lines = mounts.read_text(errors="replace").splitlines()
    except OSError:
        return None
    for line in lines:
        left, _, right = line.partition(" - ")
        if left.split()[2] == wanted:
            kind, source, options = right.split(maxsplit=2)
            pairs = (option.partition("=") for option in options.split(","))
            return kind, source, {name: value for name, _, value in pairs}
    return None
