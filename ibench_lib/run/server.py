"""The server of one run, sandboxed or remote: whether it fits the workload, what it was asked to be, what it is."""

from __future__ import annotations

import contextlib
import shutil
from pathlib import Path
from typing import Any, TypeAlias

import pymysql

from ibench_lib.base.mask import SERVER, USER, Mask, mask_of_run
from ibench_lib.client.mysql.connection import Connection
from ibench_lib.client.mysql.wire import StatementError
from ibench_lib.configs.meaning import not_in_force
from ibench_lib.configs.resolve import ServerConfig
from ibench_lib.errors import ExperimentError, RunFailed
from ibench_lib.lake.manifest import ServerRecord
from ibench_lib.paths import Workspace
from ibench_lib.run.space import redo_bytes
from ibench_lib.servers.accepts import check
from ibench_lib.servers.build import Build
from ibench_lib.servers.flavours.flavour import flavour_of
from ibench_lib.servers.plugins import MYROCKS, require_plugin
from ibench_lib.servers.remote import Remote, RemoteServer
from ibench_lib.servers.sandbox import FULL, Sandbox
from ibench_lib.servers.variables import known_options
from ibench_lib.workloads.insert_benchmark.workload import Options

Server: TypeAlias = Sandbox | RemoteServer

_DATABASE_EXISTS = 1007
_FULL_BYTES = 1 << 20
# A server writes its whole redo log before it answers for the first time: 128 GiB at 200 MiB/s take eleven minutes.
_START_S, _REDO_S_PER_GIB = 120.0, 6.0


def fit(build: Build | Remote, config: ServerConfig, workload: Options) -> list[str]:
    """Refuse what cannot run on a build, before any data is touched. Returns the `loose_` lines that it skips.

    Raises
    ------
    ConfigError : the server does not know an option or refuses a value.
    BuildNotFound : it lacks a plugin that the workload needs.
    ExperimentError : a remote server is not reached in the way that the workload says.
    """
    if isinstance(build, Remote):
        spoken = "tls" if build.access.certificate else "tcp"
        if workload.transport != spoken:
            raise ExperimentError(
                f"build {build.label} is remote and reached by {spoken}, not by the workload's {workload.transport}",
                hint=f"write `transport: {spoken}` into the workload",
            )
        return []  # it has the plugins and the configuration that it has
    plugins = _plugins(workload)
    for plugin in plugins:
        require_plugin(build, plugin)
    return check(build, config, plugins)


def disk_is_full(server: Server) -> bool:
    """Whether a server failed because the disk of its data is full: by its error log, or by the disk itself."""
    if not isinstance(server, Sandbox):
        return False
    with contextlib.suppress(OSError):
        if shutil.disk_usage(server.directory).free < _FULL_BYTES:
            return True
    return bool(FULL.search(server.log_tail()))


def open_server(
    build: Build | Remote,
    config: ServerConfig,
    workload: Options,
    workspace: Workspace,
    run_dir: Path,
    origin: Path | None = None,
) -> Server:
    """The context manager that a run's server lives in. A sandbox begins with a copy of the data directory `origin`."""
    if isinstance(build, Remote):
        return RemoteServer(build)
    return Sandbox(
        build,
        workspace.sandbox_dir(run_dir.name),
        run_dir / "my.cnf",
        run_dir / "server.log",
        tcp=workload.transport == "tcp",
        tls=workload.transport == "tls",
        plugins=_plugins(workload),
        templates=workspace.datadirs,
        origin=origin,
        start_timeout_s=_START_S + _REDO_S_PER_GIB * redo_bytes(config) / (1 << 30),
    )


def mask_for(build: Build | Remote, workspace: Workspace, run_id: str, experiment_folder: Path) -> Mask:
    """What the files of a run must not say of this machine, nor of a remote server."""
    if isinstance(build, Remote):
        names = {build.access.host: SERVER, build.access.user: USER}
        return mask_of_run(workspace, run_id, None, experiment_folder, names)
    return mask_of_run(workspace, run_id, build.basedir, experiment_folder, {})


def ask(server: Server, address: dict[str, Any]) -> ServerRecord:
    """What a server says of itself after its start. Raises RunFailed where it does not."""
    variables = _variables(address)
    return ServerRecord(
        flavour=server.build.flavour,
        version=variables["version"],
        version_comment=variables["version_comment"],
        variables=variables,
    )


def not_as_asked(server: Server, config: ServerConfig, variables: dict[str, str]) -> list[str]:
    """Sentences on options whose value in force is not the one that was asked for."""
    known = known_options(server.build, server.plugins) if isinstance(server, Sandbox) else None
    return not_in_force(config, known, variables)


def changed_variables(before: dict[str, str], address: dict[str, Any]) -> dict[str, tuple[str | None, str | None]]:
    """Variables whose value is another one by now: (before, now). Raises RunFailed where the server does not say."""
    after = _variables(address)
    return {
        name: (before.get(name), after.get(name))
        for name in sorted(before.keys() | after.keys())
        if before.get(name) != after.get(name)
    }


def create_database(server: Server, connection: Connection, name: str) -> None:
    """Create the database of a run. A remote server drops it again when it closes.

    Raises
    ------
    RunFailed : it is there already, and may be somebody's.
    StatementError, ConnectionLost : the server refuses or is gone.
    """
    try:
        connection.query(f"CREATE DATABASE {name}")
    except StatementError as error:
        if error.code != _DATABASE_EXISTS:
            raise
        raise RunFailed(
            f"{server.build.label} has a database {name} already",
            hint="another run may be using it; what is in it is not touched, so drop it by hand if nobody needs it",
        ) from error
    if isinstance(server, RemoteServer):
        server.owned.append(name)


def reset_binary_log(server: Server, variables: dict[str, str]) -> str | None:
    """The statement that deletes the binary logs, where there are any and they are ours."""
    if not isinstance(server, Sandbox) or variables.get("log_bin") != "ON":
        return None
    return flavour_of(server.build).reset_binary_log(server.build)


def _plugins(workload: Options) -> list[str]:
    return [MYROCKS] if workload.engine == "rocksdb" else []


def _variables(address: dict[str, Any]) -> dict[str, str]:
    try:
        connection = pymysql.connect(**address, connect_timeout=10, read_timeout=60)
        with connection, connection.cursor() as cursor:
            cursor.execute("SHOW GLOBAL VARIABLES")
            return {str(name): str(value) for name, value in cursor.fetchall()}
    except (pymysql.err.MySQLError, OSError) as error:
        raise RunFailed(f"SHOW GLOBAL VARIABLES: {error}") from error
