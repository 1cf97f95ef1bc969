"""Builds for tests."""

from collections.abc import Callable
from pathlib import Path

from ibench_lib.paths import Workspace
from ibench_lib.servers import registry
from ibench_lib.servers.registry import ROOT


def unpack(
    workspace: Workspace, fake_server: Callable[..., Path], label: str, version: str, source: str = "test"
) -> None:
    """What a source of builds does: unpack, describe, adopt."""
    with registry.arriving(workspace) as root:
        fake_server(root / "usr" / "sbin" / "mysqld", version)
        registry.describe(
            root,
            basedir=f"{ROOT}/usr",
            command=[f"{ROOT}/usr/sbin/mysqld"],
            source=source,
            environment={"LD_LIBRARY_PATH": f"{ROOT}/lib:{ROOT}/usr/lib"},
        )
        assert registry.labels(workspace) == [] or label not in registry.labels(workspace)
        registry.adopt(root, label, workspace)
    assert not root.exists()
