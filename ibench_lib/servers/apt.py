"""MariaDB from the distribution's packages: installed as root or with sudo, else unpacked inside the project."""

from __future__ import annotations

from pathlib import Path

from ibench_lib import debian
from ibench_lib.errors import BuildNotFound
from ibench_lib.paths import Workspace
from ibench_lib.servers import path, unpacked
from ibench_lib.servers.build import Build
from ibench_lib.servers.unpacked import ROOT

PACKAGES = ("mariadb-server-core", "mariadb-client-core")
_SOURCE = "apt"


def install_mariadb(workspace: Workspace) -> Build:
    """The distribution's MariaDB, got in the best way this user has. Does nothing when that way was gone before.

    Raises
    ------
    BuildNotFound : this is no Debian or Ubuntu machine.
    IbenchError : apt refuses.
    ServerStartError : what came does not run.
    """
    if not debian.has_apt():
        raise BuildNotFound(
            "no apt-get on this machine, so MariaDB cannot be got from here",
            hint=f"install MariaDB or MySQL in your own way, or set {path.VARIABLE} to a server's basedir",
        )
    as_root = debian.privilege()
    if as_root is None:
        return unpack_mariadb(workspace)
    debian.install(PACKAGES, as_root)
    return path.packaged_build()


def unpack_mariadb(workspace: Workspace, *, status: Path | None = None) -> Build:
    """Download and unpack MariaDB into data/builds/mariadb-<version>/, unless that has been done.

    `status` is the list of packages to count as installed (default: dpkg's own).
    """
    for label in unpacked.labels(workspace):
        build = unpacked.load(label, workspace)
        if build.source == _SOURCE and build.flavour == "mariadb":
            return build
    with unpacked.arriving(workspace) as root:
        debian.unpack(PACKAGES, root, **({} if status is None else {"status": status}))
        folders = (f"{ROOT}/{folder.relative_to(root)}" for folder in debian.library_folders(root))
        unpacked.describe(
            root,
            basedir=f"{ROOT}/usr",
            command=[f"{ROOT}/usr/sbin/mariadbd"],
            source=_SOURCE,
            environment={"LD_LIBRARY_PATH": ":".join(folders)},
        )
        release = ".".join(map(str, unpacked.read(root, "arriving").release))
        return unpacked.adopt(root, f"mariadb-{release}", workspace)
