"""Boot a build in a throw-away sandbox and look at it: version, engines, what it counts."""

from __future__ import annotations

import contextlib
import json
import tempfile
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from ibench_lib.configs.resolve import ServerConfig
from ibench_lib.errors import RunFailed, ServerStartError
from ibench_lib.paths import Workspace
from ibench_lib.servers.address import Address
from ibench_lib.servers.build import Build
from ibench_lib.servers.flavours.flavour import Inspection, flavour_of
from ibench_lib.servers.sandbox import Sandbox
from ibench_lib.servers.server import AnyBuild, Server


def inspect(build: AnyBuild, workspace: Workspace) -> Inspection:
    """Boot, ask, stop; a remote server is only asked. What was found is noted for `noted_innodb`.

    Raises
    ------
    ServerStartError : it does not come up, or does not answer.
    """
    with _booted(build, workspace) as address:
        try:
            inspected = flavour_of(build).inspect(address.arguments())
        except RunFailed as error:
            raise ServerStartError(
                f"build {build.label} starts, but does not answer as a server does: {error.what}"
            ) from error
    note = _note(build, workspace)
    note.parent.mkdir(parents=True, exist_ok=True)
    # The version of the binary, which is what `noted_innodb` can compare without booting it.
    note.write_text(json.dumps({**asdict(inspected), "binary": build.version}, indent=1) + "\n", encoding="utf-8")
    return inspected


def build_variables(build: AnyBuild, workspace: Workspace) -> dict[str, str]:
    """Boot, ask for the variables that say how the server was built, stop; a remote server is only asked.

    Raises
    ------
    ServerStartError : it does not come up.
    RunFailed : it does not answer.
    """
    with _booted(build, workspace) as address:
        variables = flavour_of(build).variables(address.arguments())
    return {name: value for name, value in sorted(variables.items()) if name.startswith("version_")}


def noted_innodb(build: AnyBuild, workspace: Workspace) -> str | None:
    """What an earlier `inspect` of this very version found of InnoDB; None when there was none."""
    try:
        note = json.loads(_note(build, workspace).read_text(encoding="utf-8"))
        return str(note["innodb"]) if note["binary"] == build.version else None
    except (OSError, ValueError, KeyError):
        return None


def _note(build: AnyBuild, workspace: Workspace) -> Path:
    return workspace.builds / ".inspected" / f"{build.label}.json"


@contextlib.contextmanager
def _booted(build: AnyBuild, workspace: Workspace) -> Iterator[Address]:
    """A server of the build in a throw-away sandbox, or the remote server."""
    workspace.sandboxes.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory(prefix=".check-", dir=workspace.sandboxes) as scratch,
        _opened(build, _enterable(Path(scratch)), workspace) as address,
    ):
        yield address


def _enterable(folder: Path) -> Path:
    """A server that refuses to run as root has its own private directory in there."""
    folder.chmod(0o711)
    return folder


def _opened(build: AnyBuild, scratch: Path, workspace: Workspace) -> Server:
    def sandbox(here: Build) -> Sandbox:
        flavour = flavour_of(here)
        rules = flavour.rules(here.release)
        config = ServerConfig(flavour.small, group=rules.group, syntax=rules.syntax)
        my_cnf = scratch / "options.cnf"
        my_cnf.write_text(config.render(), encoding="utf-8")
        plugins = [plugin for plugin in flavour.all_plugins() if flavour.plugin_path(here, plugin)]
        log = scratch / "server.log"
        return Sandbox(here, scratch / "box", my_cnf, log, plugins=plugins, templates=workspace.datadirs)

    return build.server(sandbox)
