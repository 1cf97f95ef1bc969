"""Runs in another place: a folder, or an object store that fsspec has an address for, such as s3://bucket/lake.

A run lies there as it lies in data/runs: Parquet and manifest as they are, `<address>/<run_id>/`. The manifest is
copied last, so a run is there when all of it is. Credentials come from where the store's own library looks for them
(for S3: the environment, or the user's AWS configuration), never from an address.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import urlsplit

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq

from ibench_lib.base.durable import sync_directory
from ibench_lib.errors import IbenchError, LakeError, NameRefused
from ibench_lib.lake.discovery import Found, checked_manifest, find_runs
from ibench_lib.lake.manifest import FILE_NAME, Manifest, parse_manifest
from ibench_lib.lake.sealing import table_of
from ibench_lib.lake.verify import verify
from ibench_lib.paths import Workspace, check_run_id
from ibench_lib.schema import TABLES

_BESIDE = ("my.cnf", "server.log")


@dataclass(frozen=True)
class Store:
    """A place that runs can be copied to and read from. `root` is its path in the file system's own words."""

    url: str
    files: Any  # fsspec ships no types
    root: str

    @property
    def is_local(self) -> bool:
        """Whether it is a folder of this machine."""
        return "file" in (self.files.protocol if isinstance(self.files.protocol, tuple) else (self.files.protocol,))

    def path(self, *parts: str) -> str:
        return str(PurePosixPath(self.root, *parts))

    def run_ids(self) -> list[str]:
        """Names of the folders there that hold a manifest, sorted."""
        found = self.ask(lambda: self.files.glob(self.path("*", FILE_NAME)))
        return sorted(PurePosixPath(path).parent.name for path in found)

    def manifest(self, run_id: str) -> Manifest:
        """Raises LakeError where it cannot be read or is another run's."""
        text = self.ask(lambda: self.files.cat_file(self.path(run_id, FILE_NAME)))
        manifest = parse_manifest(run_id, text)
        if manifest.run_id != run_id:
            raise LakeError(f"run {run_id} in {self.url}: its manifest is of run {manifest.run_id!r:.80}")
        return manifest

    def holds(self, run_id: str) -> bool:
        return bool(self.ask(lambda: self.files.exists(self.path(run_id, FILE_NAME))))

    def ask(self, question: Callable[[], Any]) -> Any:
        """What the store answers; whatever its library raises becomes a LakeError."""
        try:
            return question()
        except Exception as error:  # every store's library has errors of its own
            raise LakeError(
                f"{self.url}: {type(error).__name__}: {(str(error).splitlines() or ['no answer'])[0]}",
                hint="check the address, the credentials in your environment, and that the store can be reached",
            ) from error


def open_store(url: str) -> Store:
    """The store at an address.

    Raises
    ------
    LakeError : an unknown kind of address, a package that is missing, or a password in the address.
    """
    if "@" in urlsplit(url).netloc:
        where = urlsplit(url)
        raise LakeError(
            f"{where.scheme}://…@{where.hostname}{where.path}: credentials do not belong into an address",
            hint="put them where the store's library looks for them, such as AWS_ACCESS_KEY_ID or ~/.aws",
        )
    try:
        files, root = fsspec.url_to_fs(url, use_listings_cache=False)
    except (ImportError, ValueError) as error:
        hint = "for S3: pip install 'ibench[s3]'" if isinstance(error, ImportError) else "such as s3://bucket/lake"
        raise LakeError(f"{url}: {(str(error).splitlines() or ['not an address'])[0]}", hint=hint) from error
    return Store(url, files, root)


def push(run_dir: Path, store: Store) -> bool:
    """Copy a sealed run to a store. False when it is there already, the same.

    Raises
    ------
    LakeError : it is not sealed, not good, or the store has another run of that name.
    """
    problems = verify(run_dir)
    if problems:
        raise LakeError(
            f"run {run_dir.name} is not good: {problems[0]}", hint="`ibench runs verify` lists all problems"
        )
    manifest = checked_manifest(run_dir)
    if store.holds(manifest.run_id):
        if store.manifest(manifest.run_id).files == manifest.files:
            return False
        raise LakeError(f"{store.url} has another run {manifest.run_id} already", hint="a run is never overwritten")
    if store.is_local:  # an object store has no folders
        store.files.makedirs(store.path(run_dir.name), exist_ok=True)
    beside = [name for name in _BESIDE if (run_dir / name).is_file()]
    for name in (*manifest.files, *beside, FILE_NAME):
        content = (run_dir / name).read_bytes()
        store.ask(partial(store.files.pipe_file, store.path(run_dir.name, name), content))
    return True


def pull(run_id: str, store: Store, workspace: Workspace) -> bool:
    """Copy a run from a store into the lake, every file compared with its checksum. False when it is there already.

    Raises
    ------
    LakeError : it cannot be read, or is not what its manifest says. Then nothing is left of it here.
    """
    if workspace.run_dir(run_id).exists():
        return False
    manifest = store.manifest(run_id)
    present = {PurePosixPath(path).name for path in store.ask(lambda: store.files.ls(store.path(run_id), False))}

    def read(name: str) -> bytes:
        content: bytes = store.ask(partial(store.files.cat_file, store.path(run_id, name)))
        return content

    return take_in(manifest, present, read, workspace, store.url)


def take_in(
    manifest: Manifest, present: Collection[str], read: Callable[[str], bytes], workspace: Workspace, where: str
) -> bool:
    """Put a run that comes from `where` into the lake: all of it, each file as its manifest vouches for, or nothing.

    `present` are the names of its files, `read` gives the content of one. False when the run is here already.

    Raises
    ------
    LakeError : a file is missing, or is not what the manifest says.
    """
    run_id = manifest.run_id
    run_dir = workspace.run_dir(run_id)
    if run_dir.exists():
        return False
    workspace.runs.mkdir(parents=True, exist_ok=True)
    arriving = Path(tempfile.mkdtemp(prefix=".arriving-", dir=workspace.runs))
    try:
        for name in (*manifest.files, *(name for name in _BESIDE if name in present), FILE_NAME):
            if PurePosixPath(name).name != name:
                raise LakeError(f"run {run_id} in {where}: {name!r:.80} is not a file name")
            content = read(name)
            record = manifest.files.get(name)
            if record is not None and hashlib.sha256(content).hexdigest() != record.sha256:
                raise LakeError(f"run {run_id} in {where}: {name} is not what its manifest vouches for")
            with open(arriving / name, "wb") as file:
                file.write(content)
                os.fsync(file.fileno())
        arriving.chmod(0o755)
        os.rename(arriving, run_dir)
        sync_directory(workspace.runs)
    finally:
        shutil.rmtree(arriving, ignore_errors=True)
    return True


def find_stored_runs(store: Store) -> Found:
    """All runs of a store. In an object store, files are compared by size only: `pull` compares checksums."""
    if store.is_local:
        return find_runs([Path(store.root)], None)
    found = Found()
    for run_id in store.run_ids():
        try:
            manifest = store.manifest(check_run_id(run_id))
        except NameRefused as error:
            found.problem(run_id, None, error.what)
            continue
        except IbenchError as error:
            found.problem(run_id, FILE_NAME, error.what)
            continue
        found.manifests.append(manifest)
        _add_files(found, store, manifest)
    return found


def _add_files(found: Found, store: Store, manifest: Manifest) -> None:
    listed: Iterable[dict[str, Any]] = store.ask(lambda: store.files.ls(store.path(manifest.run_id), True))
    sizes = {PurePosixPath(str(entry["name"])).name: entry["size"] for entry in listed}
    for name, record in manifest.files.items():
        table = TABLES.get(table_of(name))
        if table is None:
            continue
        path = store.path(manifest.run_id, name)
        try:
            if sizes.get(name) != record.bytes:
                raise ValueError(f"{sizes.get(name, 'no')} bytes, but the manifest says {record.bytes}")
            with store.files.open(path, "rb") as file:
                found.add(table, store.files.unstrip_protocol(path), pq.read_schema(file))
        except (OSError, ValueError, pa.ArrowException) as error:
            found.problem(manifest.run_id, name, (str(error).splitlines() or ["unreadable"])[0])
