"""Which cells of an experiment may share a data directory that one of them has loaded (`snapshot_after`), and why not.

Cells share when they agree on every load setting: all that decides what is on disk after that step. What these are is
in `load_settings.py`; here they are names and values.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property

SERVER = "server"
"""The setting that says which servers understand each other's files; with another one many a default is another."""


@dataclass(frozen=True)
class LoadSettings:
    """Everything that decides what is on disk after the snapshot's step: name -> value in one way of writing."""

    values: dict[str, str]

    @cached_property
    def digest(self) -> str:
        """SHA-256 of names and values; a snapshot goes by it."""
        return hashlib.sha256(json.dumps(self.values, sort_keys=True).encode()).hexdigest()

    def differing(self, other: LoadSettings) -> list[str]:
        """Such as `innodb_page_size is 8192, there 16384`, for each setting that is another one there.

        With another server nothing but that: its defaults follow from it.
        """
        names = [
            name
            for name in sorted(self.values.keys() | other.values.keys())
            if self.values.get(name) != other.values.get(name)
        ]
        return [
            f"{name} is {self.values.get(name, 'not set')}, there {other.values.get(name, 'not set')}"
            for name in ([SERVER] if SERVER in names else names)
        ]


@dataclass(frozen=True)
class Sharing:
    """Where a cell's rows come from. Cells are named by their position in the experiment.

    `cells` are all that agree on `settings`, in order. `loads` is the one of them that is to load, None where a whole
    snapshot is there already or no cell is to be run. `apart` says why they do not use an earlier cell's snapshot.
    """

    settings: LoadSettings
    cells: tuple[int, ...]
    loads: int | None
    apart: str | None

    def from_snapshot(self, position: int) -> bool:
        """Whether a cell to be run is to begin with a copy of the snapshot."""
        return position != self.loads

    def note(self, position: int) -> str:
        """Where the rows of a cell to be run come from, in words."""
        if self.loads is None:
            return "from the existing snapshot"
        if position != self.loads:
            return f"from the snapshot of cell {self.loads}"
        later = [cell for cell in self.cells if cell > position]
        text = f"loads data, shared by {_listed(later)}" if later else "loads its own data"
        return f"{text}; {self.apart}" if self.apart else text


def share(
    settings: Mapping[int, LoadSettings], to_run: Collection[int], kept: Collection[str] = ()
) -> dict[int, Sharing]:
    """How each cell comes to its rows, by its position.

    `to_run` are the positions of cells that will be run, `kept` the digests of whole snapshots that are there.
    """
    groups: dict[str, list[int]] = {}
    for position in sorted(settings):
        groups.setdefault(settings[position].digest, []).append(position)
    sharing_of: dict[int, Sharing] = {}
    firsts: list[int] = []
    for digest, cells in groups.items():
        loads = None if digest in kept else next((cell for cell in cells if cell in to_run), None)
        sharing = Sharing(settings[cells[0]], tuple(cells), loads, _apart(settings, cells[0], firsts))
        sharing_of.update(dict.fromkeys(cells, sharing))
        firsts.append(cells[0])
    return sharing_of


def _apart(settings: Mapping[int, LoadSettings], first: int, earlier: list[int]) -> str | None:
    """Why a cell does not share with the earlier one that it differs least from."""
    differing = {other: settings[first].differing(settings[other]) for other in earlier}
    if not differing:
        return None
    mine = settings[first].values.get(SERVER)
    nearest = min(differing, key=lambda other: (settings[other].values.get(SERVER) != mine, len(differing[other])))
    return f"not from the snapshot of cell {nearest}: {'; '.join(differing[nearest])}"


def _listed(cells: list[int]) -> str:
    return f"cell{'' if len(cells) == 1 else 's'} {', '.join(map(str, cells))}"
