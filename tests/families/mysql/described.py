"""Builds as the registry describes them, without their files."""

from pathlib import Path

from ibench_lib.servers.build import Build


def build(flavour: str, version: str, basedir: Path = Path("/opt/db")) -> Build:
    return Build("b", flavour, version, basedir, (f"{basedir}/bin/mysqld",), "test", options=("--secure-file-priv=",))
