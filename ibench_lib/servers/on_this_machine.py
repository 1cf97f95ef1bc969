"""Builds that are on this machine already: IBENCH_BASEDIR, a server on PATH, and basedirs that the user registers."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from ibench_lib.errors import BuildNotFound
from ibench_lib.paths import Workspace, check_name
from ibench_lib.servers import registry
from ibench_lib.servers.build import Build
from ibench_lib.servers.flavours import flavour
from ibench_lib.servers.identify import identify

LABEL = registry.SYSTEM
SOURCE = "path"
VARIABLE = "IBENCH_BASEDIR"

_FOLDERS = ("bin", "sbin", "libexec")
# Where distributions keep servers; a plain user's PATH often has none of them.
_SYSTEM_FOLDERS = ("/usr/sbin", "/usr/local/sbin", "/usr/libexec")


def system_build() -> Build | None:
    """The build named `system`: the one in IBENCH_BASEDIR, else the first on PATH or in the system's folders.

    Raises
    ------
    BuildNotFound : IBENCH_BASEDIR is set and has no server in it.
    ServerStartError : a server is there and does not run.
    """
    basedir = os.environ.get(VARIABLE)
    if basedir:
        return _from_basedir(Path(basedir).expanduser().resolve())
    for binary in _on_path(os.environ.get("PATH", "")):
        return identify(LABEL, _basedir_of(binary), (str(binary),), source=SOURCE)
    return None


def packaged_build() -> Build:
    """The build that the distribution's packages have put into the system's folders.

    Raises
    ------
    BuildNotFound : there is none.
    ServerStartError : it is there and does not run.
    """
    for binary in _on_path(""):
        return identify(LABEL, _basedir_of(binary), (str(binary),), source=SOURCE)
    raise BuildNotFound(f"no {' or '.join(_binaries())} in {', '.join(_SYSTEM_FOLDERS)} after the installation")


def _from_basedir(basedir: Path) -> Build:
    if (basedir / registry.DESCRIPTION).is_file():  # a build that a project has unpacked: it knows its libraries
        return registry.read(basedir, LABEL)
    binary = server_binary(basedir)
    if binary is None:
        raise BuildNotFound(
            f"{VARIABLE} is {basedir}, which has no {' or '.join(_binaries())} in {', '.join(_FOLDERS)}",
            hint=f"set {VARIABLE} to the folder that holds bin/mysqld, or unset it",
        )
    return identify(LABEL, basedir, (str(binary),), source=VARIABLE, options=tuple(moved_options(basedir)))


def register(label: str, basedir: Path, workspace: Workspace) -> Build:
    """Give the server in `basedir` a label. Nothing is copied; the basedir stays where it is.

    Raises
    ------
    BuildNotFound : there is no server in it, or the label is taken.
    ServerStartError : its server does not run.
    """
    check_name(label, "build label")
    basedir = basedir.expanduser().resolve()
    binary = server_binary(basedir)
    if binary is None:
        raise BuildNotFound(
            f"{basedir} has no {' or '.join(_binaries())} in {', '.join(_FOLDERS)}",
            hint="name the folder that holds bin/mysqld or sbin/mariadbd",
        )
    registry.require_free(label, workspace)
    with registry.arriving(workspace) as root:
        options = moved_options(basedir)
        registry.describe(root, basedir=str(basedir), command=[str(binary)], source=SOURCE, options=options)
        registry.read(root, label)
        return registry.adopt(root, label, workspace)


def server_binary(basedir: Path) -> Path | None:
    """The server in a basedir, None where there is none."""
    candidates = (basedir / folder / name for folder in (*_FOLDERS, ".") for name in _binaries())
    return next((binary for binary in candidates if _is_program(binary)), None)


def moved_options(basedir: Path) -> list[str]:
    """Options for the server in a basedir that may have been moved from where it was built for."""
    binary = server_binary(basedir)
    flavours = [one for one in flavour.every() if binary is not None and binary.name in one.binaries]
    return flavours[0].moved_options(basedir) if flavours else []


def _binaries() -> list[str]:
    """Names that server binaries have."""
    return list(dict.fromkeys(name for one in flavour.every() for name in one.binaries))


def _on_path(path: str) -> Iterator[Path]:
    names = [name for one in flavour.every() if one.is_system for name in one.binaries]
    for folder in (*path.split(os.pathsep), *_SYSTEM_FOLDERS):
        if not os.path.isabs(folder):  # an empty or relative entry of PATH means the current directory
            continue
        for name in dict.fromkeys(names):
            binary = Path(folder) / name
            if _is_program(binary):
                yield binary.resolve()


def _basedir_of(binary: Path) -> Path:
    # `binary` is free of links, so on a merged-/usr system /sbin/mariadbd has become /usr/sbin/mariadbd here.
    return binary.parent.parent if binary.parent.name in _FOLDERS else binary.parent


def _is_program(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)
