"""MySQL from Debian sid: the server with all it needs, down to the C library, unpacked inside the project.

Nothing is installed on the host, and the host's own release does not matter: the server starts by the dynamic loader
that came along.
"""

from __future__ import annotations

from ibench_lib.base import debian
from ibench_lib.errors import BuildNotFound
from ibench_lib.paths import Workspace
from ibench_lib.servers import registry
from ibench_lib.servers.build import Build, Offer
from ibench_lib.servers.registry import ROOT

SUITE = "sid"
PACKAGES = ("mysql-server-core",)
_RELEASE = (9, 7)
_LABEL = "mysql-" + ".".join(map(str, _RELEASE))
_LIBRARIES = ("usr/lib/x86_64-linux-gnu", "usr/lib/x86_64-linux-gnu/private", "usr/lib")


def offers() -> list[Offer]:
    """MySQL of the suite, where this machine's apt has an archive of Debian."""
    if not debian.has_debian_archive():
        return []
    release = ".".join(map(str, _RELEASE))
    return [Offer(_LABEL, f"MySQL {release}", f"Debian {SUITE}, unpacked: {' '.join(PACKAGES)}")]


def install(offer: Offer, workspace: Workspace) -> Build:
    """Bring the offer.

    Raises
    ------
    IbenchError : apt refuses.
    BuildNotFound : the suite has another release by now.
    ServerStartError : what came does not run.
    """
    with registry.arriving(workspace) as root:
        files = debian.unpack(PACKAGES, root, suite=SUITE)
        libraries = ":".join(f"{ROOT}/{folder}" for folder in _LIBRARIES)
        loader = f"{ROOT}/usr/lib64/ld-linux-x86-64.so.2"
        registry.describe(
            root,
            basedir=f"{ROOT}/usr",
            command=[loader, "--library-path", libraries, f"{ROOT}/usr/sbin/mysqld"],
            source=f"Debian {SUITE}",
            # The folder that the package's server was built to read and write files in does not exist here.
            options=[f"--lc-messages-dir={ROOT}/usr/share/mysql", "--secure-file-priv="],
            files=files,
        )
        build = registry.read(root, offer.label)
        if build.release[:2] != _RELEASE:
            raise BuildNotFound(
                f"Debian {SUITE} now has MySQL {build.version}, which is not {offer.label}",
                hint="install this release yourself and register it: `ibench servers add LABEL PATH`",
            )
        return registry.adopt(root, offer.label, workspace)
