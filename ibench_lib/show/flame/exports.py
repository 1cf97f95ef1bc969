"""Profiles as files that other tools read: folded stacks, speedscope's JSON, pprof. No sample or name is shortened."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

from ibench_lib.analysis.flame.sides import Side

NS_PER_S = 1_000_000_000


def folded(side: Side) -> bytes:
    """A line for each stack: its frames, outermost first, joined by `;`, and its samples (Brendan Gregg's format)."""
    return "".join(f"{stack} {samples}\n" for stack, samples in sorted(side.raw.items())).encode()


def folded_both(a: Side, b: Side) -> bytes:
    """A line for each stack with its samples in A and in B, as `difffolded.pl` writes it."""
    stacks = sorted(a.raw.keys() | b.raw.keys())
    return "".join(f"{stack} {a.raw[stack]} {b.raw[stack]}\n" for stack in stacks).encode()


def speedscope(sides: Sequence[Side]) -> bytes:
    """A file of https://www.speedscope.app with a profile for each side; weights are samples."""
    frames: dict[str, int] = {}
    profiles: list[dict[str, Any]] = []
    for side in sides:
        stacks = sorted(side.raw.items())
        profiles.append(
            {
                "type": "sampled",
                "name": side.name,
                "unit": "none",
                "startValue": 0,
                "endValue": side.samples,
                "samples": [[frames.setdefault(name, len(frames)) for name in stack.split(";")] for stack, _ in stacks],
                "weights": [samples for _, samples in stacks],
            }
        )
    document = {
        "$schema": "https://www.speedscope.app/file-format-schema.json",
        "name": " and ".join(side.name for side in sides),
        "exporter": "ibench",
        "activeProfileIndex": 0,
        "shared": {"frames": [{"name": name} for name in frames]},
        "profiles": profiles,
    }
    return json.dumps(document, separators=(",", ":"), ensure_ascii=False).encode()


def pprof(side: Side) -> bytes:
    """A gzipped `profile.proto` (github.com/google/pprof) with samples, and CPU time where the frequency is known."""
    texts: dict[str, int] = {"": 0}

    def text(value: str) -> int:
        return texts.setdefault(value, len(texts))

    period = round(NS_PER_S / side.frequency) if side.frequency else 0
    types = [("samples", "count"), *([("cpu", "nanoseconds")] if period else [])]
    parts = [_message(1, _number(1, text(kind)) + _number(2, text(unit))) for kind, unit in types]
    functions: dict[str, int] = {}
    for stack, samples in sorted(side.raw.items()):
        at = [functions.setdefault(name, len(functions) + 1) for name in reversed(stack.split(";"))]
        values = [samples, *([samples * period] if period else [])]
        parts.append(_message(2, _packed(1, at) + _packed(2, values)))
    for name, number in functions.items():
        # A location for each function: where in it a sample was taken is not kept.
        parts.append(_message(4, _number(1, number) + _message(4, _number(1, number))))
        parts.append(_message(5, _number(1, number) + _number(2, text(name)) + _number(3, text(name))))
    parts.append(_packed(13, [text(side.name)]))
    if period:
        parts.append(_message(11, _number(1, text("cpu")) + _number(2, text("nanoseconds"))) + _number(12, period))
        parts.append(_number(10, round((side.seconds or 0.0) * NS_PER_S)))
    parts += [_message(6, value.encode()) for value in texts]
    return gzip.compress(b"".join(parts), 6, mtime=0)


# The wire format of Protocol Buffers: a key (field number and type), then a varint, or a length and as many bytes.
@lru_cache(4096)  # of a profile, each function is in many stacks
def _varint(value: int) -> bytes:
    content = bytearray()
    while value > 0x7F:
        content.append(value & 0x7F | 0x80)
        value >>= 7
    content.append(value)
    return bytes(content)


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _message(field: int, content: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(content)) + content


def _packed(field: int, values: Iterable[int]) -> bytes:
    return _message(field, b"".join(map(_varint, values)))
