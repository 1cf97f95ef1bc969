"""Exports of profiles, read back by the rules of their formats: every sample is there, with its whole stack."""

from __future__ import annotations

import gzip
import json
import random
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from ibench_lib.analysis.flame.sides import Recording, Side
from ibench_lib.show.flame.exports import folded, folded_both, pprof, speedscope


def some_side(seed: int, frequency: float | None = 199.0) -> Side:
    draw = random.Random(seed)
    recordings = []
    for tick in range(3):
        stacks: Counter[str] = Counter()
        for _ in range(40):
            names = [draw.choice(["a b(int, c d)", "größe", "[unknown] (libc.so.6)", "f", "g::h<x>"]) for _ in range(9)]
            stacks[";".join(["thread 1", *names[: draw.randint(0, 9)]])] += draw.randint(1, 300)
        recordings.append(Recording("r", tick, 0.01, dict(stacks)))
    return Side(f"build-{seed}, 2026-11-22", f"build-{seed}", tuple(recordings), frequency, 12.0)


def test_folded_stacks_have_every_sample() -> None:
    side = some_side(1)
    lines = [line.rpartition(" ") for line in folded(side).decode().splitlines()]
    assert {stack: int(samples) for stack, _, samples in lines} == side.raw


def test_folded_stacks_of_both_have_the_samples_of_each() -> None:
    a, b = some_side(1), some_side(2)
    found = [line.rsplit(" ", 2) for line in folded_both(a, b).decode().splitlines()]
    assert {stack: int(samples) for stack, samples, _ in found if samples != "0"} == a.raw
    assert {stack: int(samples) for stack, _, samples in found if samples != "0"} == b.raw


def test_speedscope_has_a_profile_for_each_side() -> None:
    sides = some_side(1), some_side(2)
    document = json.loads(speedscope(sides))
    names = [frame["name"] for frame in document["shared"]["frames"]]
    assert len(document["profiles"]) == 2
    for side, profile in zip(sides, document["profiles"], strict=True):
        assert profile["name"] == side.name and profile["type"] == "sampled"
        stacks = [";".join(names[at] for at in sample) for sample in profile["samples"]]
        assert dict(zip(stacks, profile["weights"], strict=True)) == side.raw
        assert profile["startValue"] == 0 and profile["endValue"] == sum(profile["weights"]) == side.samples


def varint(content: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        value |= (content[at] & 0x7F) << shift
        at += 1
        if content[at - 1] < 0x80:
            return value, at
        shift += 7


def fields(content: bytes) -> Iterator[tuple[int, Any]]:
    """Field numbers with their values, by the wire format."""
    at = 0
    while at < len(content):
        key, at = varint(content, at)
        value, at = varint(content, at)
        if key & 7 == 2:
            yield key >> 3, content[at : at + value]
            at += value
        else:
            assert key & 7 == 0, "only varints and lengths are used"
            yield key >> 3, value


def numbers(content: bytes) -> list[int]:
    found, at = [], 0
    while at < len(content):
        value, at = varint(content, at)
        found.append(value)
    return found


@pytest.mark.parametrize("frequency", [199.0, None])
def test_pprof_has_every_sample_innermost_first(frequency: float | None) -> None:
    side = some_side(3, frequency)
    found: dict[int, list[Any]] = {}
    for field, value in fields(gzip.decompress(pprof(side))):
        found.setdefault(field, []).append(value)
    texts = [text.decode() for text in found[6]]
    assert texts[0] == "" and texts[numbers(found[13][0])[0]] == side.name
    functions = {one[1]: texts[one[2]] for one in (dict(fields(raw)) for raw in found[5])}
    locations = {one[1]: functions[dict(fields(one[4]))[1]] for one in (dict(fields(raw)) for raw in found[4])}
    types = [(texts[one[1]], texts[one[2]]) for one in (dict(fields(raw)) for raw in found[1])]
    period = round(1e9 / frequency) if frequency else None
    assert types == [("samples", "count"), ("cpu", "nanoseconds")][: 2 if frequency else 1]
    assert found.get(12) == ([period] if period else None)
    assert found.get(10) == ([12 * 10**9] if period else None)
    stacks: Counter[str] = Counter()
    for raw in found[2]:
        sample = dict(fields(raw))
        values = numbers(sample[2])
        stacks[";".join(locations[at] for at in reversed(numbers(sample[1])))] += values[0]
        assert len(values) == len(types) and (not period or values[1] == values[0] * period)
    assert stacks == side.raw
