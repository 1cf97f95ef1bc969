"""What travels between hosts: an experiment with the files that it names, and its runs; and what code deals with it."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from ibench_lib.capture.host_facts import host_class
from ibench_lib.configs.option_file import with_included
from ibench_lib.configs.resolve import fragments_in
from ibench_lib.errors import ConfigError, LakeError
from ibench_lib.experiment.cells import LoadedExperiment, load_experiment
from ibench_lib.paths import PACKAGE, Workspace, check_name
from ibench_lib.runner.planned import PlannedCell
from ibench_lib.store.manifest import FILE_NAME, Manifest, parse_manifest
from ibench_lib.store.transfer import Store, take_in

_FRAGMENTS, _COMPLETE, _WORKLOAD = "fragments", "my_cnf", "workload"
_CODE = ("*.py", "*.cnf", "*.sql")


def pack(experiment: LoadedExperiment) -> dict[str, Any]:
    """The experiment as JSON: `files` are texts by their path below the folder that it is unpacked in.

    Raises
    ------
    ConfigError : a file that it names cannot be read.
    """
    spec, files = experiment.spec, {}
    if spec.configs_folder is not None:
        folder = experiment.folder / Path(spec.configs_folder).expanduser()
        for path in sorted({file for own in fragments_in(folder) for file in with_included(own)}):
            files[f"{_FRAGMENTS}/{_relative(path, folder)}"] = _text(path)
    for number, config in enumerate(spec.configs):
        if config.my_cnf is not None:
            complete = experiment.folder / Path(config.my_cnf).expanduser()
            for path in with_included(complete):
                files[f"{_COMPLETE}/{number}/{_relative(path, complete.parent)}"] = _text(path)
    for key, path in experiment.workload_files.items():
        files[f"{_WORKLOAD}/{key}"] = _text(path)
    return {"name": experiment.name, "text": experiment.text, "files": files}


def unpack(packed: dict[str, Any], folder: Path) -> LoadedExperiment:
    """The experiment that was packed; its files are written below `folder`, an empty one, and found there."""
    file = folder / f"{check_name(packed['name'], 'experiment')}.yaml"
    file.write_text(packed["text"], encoding="utf-8")
    for name, text in packed["files"].items():
        path = (folder / name).resolve()
        if not path.is_relative_to(folder.resolve()):
            raise ConfigError(f"experiment {packed['name']}: {name!r:.80} leads out of its folder")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    of_workload = {name.removeprefix(f"{_WORKLOAD}/"): name for name in packed["files"] if name.startswith(_WORKLOAD)}
    loaded = load_experiment(file, {key: folder / name for key, name in of_workload.items()})
    own = None if loaded.spec.configs_folder is None else _FRAGMENTS
    if own is not None:
        (folder / own).mkdir(exist_ok=True)
    configs = [
        config
        if config.my_cnf is None
        else config.model_copy(update={"my_cnf": f"{_COMPLETE}/{number}/{Path(config.my_cnf).name}"})
        for number, config in enumerate(loaded.spec.configs)
    ]
    return replace(loaded, spec=loaded.spec.model_copy(update={"configs": configs, "configs_folder": own}))


def receive(
    answer: Mapping[str, Any], entry: PlannedCell, worker: str, of_class: str, workspace: Workspace, store: Store | None
) -> Manifest:
    """The run of a cell that a worker made on a host of a class: put into the lake, or found in the store.

    Raises
    ------
    LakeError : it is not what it should be.
    """
    run_id, files = str(answer["run_id"]), answer.get("files", {})
    manifest = parse_manifest(run_id, files.get(FILE_NAME, b"")) if store is None else store.manifest(run_id)
    if manifest.run_id != run_id or manifest.cell.fingerprint != entry.fingerprint:
        raise LakeError(
            f"{worker}: it returned run {manifest.run_id!r:.80} for {entry.cell}, but that run is of another cell"
        )
    if (own_class := host_class(manifest.host)) != of_class:
        raise LakeError(f"{worker}: run {run_id} was made on a host of class {own_class}, not {of_class}")
    if store is not None:
        return manifest

    def read(name: str) -> list[bytes]:
        try:
            return [files[name]]
        except KeyError:
            raise LakeError(f"{worker}: run {run_id} came without {name}") from None

    if not take_in(manifest, files, read, workspace, worker):
        raise LakeError(f"{worker}: run {run_id} already exists here")
    return manifest


def code_files() -> list[Path]:
    """Every file that decides what this library does, wherever in the package it lies."""
    return sorted(path for pattern in _CODE for path in PACKAGE.rglob(pattern))


@cache
def code_identity() -> str:
    """The version of this library, a digest of all that it consists of, and the Python that runs it.

    Where two hosts agree on that, they run the same code.
    """
    digest = hashlib.sha256()
    for path in code_files():
        content = path.read_bytes()
        digest.update(f"{path.relative_to(PACKAGE)} {len(content)}\n".encode() + content)
    python = ".".join(platform.python_version_tuple()[:2])
    return f"{version('ibench')} ({digest.hexdigest()[:12]}, Python {python})"


def _relative(path: Path, folder: Path) -> Path:
    return path.resolve().relative_to(folder.resolve())


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} cannot be read: {error}") from error
