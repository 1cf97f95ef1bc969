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
from ibench_lib.configs.resolve import ServerConfig, size
from ibench_lib.errors import ExperimentError, HostUnfit, RunFailed
from ibench_lib.lake.manifest import ServerRecord
from ibench_lib.paths import Workspace, nearest_existing
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
_EMPTY_SERVER_BYTES, _CAPTURE_BYTES = 300 << 20, 64 << 20
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
                f"build {build.label} is remote and uses transport {spoken}, not the workload's {workload.transport}",
                hint=f"write `transport: {spoken}` into the workload",
            )
        return []  # it has the plugins and the configuration that it has
    plugins = _plugins(workload)
    for plugin in plugins:
        require_plugin(build, plugin)
    return check(build, config, plugins)


def require_space(
    build: Build | Remote, config: ServerConfig, tables_bytes: int, workspace: Workspace, snapshot_bytes: int = 0
) -> None:
    """Refuse a run whose files would fill a disk, before any is made. `snapshot_bytes` are of one that it will make.

    Raises
    ------
    HostUnfit : with the bytes needed and free.
    """
    needs = [(workspace.runs, _CAPTURE_BYTES, "the captured data")]
    if isinstance(build, Build):
        needs.append((workspace.sandboxes, needed_bytes(config, tables_bytes), "the server's data"))
    if snapshot_bytes:
        needs.append((workspace.snapshots, snapshot_bytes, "the snapshot"))
    for disk in {nearest_existing(folder).stat().st_dev for folder, *_ in needs}:
        here = [need for need in needs if nearest_existing(need[0]).stat().st_dev == disk]
        place = nearest_existing(here[-1][0])
        needed, free = sum(size for _, size, _ in here), shutil.disk_usage(place).free
        if free < needed:
            what = " and ".join(what for *_, what in here)
            raise HostUnfit(
                f"not enough space in {place} for {what}: about {needed:,} bytes needed, {free:,} free",
                hint="free space there, lower `scale` or the setup's rows, or put data/ on a larger disk (IBENCH_HOME)",
            )


def buffer_pool_bytes(config: ServerConfig) -> int:
    """Size of the buffer pool that a configuration asks for, 0 where it leaves it to the server."""
    return size(config.value("innodb_buffer_pool_size") or "") or 0


def needed_bytes(config: ServerConfig, tables_bytes: int) -> int:
    """About how much disk a sandbox takes whose tables take so much."""
    return tables_bytes + redo_bytes(config) + _EMPTY_SERVER_BYTES


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
            f"{server.build.label} already has a database {name}",
            hint="another run may be using it; ibench does not touch it, so drop it yourself if nobody needs it",
        ) from error
    if isinstance(server, RemoteServer):
        server.owned.append(name)


def reset_binary_log(server: Server, variables: dict[str, str]) -> str | None:
    """The statement that deletes the binary logs, where there are any and they are ours."""
    if not isinstance(server, Sandbox) or variables.get("log_bin") != "ON":
        return None
    return flavour_of(server.build).reset_binary_log(server.build)


def redo_bytes(config: ServerConfig) -> int:
    """Size of the redo log that a configuration asks for, 0 where it leaves it to the server."""
    capacity = size(config.value("innodb_redo_log_capacity") or "")
    if capacity is not None:
        return capacity
    files = int(config.value("innodb_log_files_in_group") or 1)
    return (size(config.value("innodb_log_file_size") or "") or 0) * files


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
