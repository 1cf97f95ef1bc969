"""What an experiment will probably not do as it is meant, though all servers accept it. Each finding is a sentence."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Sequence

from ibench_lib.capture.options import CaptureOptions
from ibench_lib.paths import Workspace, nearest_existing
from ibench_lib.runner.planned import PlannedCell
from ibench_lib.runner.space import redo_bytes, redo_said
from ibench_lib.servers.flavours.flavour import flavour_of


def profile_advice(capture: CaptureOptions, steps: Iterable[tuple[str, float]]) -> list[str]:
    """Steps, with the seconds that they take, that may end before `profile` records anything."""
    profile = capture.profile
    if profile is None:
        return []
    # The clock of the recordings is the run's: a step that has this length has one whole recording, whenever it begins.
    sure_s = profile.every_s + profile.seconds
    longest: dict[str, float] = {}
    for name, seconds in steps:
        longest[name] = max(seconds, longest.get(name, 0.0))
    short = [f"{name} ({seconds:,.0f} s)" for name, seconds in longest.items() if seconds < sure_s]
    if not short:
        return []
    return [
        f"`profile` records {profile.seconds} s every {profile.every_s} s, so it may record nothing in "
        f"{', '.join(short)}; set its `every_s` to less than a step takes, as in `profile: {{seconds: 3, every_s: 8}}`"
    ]


def redo_advice(planned: Sequence[PlannedCell], workspace: Workspace) -> list[str]:
    """Redo logs that the number of files of another fragment multiplies, or that take over half of the free space."""
    advice: dict[str, None] = {}
    for entry in planned:
        if entry.build.local is None:
            continue
        options, size = flavour_of(entry.build).log_options(entry.config), redo_said(entry.build, entry.config)
        if len({option.origin.rpartition(":")[0] for option in options}) > 1:
            advice[f"{entry.cell.dbms}: the size of a redo log file is multiplied by the number of files: {size}"] = (
                None
            )
        folders = entry.cell.config.folders
        place = nearest_existing(folders.get("redo", folders.get("data", workspace.sandboxes)))
        if redo_bytes(entry.build, entry.config) > shutil.disk_usage(place).free / 2:
            advice[f"{entry.cell.dbms}: much of the free disk space will be {size}"] = None
    return list(advice)
