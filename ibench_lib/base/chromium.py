"""The browser that looks at posts: found on this machine, or got from the distribution's packages."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from ibench_lib.base import debian
from ibench_lib.errors import IbenchError
from ibench_lib.paths import Workspace

VARIABLE = "IBENCH_CHROMIUM"
_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_FOLDERS = "/usr/bin:/usr/local/bin:/snap/bin"
_FOLDER = "chromium"
_PACKAGES = ("chromium", "fonts-dejavu-core")
_LAUNCHER = "chromium-unpacked"


def find_chromium(workspace: Workspace) -> Path | None:
    """The program: IBENCH_CHROMIUM, else on PATH, else unpacked in data/builds/chromium; None when there is none."""
    named = os.environ.get(VARIABLE)
    if named:
        return Path(named)
    search = f"{os.environ.get('PATH', '')}:{_FOLDERS}"
    for name in _NAMES:
        path = shutil.which(name, path=search)
        if path:
            return Path(path)
    launcher = workspace.build_dir(_FOLDER) / _LAUNCHER
    return launcher if launcher.is_file() else None


def install_chromium(workspace: Workspace) -> Path:
    """Get Chromium by apt: installed as root or with sudo, else unpacked inside the project.

    Raises
    ------
    IbenchError : there is no apt, or it has no Chromium to give.
    """
    by_hand = f"install Chromium or Chrome yourself and set {VARIABLE} to its program"
    if not debian.has_apt():
        raise IbenchError("no apt-get on this machine, so Chromium cannot be installed from packages", hint=by_hand)
    as_root = debian.privilege()
    try:
        if as_root is None:
            unpack_chromium(workspace)
        else:
            debian.install(_PACKAGES, as_root)
    except IbenchError as error:
        raise IbenchError(f"Chromium: {error.what}", hint=by_hand, detail=error.detail) from error
    chromium = find_chromium(workspace)
    if chromium is None:
        raise IbenchError("apt's package chromium contains no browser here (Ubuntu's is a stub)", hint=by_hand)
    return chromium


def unpack_chromium(workspace: Workspace) -> Path:
    """Download and unpack Chromium into data/builds/chromium/, with a launcher that sets its libraries and fonts."""
    workspace.builds.mkdir(parents=True, exist_ok=True)
    target = workspace.build_dir(_FOLDER)
    with tempfile.TemporaryDirectory(prefix=".arriving-", dir=workspace.builds) as scratch:
        root = Path(scratch) / "root"
        root.mkdir()
        debian.unpack(_PACKAGES, root)
        if not (root / "usr/lib/chromium/chromium").is_file():
            raise IbenchError("apt's package chromium has no browser in it (Ubuntu's is a stub)")
        _write_launcher(root)
        os.rename(root, target)
    return target / _LAUNCHER


def _write_launcher(root: Path) -> None:
    # Fontconfig's own file names /usr/share/fonts, which a bare machine leaves empty.
    (root / "fonts.conf").write_text(
        '<?xml version="1.0"?>\n<!DOCTYPE fontconfig SYSTEM "fonts.dtd">\n<fontconfig>\n'
        '<dir>/usr/share/fonts</dir>\n<dir prefix="relative">usr/share/fonts</dir>\n'
        '<cachedir prefix="xdg">fontconfig</cachedir>\n</fontconfig>\n',
        encoding="utf-8",
    )
    exports = ['FONTCONFIG_FILE="$root/fonts.conf"']
    debian.write_launcher(root, _LAUNCHER, "usr/lib/chromium/chromium", exports)
