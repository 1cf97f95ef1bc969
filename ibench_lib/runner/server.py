"""The server of one run, sandboxed or remote: what it was asked to be, and what it is. `fit.py`: can it run that?"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ibench_lib.base.mask import Mask, mask_of_run
from ibench_lib.client.driver import Connection, StatementError
from ibench_lib.configs.meaning import not_in_force
from ibench_lib.configs.resolve import ServerConfig
from ibench_lib.errors import RunFailed
from ibench_lib.paths import Workspace
from ibench_lib.servers.build import Build
from ibench_lib.servers.flavours.flavour import flavour_of
from ibench_lib.servers.sandbox import Sandbox
from ibench_lib.servers.sandbox_directory import private_folder
from ibench_lib.servers.server import AnyBuild, Server
from ibench_lib.store.manifest import OPTION_FILE, SERVER_LOG, Manifest, ServerRecord

# A server writes its whole redo log before it answers for the first time: 128 GiB at 200 MiB/s take eleven minutes.
_START_S, _REDO_S_PER_GIB = 120.0, 6.0
# The kernel closes a killed server's sockets before its parent can see that it has ended; on a busy host, long before.
_LOOKS, _LOOK_S = 20, 0.05


def has_died(alive: Callable[[], bool]) -> bool:
    """Whether a server that a client has lost is dead, or dies within a second: its clients hear of it first."""
    for _ in range(_LOOKS):
        if not alive():
            return True
        time.sleep(_LOOK_S)
    return False


def open_server(
    build: AnyBuild,
    config: ServerConfig,
    workspace: Workspace,
    run_dir: Path,
    *,
    transport: str,
    engine: str,
    origin: Path | None = None,
    storage: Mapping[str, Path] | None = None,
) -> Server:
    """The context manager that a run's server lives in. A sandbox begins with a copy of the data directory `origin`.

    `storage` has folders on other disks, see `Sandbox`.
    """

    def sandbox(here: Build) -> Sandbox:
        flavour = flavour_of(here)
        return Sandbox(
            here,
            workspace.sandbox_dir(run_dir.name),
            run_dir / OPTION_FILE,
            run_dir / SERVER_LOG,
            tcp=transport == "tcp",
            tls=transport == "tls",
            plugins=flavour.plugins(engine),
            templates=workspace.datadirs,
            origin=origin,
            storage=storage,
            start_timeout_s=_START_S + _REDO_S_PER_GIB * flavour.log_bytes(config, here.release) / (1 << 30),
        )

    return build.server(sandbox)


def mask_for(
    build: AnyBuild, workspace: Workspace, run_id: str, experiment_folder: Path, storage: Mapping[str, Path]
) -> Mask:
    """What the files of a run must not say of this machine, nor of a remote server."""
    basedir = None if build.local is None else build.local.basedir
    places = dict[Path, str]()
    for what, disk in storage.items():
        folder = private_folder(disk, workspace.sandbox_dir(run_id))
        places |= {folder / "data" / "datadir": "<datadir>", folder / what: f"<{what}>", folder: "<sandbox>"}
    return mask_of_run(workspace, run_id, basedir, experiment_folder, build.names_to_hide, places)


def ask(server: Server, address: dict[str, Any]) -> ServerRecord:
    """What a server reports after its start. Raises RunFailed if it does not."""
    variables = flavour_of(server.build).variables(address)
    for name in ("version", "version_comment"):
        if name not in variables:
            raise RunFailed(
                f"{server.build.label} does not report its variable {name}",
                hint="check what the connection leads to: `ibench servers check` shows what answers",
            )
    return ServerRecord(
        flavour=server.build.flavour,
        version=variables["version"],
        version_comment=variables["version_comment"],
        variables=variables,
    )


def not_as_asked(server: Server, config: ServerConfig, variables: dict[str, str]) -> list[str]:
    """Sentences on options whose value in force is not the one that was asked for."""
    return not_in_force(config, server.known_options(), variables)


def changed_variables(
    server: Server, before: dict[str, str], address: dict[str, Any]
) -> dict[str, tuple[str | None, str | None]]:
    """Variables whose value is another one by now: (before, now). Raises RunFailed where the server does not say."""
    after = flavour_of(server.build).variables(address)
    return {
        name: (before.get(name), after.get(name))
        for name in sorted(before.keys() | after.keys())
        if before.get(name) != after.get(name)
    }


def create_database(server: Server, connection: Connection, name: str) -> None:
    """Create the database of a run. It is gone again when the server closes.

    Raises
    ------
    RunFailed : it is there already, and may be somebody's.
    StatementError, ConnectionLost : the server refuses or is gone.
    """
    flavour = flavour_of(server.build)
    try:
        connection.query(flavour.create_database.format(name=name))
    except StatementError as error:
        if error.code != flavour.database_exists:
            raise
        raise RunFailed(
            f"{server.build.label} already has a database {name}",
            hint="another run may be using it; ibench does not touch it, so drop it yourself if nobody needs it",
        ) from error
    server.owned.append(name)


def left_there(server: Server) -> list[str]:
    """A sentence for each database of the run that is on somebody else's server and has not been dropped."""
    if server.local is not None:
        return []
    return [
        f"{still_on(server.build.label, name)}: it was not dropped; drop it before the next run"
        for name in server.owned
    ]


def still_on(label: str, database: str) -> str:
    """How such a sentence begins."""
    return f"database {database} is still on {label}"


def left_by(manifest: Manifest) -> list[str]:
    """The sentences of `left_there` that a run has in its warnings."""
    return [warning for warning in manifest.warnings if warning.startswith("database ") and " is still on " in warning]


def reset_binary_log(server: Server, variables: dict[str, str]) -> str | None:
    """The statement that deletes the binary logs, where there are any and they are ours."""
    if server.local is None:
        return None
    return flavour_of(server.build).reset_binary_log(server.local.build, variables)
