"""Packages of a Debian or Ubuntu machine: installed where we may, else downloaded and unpacked into a folder.

Standard library and `errors` only: the tool that makes the environment uses it before there is one.
Repositories, signatures and proxies are the machine's own apt configuration; nothing here names any.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from ibench_lib.errors import IbenchError

_TIMEOUT_S = 900
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
# `env` sets these on the far side of sudo, too. dpkg refuses to work when PATH lacks the sbin folders.
_ENV = ["env", f"PATH={_PATH}", "DEBIAN_FRONTEND=noninteractive", "LC_ALL=C"]
_OPTIONS = ["-q", "-y", "--no-install-recommends", "-o", "Dpkg::Use-Pty=0", "-o", "DPkg::Lock::Timeout=120"]
# A dynamic loader works with its own libc only, so a libc beside it is never unpacked.
_LIBC_PACKAGES = ("libc6_", "libc-bin_")


def has_apt() -> bool:
    """Whether this machine gets its packages by apt."""
    return all(shutil.which(program, path=_PATH) for program in ("apt-get", "dpkg-deb"))


def privilege() -> list[str] | None:
    """The words in front of a command that make it run as root: none for root itself; None when we may not."""
    if os.geteuid() == 0:
        return []
    sudo = shutil.which("sudo", path=_PATH)
    if sudo and subprocess.run([sudo, "-n", "true"], capture_output=True, check=False).returncode == 0:
        return [sudo, "-n"]
    return None


def install(packages: Sequence[str], as_root: list[str]) -> None:
    """Install packages with what they depend on; refreshes the package lists when it does not work without.

    Raises
    ------
    IbenchError : apt refuses; `detail` is the end of what it said.
    """
    apt = [*as_root, *_ENV, "apt-get", *_OPTIONS]
    if _run([*apt, "install", *packages]).returncode != 0:
        update = _run([*apt, "update"])  # one dead repository among good ones is no reason to stop
        installed = _run([*apt, "install", *packages])
        if installed.returncode != 0:
            raise _refused(f"apt-get install {' '.join(packages)}", update, installed)


def unpack(packages: Sequence[str], into: Path, *, status: Path = Path("/var/lib/dpkg/status")) -> None:
    """Download packages with what this machine lacks of their dependencies, and unpack them into the folder `into`.

    Needs no rights and installs nothing: apt works on a state of its own. `status` is the list of installed packages
    that the dependencies are counted against.

    Raises
    ------
    IbenchError : apt refuses; `detail` is the end of what it said.
    """
    with tempfile.TemporaryDirectory(prefix=".apt-", dir=into.parent) as scratch:
        debs = _download(packages, Path(scratch), status)
        for deb in debs:
            if not deb.name.startswith(_LIBC_PACKAGES):
                result = _run([*_ENV, "dpkg-deb", "-x", str(deb), str(into)])
                if result.returncode != 0:
                    raise _refused(f"dpkg-deb -x {deb.name}", result)


def library_folders(root: Path) -> list[Path]:
    """Folders below an unpacked `root` that hold shared libraries: what LD_LIBRARY_PATH needs, in a fixed order."""
    found = {
        library.parent
        for top in ("lib", "usr/lib")
        for library in (root / top).rglob("lib*.so*")
        if (root / top).is_dir()
    }
    return sorted(found)


def _download(packages: Sequence[str], scratch: Path, status: Path) -> list[Path]:
    for folder in ("state/lists/partial", "cache/archives/partial"):
        (scratch / folder).mkdir(parents=True)
    private = {
        "Dir::State": scratch / "state",
        "Dir::State::status": status,
        "Dir::Cache": scratch / "cache",
        "Dir::Log": scratch,
        "Debug::NoLocking": "1",
        "Acquire::Languages": "none",
        "APT::Sandbox::User": "",
    }
    apt = [*_ENV, "apt-get", *_OPTIONS, *(word for key, value in private.items() for word in ("-o", f"{key}={value}"))]
    fetch = ["--download-only", "--reinstall", "install", *packages]
    # First with the machine's own lists, which any user may read; they may be missing or too old.
    if _run([*apt, "-o", "Dir::State::lists=/var/lib/apt/lists", *fetch]).returncode != 0:
        update = _run([*apt, "update"])
        fetched = _run([*apt, *fetch])
        if fetched.returncode != 0:
            raise _refused(f"downloading {' '.join(packages)} with apt-get", update, fetched)
    return sorted((scratch / "cache" / "archives").glob("*.deb"))


def _run(command: list[str]) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=_TIMEOUT_S,
            check=False,
        )
    except FileNotFoundError as error:
        raise IbenchError(
            f"{error.filename} is not on this machine", hint="this step needs Debian or Ubuntu; see `ibench doctor`"
        ) from error
    except subprocess.TimeoutExpired as error:
        raise IbenchError(
            f"apt did not finish within {_TIMEOUT_S} s", hint="look at the network, then again"
        ) from error


def _refused(what: str, *results: subprocess.CompletedProcess[str]) -> IbenchError:
    said = "\n".join(result.stdout.strip() for result in results if result.returncode != 0)
    return IbenchError(
        f"{what} failed (exit {results[-1].returncode})",
        hint="apt's words are above; the usual causes are no network and a package list without this package",
        detail="\n".join(said.splitlines()[-15:]) or None,
    )
