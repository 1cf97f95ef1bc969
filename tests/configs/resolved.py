"""Configurations for tests."""

from pathlib import Path

from ibench_lib.configs.resolve import ServerConfig, resolve
from ibench_lib.servers.build import Build
from ibench_lib.servers.flavours.flavour import rules_of


def config(folder: Path, build: Build, *lines: str, name: str = "f") -> ServerConfig:
    (folder / f"{name}.cnf").write_text("\n".join(["[mysqld]", *lines]) + "\n")
    return resolve([name], rules_of(build), 1.0, folder)
