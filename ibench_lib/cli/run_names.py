"""Which runs a user means: by id, by a beginning that only one has, by a glob, or by the name of an experiment."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

from ibench_lib.errors import LakeError, UsageError

if TYPE_CHECKING:
    import duckdb


def fitting(
    patterns: Sequence[str],
    known: Sequence[str],
    where: str,
    hint: str,
    experiment_of: Callable[[str], str | None] = lambda _: None,
) -> list[str]:
    """Those of the known ids that patterns mean, each once.

    Parameters
    ----------
    where, hint : where the runs are, and what to do if none fits.
    experiment_of : the experiment of a run. It is asked only for a word that no id begins with.

    Raises
    ------
    UsageError : a pattern that fits no run, or a beginning that fits several.
    """
    found: dict[str, None] = {}
    for pattern in patterns:
        is_glob = any(character in pattern for character in "*?[")
        fits = [name for name in known if fnmatchcase(name, pattern)] if is_glob else []
        if not is_glob:
            fits = [pattern] if pattern in known else [name for name in known if name.startswith(pattern)]
            if len(fits) > 1:
                raise UsageError(
                    f"{len(fits)} runs begin with {pattern!r:.200}",
                    hint=f"write more of the id, or {pattern}* for all of them",
                    detail="\n".join(fits),
                )
            fits = fits or [name for name in known if experiment_of(name) == pattern]
        if not fits:
            raise UsageError(f"there is no run {pattern!r:.200} in {where}", hint=hint)
        found |= dict.fromkeys(fits)
    return list(found)


def of_lake(lake: duckdb.DuckDBPyConnection, patterns: Sequence[str]) -> list[str]:
    """As `fitting`, in a lake. An experiment means the latest run of each of its cells, without those excluded."""
    rows = lake.execute("SELECT run_id, experiment, latest AND excluded IS NULL FROM questions.known_runs()").fetchall()
    counting = {run_id: experiment for run_id, experiment, counts in rows if counts}
    hint = "`ibench runs` lists the runs and their experiments"
    return fitting(patterns, [run_id for run_id, *_ in rows], "the lake", hint, counting.get)


def experiment_in(run_dirs: Mapping[str, Path]) -> Callable[[str], str | None]:
    """The experiment of a run by its manifest, which is in its folder; None for one that cannot be read."""
    from ibench_lib.store.manifest import read_manifest  # slow to import, and asked of few words

    def found(run_id: str) -> str | None:
        try:
            return read_manifest(run_dirs[run_id]).experiment.name
        except LakeError:
            return None

    return found
