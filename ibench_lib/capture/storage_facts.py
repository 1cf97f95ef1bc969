"""Facts of the file system and the device below a folder. What cannot be read is None."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ibench_lib.base.later import later
from ibench_lib.capture.block_device import device_below

if TYPE_CHECKING:
    import psutil
else:
    psutil = later("psutil")

_BLOCK = Path("/sys/block")
_KIB = 1024
_PERSONAL = re.compile(r"\b(?:((?:mount|client)?addr|username|domain|unc)|(\w+)(?==/))=[^,]*")
_SECTOR = 512


def read(path: Path) -> str | None:
    """A file's text without the space around it; None where it is not there or not ours to read."""
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        return None


def storage_facts(directory: Path) -> dict[str, Any]:
    """`filesystem` and `device`; the device has a `reason` where it is not known."""
    name, reason = device_below(directory.resolve())
    return {
        "filesystem": _filesystem(directory),
        "device": {"reason": reason} if name is None else device_facts(_BLOCK / name),
    }


def device_facts(device: Path) -> dict[str, Any]:
    """What /sys/block/<name> says of a device."""
    queue = device / "queue"
    read_ahead, sectors = _number(queue / "read_ahead_kb"), _number(device / "size")
    return {
        "name": device.name,
        "model": read(device / "device/model"),
        "members": members(device) or None,
        "bytes": None if sectors is None else sectors * _SECTOR,
        "rotational": {0: False, 1: True}.get(_or(_number(queue / "rotational"), -1)),
        "scheduler": _chosen(read(queue / "scheduler")),
        "read_ahead_bytes": None if read_ahead is None else read_ahead * _KIB,
        "requests": _number(queue / "nr_requests"),
        "write_cache": read(queue / "write_cache"),
        "logical_block_bytes": _number(queue / "logical_block_size"),
        "physical_block_bytes": _number(queue / "physical_block_size"),
    }


def members(device: Path) -> list[str]:
    """Models of the disks that a RAID or device mapper device is made of, sorted; `unknown` where one does not say."""
    models = []
    for slave in (device / "slaves").glob("*"):
        below = slave.resolve()
        whole = below.parent if (below / "partition").exists() else below
        models += members(whole) or [read(whole / "device/model") or "unknown"]
    return sorted(models)


def storage_class(facts: Mapping[str, Any]) -> str:
    """The kind of storage that `storage_facts` are of, such as `ext4 on FAST 9000 SSD` or `xfs on 2 x BIG 1 disk`."""
    filesystem, device = facts.get("filesystem") or {}, facts.get("device") or {}
    models = Counter(device.get("members") or [device.get("model") or "unknown"])
    text = " + ".join(model if count == 1 else f"{count} x {model}" for model, count in models.items())
    kinds: dict[Any, str] = {False: "SSD", True: "disk"}
    kind = kinds.get(device.get("rotational"), "device")
    return f"{filesystem.get('type') or 'unknown file system'} on {text} {kind}"


def _chosen(schedulers: str | None) -> str | None:
    """`none` of `[none] mq-deadline`; a device without a choice lists `none` alone."""
    words = (schedulers or "").split()
    chosen = [word.strip("[]") for word in words if word.startswith("[")] or (words if len(words) == 1 else [])
    return chosen[0] if chosen else None


def _number(path: Path) -> int | None:
    text = read(path)
    return int(text) if text and text.isdigit() else None


def _or(value: int | None, other: int) -> int:
    return other if value is None else value


def _filesystem(directory: Path) -> dict[str, str] | None:
    """Type and mount options of the file system that holds `directory`: the longest mount point above it."""
    resolved = directory.resolve()
    above = [part for part in psutil.disk_partitions(all=True) if resolved.is_relative_to(part.mountpoint)]
    if not above:
        return None
    mount = max(above, key=lambda part: len(part.mountpoint))
    return {"type": mount.fstype, "options": impersonal(mount.opts)}


def impersonal(options: str) -> str:
    """Mount options without what only this host has: folders of an overlay, addresses and accounts of a network."""
    return _PERSONAL.sub(lambda match: f"{match[1]}=<name>" if match[1] else f"{match[2]}=<path>", options)
