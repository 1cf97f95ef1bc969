"""MariaDB from the distribution's packages: installed as root or with sudo, else unpacked inside the project."""

from __future__ import annotations

from ibench_lib.base import debian
from ibench_lib.errors import BuildNotFound
from ibench_lib.paths import Workspace
from ibench_lib.servers import on_this_machine, registry
from ibench_lib.servers.build import Build, Offer
from ibench_lib.servers.registry import ROOT

PACKAGES = ("mariadb-server-core", "mariadb-client-core")
APT_PACKAGES = PACKAGES[:1]
MYROCKS = "mariadb-plugin-rocksdb"
_SOURCE = "apt"
_WITH_MYROCKS = "-rocksdb"
_PLUGINS = "usr/lib/mysql/plugin"


def offers() -> list[Offer]:
    """The distribution's MariaDB, and the same with MyRocks; none on a machine whose apt knows no MariaDB."""
    version = debian.candidate_version(PACKAGES[0])
    if version is None:
        return []
    label = f"mariadb-{'.'.join(version.split('.')[:2])}"
    return [
        Offer(label, f"MariaDB {version}", "apt: " + " ".join(PACKAGES)),
        Offer(
            label + _WITH_MYROCKS, f"MariaDB {version} with MyRocks", f"apt, unpacked: {' '.join(PACKAGES)} {MYROCKS}"
        ),
    ]


def install(offer: Offer, workspace: Workspace) -> Build:
    """Bring one of `offers`. Raises as `install_mariadb` does."""
    if offer.label.endswith(_WITH_MYROCKS):
        return _unpack((*PACKAGES, MYROCKS), offer.label, workspace)
    build = install_mariadb(workspace)
    if offer.label in registry.labels(workspace):
        return registry.load(offer.label, workspace)
    with registry.arriving(workspace) as root:
        registry.describe(root, basedir=str(build.basedir), command=list(build.command), source=_SOURCE)
        return registry.adopt(root, offer.label, workspace)


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
            "no apt-get on this machine, so MariaDB cannot be installed from packages",
            hint=f"install MariaDB or MySQL yourself, or set {on_this_machine.VARIABLE} to a server's basedir",
        )
    as_root = debian.privilege()
    if as_root is None:
        return unpacked_build(workspace) or _unpack(PACKAGES, None, workspace)
    debian.install(PACKAGES, as_root)
    return on_this_machine.packaged_build()


def unpacked_build(workspace: Workspace) -> Build | None:
    """The distribution's MariaDB where it has been unpacked inside the project."""
    for label in registry.labels(workspace):
        if registry.source_of(label, workspace) == _SOURCE and not label.endswith(_WITH_MYROCKS):
            return registry.load(label, workspace)
    return None


def _unpack(packages: tuple[str, ...], label: str | None, workspace: Workspace) -> Build:
    with registry.arriving(workspace) as root:
        files = debian.unpack(packages, root)
        folders = (f"{ROOT}/{folder.relative_to(root)}" for folder in debian.library_folders(root))
        registry.describe(
            root,
            basedir=f"{ROOT}/usr",
            command=[f"{ROOT}/usr/sbin/mariadbd"],
            source=_SOURCE,
            environment={"LD_LIBRARY_PATH": ":".join(folders)},
            options=[f"--plugin-dir={ROOT}/{_PLUGINS}"] if MYROCKS in packages else [],
            files=files,
        )
        if label is None:
            label = f"mariadb-{'.'.join(map(str, registry.read(root, 'arriving').release[:2]))}"
        return registry.adopt(root, label, workspace)
