"""All builds that can be installed, whatever their source."""

from __future__ import annotations

import difflib
from typing import Protocol, cast

from ibench_lib import plugins
from ibench_lib.base import debian
from ibench_lib.base.locks import locked_folder
from ibench_lib.errors import BuildNotFound
from ibench_lib.paths import Workspace, check_name
from ibench_lib.servers import registry, sources
from ibench_lib.servers.build import Build, Offer
from ibench_lib.servers.sources import apt


class Source(Protocol):
    """The functions of a module in `sources` that offers builds.

    One whose offers depend on the distribution's versions may list the packages, or globs of them, in `APT_PACKAGES`:
    apt is then asked once for those of all sources.
    """

    def offers(self) -> list[Offer]:
        """What can be installed on this machine."""

    def install(self, offer: Offer, workspace: Workspace) -> Build:
        """Install one of `offers`."""


def offers() -> dict[str, tuple[Offer, Source]]:
    """Every offer of every source, by label."""
    offering = [source for source in plugins.modules("sources", sources) if hasattr(source, "offers")]
    debian.ask_for_candidates([name for source in offering for name in getattr(source, "APT_PACKAGES", ())])
    offered: dict[str, tuple[Offer, Source]] = {}
    for source in offering:
        offered |= {offer.label: (offer, cast(Source, source)) for offer in source.offers()}
    return dict(sorted(offered.items()))


def default_label() -> str:
    """The label of the distribution's MariaDB.

    Raises
    ------
    BuildNotFound : this machine's apt knows none.
    """
    offered = apt.offers()
    if not offered:
        raise BuildNotFound(
            "apt on this machine has no MariaDB package" if debian.has_apt() else "no apt-get on this machine",
            hint="`apt-get update` may help; or install a server yourself and register it: "
            "`ibench servers add LABEL PATH`",
        )
    return offered[0].label


def install(label: str, workspace: Workspace) -> Build:
    """Install the build of that label; an installed build stays as it is. Installs in one project wait for each other.

    Raises
    ------
    BuildNotFound : nobody offers it, or what is needed to get it is missing.
    IbenchError : the registry's client refuses, or gives another file than it should.
    ServerStartError : what came does not run.
    """
    check_name(label, "build label")
    if label in registry.labels(workspace):
        return registry.load(label, workspace)
    offered = offers()
    if label not in offered:
        near = difflib.get_close_matches(label, offered, n=1)
        raise BuildNotFound(
            f"no source offers {label}; available are {', '.join(offered)}",
            hint=(f"did you mean {near[0]}? " if near else "")
            + "register a server of your own with `ibench servers add LABEL PATH`",
        )
    offer, source = offered[label]
    with locked_folder(workspace.builds):
        if label in registry.labels(workspace):  # another process brought it in the meantime
            return registry.load(label, workspace)
        return source.install(offer, workspace)
