"""A build that can be brought: what a source offers."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Offer:
    """`label` is what the build will be called, `what` the server in a few words, `origin` where it comes from."""

    label: str
    what: str
    origin: str
