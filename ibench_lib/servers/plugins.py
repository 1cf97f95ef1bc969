"""Plugins that a build has: storage engines that are no part of the server binary."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ibench_lib.errors import BuildNotFound
from ibench_lib.servers.build import Build

MYROCKS = "ha_rocksdb"


def load_options(plugins: Sequence[str]) -> list[str]:
    """Server options that load plugins at start."""
    return [f"--plugin-load-add={plugin}" for plugin in plugins]


def require_plugin(build: Build, plugin: str) -> None:
    """Raises BuildNotFound where the build has no such plugin."""
    if plugin_path(build, plugin) is None:
        raise BuildNotFound(
            f"build {build.label} has no plugin {plugin}.so, which `engine: rocksdb` needs",
            hint="`ibench servers list` shows the builds with MyRocks",
        )


def plugin_path(build: Build, plugin: str) -> Path | None:
    """The library of a plugin in the build's plugin folder, None where it has none."""
    named = [option.partition("=")[2] for option in build.options if option.startswith("--plugin-dir=")]
    folders = [Path(folder) for folder in named] or [
        build.basedir / folder for folder in ("lib/plugin", "lib/mysql/plugin", "lib64/mysql/plugin")
    ]
    return next((path for folder in folders if (path := folder / f"{plugin}.so").is_file()), None)
