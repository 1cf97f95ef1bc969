"""Where the mask of a run (`privacy.py`) is put on: its manifest, its texts; and how it outlives a runner that dies."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from ibench_lib.base.durable import write_atomically
from ibench_lib.base.mask import HOST, NOTHING, Mask
from ibench_lib.base.text_file import NotReadable, read_text
from ibench_lib.store.journal import FOLDER
from ibench_lib.store.manifest import FILE_NAME, Manifest, write_manifest

_RECORD = "mask.json"
_MOST_BYTES = 10_000_000
IDENTITIES = {"hostname": HOST, "server_uid": "<server_uid>", "server_uuid": "<server_uuid>"}
PLACES = {"datadir": "<datadir>", "basedir": "<basedir>"}
"""What stands for these variables of a server. Their names decide, because a host may be called anything."""
# Everywhere else are names, numbers and facts, in which a host's name can only be a word by chance.
_FREE_TEXT = ("error", "config", "null_reasons", "settle", "warnings", "collectors")


def write_masked(run_dir: Path, manifest: Manifest, mask: Mask) -> None:
    """Replace a run's manifest by this one as its readers shall see it. The one in memory stays as it is."""
    write_manifest(run_dir, masked(manifest, mask) if mask else manifest)


def masked(manifest: Manifest, mask: Mask) -> Manifest:
    """The manifest without this machine's paths and names, and without those of the server's."""
    variables = manifest.server.variables if manifest.server else {}
    # A remote server has folders and a name that only it could tell.
    mask = mask.also(
        {variables[name]: word for name, word in PLACES.items() if name in variables},
        {variables[name]: word for name, word in IDENTITIES.items() if variables.get(name)},
    )
    record: dict[str, Any] = manifest.model_dump(mode="json")
    seen = {key: mask.all(value, mask.text if key in _FREE_TEXT else mask.paths) for key, value in record.items()}
    seen["experiment"]["text"] = mask.text(record["experiment"]["text"])
    if "environment" in record["host"]:
        seen["host"]["environment"] = mask.all(record["host"]["environment"])
    if record["server"] is not None:
        for key in ("variables", "variables_changed"):
            seen["server"][key] = mask.all(record["server"][key])
        for name in IDENTITIES.keys() & seen["server"]["variables"].keys():
            seen["server"]["variables"][name] = IDENTITIES[name]
    return Manifest.model_validate(seen)


def mask_texts(run_dir: Path, mask: Mask) -> None:
    """Mask the files next to the manifest and tables: the server's my.cnf and its log.

    Raises
    ------
    OSError : among others a full disk.
    """
    for path in sorted(run_dir.iterdir()) if mask else []:
        other = path.suffix == ".parquet" or path.name == FILE_NAME or path.name.startswith(".")
        if other or path.is_symlink() or not path.is_file():
            continue
        content = path.read_bytes()
        seen = mask.text(content.decode(errors="surrogateescape")).encode(errors="surrogateescape")
        if seen != content:
            write_atomically(path, seen)


def keep_mask(run_dir: Path, mask: Mask) -> None:
    """Note a mask in the journal, for the process that seals the run if its runner is killed.

    It is deleted with the journal.
    """
    descriptor = os.open(run_dir / FOLDER / _RECORD, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with open(descriptor, "w", encoding="utf-8") as file:
        json.dump(mask.as_json(), file)


def kept_mask(run_dir: Path) -> Mask:
    """The mask that the journal has; the empty one where it has none, as in runs of earlier versions."""
    try:
        return Mask(**json.loads(read_text(run_dir / FOLDER / _RECORD, _MOST_BYTES, follow=False)))
    except (OSError, NotReadable, ValueError, TypeError):
        return NOTHING
