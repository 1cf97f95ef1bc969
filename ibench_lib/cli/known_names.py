"""What a shell offers for a name that is half typed: experiments, results, runs, steps, questions, builds, and others.

Names of a lake stand in names of files and in manifests, so neither DuckDB nor Polars is imported. A manifest may come
from elsewhere: of it only regular files of bounded size are read, and only names that obey the rules of `paths` are
offered.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import typer

from ibench_lib.paths import LAKE_VARIABLE, NAME_RULE, RUN_ID_RULE, SQL, family_folders, workload_folders, workspace

_LARGEST_MANIFEST = 4 * 2**20
"""Bytes; a larger manifest is not read."""

_LARGEST_NOTES, _LARGEST_EXPERIMENT = 100_000, 1_000_000
"""Bytes of a run's notes, and of an experiment file."""

_MOST_MANIFESTS = 200
"""The manifests of so many runs are read, newest first: a shell waits for the answer."""

_QUESTIONS = ("steps", "runs", "series", "compare", "views")
_NAME, _RUN_ID = re.compile(NAME_RULE), re.compile(RUN_ID_RULE)

Offers = Callable[[str], list[str]]
"""A function as typer's `autocompletion` takes it: of the beginning that is typed."""


def _offered(names: Callable[[], Iterable[str]]) -> Offers:
    """Those of the names that begin as typed; none where they cannot be found. Nothing is printed."""

    def offered(typed: str) -> list[str]:
        """The docstring of `names` takes the place of this one."""
        with contextlib.redirect_stderr(io.StringIO()):
            try:
                return sorted({name for name in names() if name.startswith(typed) and _RUN_ID.fullmatch(name)})
            except Exception:  # whatever it is, an error between two words of a command line helps nobody
                return []

    offered.__doc__ = names.__doc__  # and not its signature, by which typer calls it
    return offered


@_offered
def experiments() -> Iterable[str]:
    """Experiments that have runs in the lake."""
    return [name for manifest in _manifests() if (name := _in(manifest, "experiment", "name"))]


@_offered
def experiments_with_a_file() -> Iterable[str]:
    """Experiments that can be run, and those that have runs."""
    return [*workspace().experiment_names(), *experiments("")]


@_offered
def results() -> Iterable[str]:
    """Results in the lake, <build>.<config>."""
    return [name for manifest in _manifests() if (name := _in(manifest, "cell", "dbms"))]


@_offered
def setups() -> Iterable[str]:
    """Setups of runs in the lake."""
    return [name for manifest in _manifests() if (name := _in(manifest, "cell", "setup"))]


@_offered
def steps() -> Iterable[str]:
    """Steps that runs in the lake planned."""
    workloads = (manifest.get("workload") for manifest in _manifests())
    planned = (workload.get("resolved_steps") for workload in workloads if isinstance(workload, dict))
    return [name for of_run in planned if isinstance(of_run, list) for step in of_run if (name := _in(step, "name"))]


@_offered
def runs() -> Iterable[str]:
    """Runs in the lake, by id."""
    return [folder.name for folder in _run_folders()]


@_offered
def runs_and_experiments() -> Iterable[str]:
    """What names runs: their ids, and experiments."""
    return [*runs(""), *experiments("")]


@_offered
def questions() -> Iterable[str]:
    """Questions and views, of the library and of its workloads."""
    folders = [SQL / name for name in _QUESTIONS]
    folders += [folder / "results" / "sql" for folder in workload_folders("results/sql").values()]
    folders += [folder / "results" / "sql" for folder in family_folders("results/sql").values()]
    return [path.stem for folder in folders for path in folder.glob("*.sql")]


@_offered
def answerable() -> Iterable[str]:
    """What `ibench sql` can describe: questions, views and tables."""
    from ibench_lib.schema import TABLES
    from ibench_lib.store.manifest_tables import MANIFEST_TABLES

    return [*questions(""), *TABLES, *MANIFEST_TABLES]


@_offered
def metrics() -> Iterable[str]:
    """Metrics of the library and of its workloads."""
    from ibench_lib.metrics import METRICS

    return METRICS


@_offered
def verdicts() -> Iterable[str]:
    """What `ibench changes` can be limited to."""
    return ["regressions"]


@_offered
def measured_builds() -> Iterable[str]:
    """Builds of runs in the lake."""
    return [name for manifest in _manifests() if (name := _in(manifest, "cell", "build"))]


@_offered
def installable() -> Iterable[str]:
    """Builds that can be installed on this machine."""
    from ibench_lib.servers import catalogue

    return catalogue.offers()


@_offered
def tags() -> Iterable[str]:
    """Tags of runs in the lake."""
    notes = (said.get("tags") for said in _documents("notes.json", _LARGEST_NOTES))
    return [
        tag
        for of_run in notes
        if isinstance(of_run, list)
        for tag in of_run
        if isinstance(tag, str) and _NAME.fullmatch(tag)
    ]


@_offered
def parts_of_cells() -> Iterable[str]:
    """What names cells of the experiment file on the command line: builds, configurations, setups and results."""
    # An option without its value, which is being typed, hides the arguments before it from typer's context.
    words = os.environ.get("COMP_WORDS") or os.environ.get("_TYPER_COMPLETE_ARGS", "")
    return _parts_of_cells(next(Path(word) for word in words.split() if word.endswith((".yaml", ".yml"))))


def runs_there(context: typer.Context, incomplete: str) -> list[str]:
    """Runs at the place on the command line, if it is a folder, by id."""
    return _offered(lambda: [folder.name for folder in _of_runs([Path(context.params["place"])])])(incomplete)


@_offered
def notebooks() -> Iterable[str]:
    """Notebooks that posts can be made from."""
    return workspace().notebook_names()


@_offered
def builds() -> Iterable[str]:
    """Builds that are installed or registered."""
    return [path.name for path in workspace().builds.iterdir() if path.is_dir() and not path.is_symlink()]


def _run_folders() -> list[Path]:
    """The folders of the lake's runs, the newest first; none if the lake is on another machine."""
    address = os.environ.get(LAKE_VARIABLE)
    return _of_runs([Path(address)] if address else [workspace().runs, workspace().sample])


def _of_runs(folders: Iterable[Path]) -> list[Path]:
    found = [entry for folder in folders if folder.is_dir() for entry in os.scandir(folder)]
    of_runs = [
        Path(entry.path) for entry in found if _RUN_ID.fullmatch(entry.name) and entry.is_dir(follow_symlinks=False)
    ]
    return sorted(of_runs, key=lambda folder: folder.name, reverse=True)


def _manifests() -> Iterator[dict[str, Any]]:
    """The manifests of the newest runs, without those that cannot be read."""
    return _documents("manifest.json", _LARGEST_MANIFEST)


def _documents(name: str, most_bytes: int) -> Iterator[dict[str, Any]]:
    """JSON objects of this name in the folders of the newest runs, without those that cannot be read."""
    for folder in islice(_run_folders(), _MOST_MANIFESTS):
        with contextlib.suppress(OSError, ValueError, RecursionError):
            # Not blocked by a pipe, and not led elsewhere by a link.
            opened = os.open(folder / name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            with open(opened, "rb") as file:
                if stat.S_ISREG(os.fstat(opened).st_mode):
                    text = file.read(most_bytes + 1)
                    document = json.loads(text) if len(text) <= most_bytes else None
                    if isinstance(document, dict):
                        yield document


def _parts_of_cells(path: Path) -> list[str]:
    """What stands in an experiment file under its own name; neither globs nor what `vary` makes of a configuration."""
    from ruamel.yaml import YAML

    with path.open("rb") as file:
        text = file.read(_LARGEST_EXPERIMENT + 1)
    loaded = YAML(typ="safe", pure=True).load(text) if len(text) <= _LARGEST_EXPERIMENT else {}
    builds, configs, setups = (
        [one["name"] if isinstance(one, dict) else one for one in loaded.get(part) or []]
        for part in ("builds", "configs", "setups")
    )
    results = [f"{build}.{config}" for build in builds for config in configs]
    return [name for name in map(str, (*builds, *configs, *setups, *results)) if _NAME.fullmatch(name)]


def _in(found: Any, *keys: str) -> str | None:
    """The name in a part of a manifest; None if there is none, or nothing that is a name."""
    for key in keys:
        found = found.get(key) if isinstance(found, dict) else None
    return found if isinstance(found, str) and _NAME.fullmatch(found) else None
