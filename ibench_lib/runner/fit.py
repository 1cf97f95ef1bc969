"""Whether a server fits a workload and its configuration, before there is one: a plan needs this, and no sandbox."""

from __future__ import annotations

from ibench_lib.configs.resolve import ServerConfig
from ibench_lib.errors import ExperimentError
from ibench_lib.runner.connections import Demand, require_configured
from ibench_lib.servers.accepts import check, require_plugins
from ibench_lib.servers.flavours.flavour import flavour_of
from ibench_lib.servers.server import AnyBuild

_SOCKET = "socket"


def fit(
    build: AnyBuild, config: ServerConfig, *, transport: str, engine: str, needed: Demand | None = None
) -> list[str]:
    """Refuse what cannot run on a build, before any data is touched. Returns the `loose_` lines that it skips.

    `transport` and `engine` are the workload's; `needed` are the connections of the cell.

    Raises
    ------
    ConfigError : the server does not know an option or refuses a value.
    BuildNotFound : it lacks a plugin that the engine needs.
    ExperimentError : the server is not reached in the way that the workload says, or accepts too few connections.
    """
    if build.transport is not None and transport != build.transport:
        raise ExperimentError(
            f"build {build.label} is remote and uses transport {build.transport}, not the workload's {transport}",
            hint=f"write `transport: {build.transport}` into the workload",
        )
    if build.local is None:
        return []  # it has the plugins and the configuration that it has
    if transport != _SOCKET and flavour_of(build).only_by_socket(build.release):
        raise ExperimentError(
            f"build {build.label} ({build.flavour} {build.version}) can be reached by its socket only, not by the "
            f"workload's transport {transport}: it cannot prove its identity to clients",
            hint=f"write `transport: {_SOCKET}` into the workload",
        )
    skipped = check(build.local, config, require_plugins(build.local, engine))
    if needed is not None:
        require_configured(build, config, needed)
    return skipped
