"""Packages of a Debian or Ubuntu machine: installed where we may, else downloaded and unpacked into a folder.

Standard library, `programs`, `user_cache` and `errors` only: the tool that makes the environment uses it before there
is one. Repositories, signatures and proxies are the machine's own apt configuration; nothing here names any.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from pathlib import Path

from ibench_lib.base import programs, user_cache
from ibench_lib.errors import IbenchError

_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
# `env` sets these on the far side of sudo, too. dpkg refuses to work when PATH lacks the sbin folders.
_ENV = ["/usr/bin/env", f"PATH={_PATH}", "DEBIAN_FRONTEND=noninteractive", "LC_ALL=C"]
_OPTIONS = ["-q", "-y", "--no-install-recommends", "-o", "Dpkg::Use-Pty=0", "-o", "DPkg::Lock::Timeout=120"]
# What every Debian checks its own archive by.
_DEBIAN_KEYS = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
_STATUS, _OF_APT = "/var/lib/dpkg/status", ("/etc/apt", "/var/lib/apt/lists")
_CANDIDATE = re.compile(r"(?m)^(\S+):\n(?:  .*\n)*?  Candidate: (?:\d+:)?(\d[\d.]*\d)")
_CANDIDATES: dict[str, dict[str, str]] = {}
"""What was asked for, a name or a glob -> package -> version, of what this process has asked for."""

_FETCHED_FROM = re.compile(r"(?m)^'([^']+?)/+dists/")
# A dynamic loader works with its own libc only, so a libc is never unpacked next to it.
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
        _CANDIDATES.clear()
        installed = _run([*apt, "install", *packages])
        if installed.returncode != 0:
            raise _refused(f"apt-get install {' '.join(packages)}", update, installed)


def unpack(
    packages: Sequence[str], into: Path, *, status: Path = Path(_STATUS), suite: str | None = None
) -> dict[str, str]:
    """Download packages with what this machine lacks of their dependencies, and unpack them into the folder `into`.

    Needs no rights and installs nothing: apt works on a state of its own. `status` is the list of installed packages
    that the dependencies are counted against. With a `suite` of Debian other than this machine's own, everything down
    to the C library is unpacked: programs then start by the dynamic loader that came along.

    Returns the SHA-256 of each package file by its name.

    Raises
    ------
    IbenchError : apt refuses; `detail` is the end of what it said.
    """
    hashes = {}
    with tempfile.TemporaryDirectory(prefix=".apt-", dir=into.parent) as name:
        scratch = Path(name)
        sources = None if suite is None else _suite_sources(suite, scratch)
        if suite is not None:
            status = scratch / "status"
            status.touch()
        for deb in _download(packages, scratch, status, sources):
            if suite is None and deb.name.startswith(_LIBC_PACKAGES):
                continue
            result = _run([*_ENV, "dpkg-deb", "-x", str(deb), str(into)])
            if result.returncode != 0:
                raise _refused(f"dpkg-deb -x {deb.name}", result)
            with open(deb, "rb") as file:
                hashes[deb.name] = hashlib.file_digest(file, "sha256").hexdigest()
    return hashes


def ask_for_candidates(packages: Sequence[str]) -> None:
    """Ask apt at once for all that `candidate_version` is going to be asked for; names may be globs.

    Where apt keeps no cache of its own, as in a container, it reads all of its lists for each question, which takes a
    second. What it said counts as long as its lists, its settings and the installed packages are the same.
    """
    program = shutil.which("apt-cache", path=_PATH)
    wanted = sorted({*packages} - _CANDIDATES.keys())
    if not wanted:
        return
    versions = (_kept_candidates(program, wanted) if program else None) or {}
    _CANDIDATES.update(dict.fromkeys(wanted, versions))


def candidate_version(package: str) -> str | None:
    """The upstream version that apt would install (`10.11.19` of `1:10.11.19-0+deb12u1`), None where it knows none."""
    if not any(fnmatchcase(package, asked) for asked in _CANDIDATES):
        ask_for_candidates([package])
    return next((known[package] for known in _CANDIDATES.values() if package in known), None)


def _kept_candidates(program: str, packages: Sequence[str]) -> dict[str, str]:
    """Package -> version by apt, or as it was kept of an equal question at the same state of apt."""
    folder, question = user_cache.folder("apt"), f"{packages} {_state_of_apt(program)}"
    place = folder and folder / f"{hashlib.sha256(question.encode()).hexdigest()}.json"
    if place is not None:
        with suppress(OSError, ValueError, AttributeError):
            return {str(name): str(version) for name, version in json.loads(place.read_bytes()).items()}
    answer = _run([*_ENV, "apt-cache", "policy", *packages])
    versions = dict(_CANDIDATE.findall(answer.stdout))
    if folder is not None and place is not None and answer.returncode == 0:
        with suppress(OSError):
            for other in folder.iterdir():
                other.unlink(missing_ok=True)
            temporary = place.with_suffix(f".{os.getpid()}")
            temporary.write_text(json.dumps(versions), encoding="utf-8")
            os.replace(temporary, place)
    return versions


def _state_of_apt(program: str) -> list[tuple[object, ...]]:
    """What apt's answers depend on: its lists, its settings, the installed packages, and itself."""
    facts: list[tuple[object, ...]] = [(os.environ.get("APT_CONFIG"),)]
    files = [program, _STATUS]
    for top in _OF_APT:
        files += sorted(os.path.join(place, name) for place, _, names in os.walk(top) for name in names)
    for file in files:
        with suppress(OSError):
            status = os.stat(file)
            facts.append((file, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns))
    return facts


def has_debian_archive() -> bool:
    """Whether this machine's apt has an archive of Debian itself, from which other suites can be had."""
    return has_apt() and _debian_archive() is not None


def _debian_archive() -> str | None:
    """Address of the first Debian archive among apt's sources; the one for security updates is not called so."""
    # The sources alone say what an update would fetch. `indextargets` would first read all packages that there are.
    output = _run([*_ENV, "apt-get", "update", "--print-uris"]).stdout
    return next((address for address in _FETCHED_FROM.findall(output) if address.endswith("/debian")), None)


def _suite_sources(suite: str, scratch: Path) -> Path:
    archive = _debian_archive()
    if archive is None:
        raise IbenchError(
            f"apt's sources on this machine name no Debian archive, so nothing can be installed from Debian {suite}",
            hint="this works on Debian; elsewhere register a server of your own: `ibench servers add LABEL PATH`",
        )
    signed_by = f"[signed-by={_DEBIAN_KEYS}] " if _DEBIAN_KEYS.is_file() else ""
    sources = scratch / "sources.list"
    sources.write_text(f"deb {signed_by}{archive} {suite} main\n", encoding="utf-8")
    return sources


def library_folders(root: Path) -> list[Path]:
    """Folders below an unpacked `root` that hold shared libraries: what LD_LIBRARY_PATH needs, in a fixed order."""
    packages = {
        library.parent
        for top in ("lib", "usr/lib")
        for library in (root / top).rglob("lib*.so*")
        if (root / top).is_dir()
    }
    return sorted(packages)


def write_launcher(root: Path, name: str, program: str, exports: Sequence[str] = ()) -> Path:
    """A shell script `root`/`name` that starts an unpacked `program` with the libraries that came with it.

    `exports` are assignments for its environment, in which `$root` is the folder of the script.
    """
    folders = [str(folder.relative_to(root)) for folder in library_folders(root)]
    libraries = ":".join(f'"$root"/{shlex.quote(folder)}' for folder in folders)
    launcher = root / name
    launcher.write_text(
        "#!/bin/sh\n"
        'root=$(dirname "$(readlink -f "$0")")\n'
        + "".join(f"export {export}\n" for export in (f"LD_LIBRARY_PATH={libraries}", *exports))
        + f'exec "$root"/{shlex.quote(program)} "$@"\n',
        encoding="utf-8",
    )
    launcher.chmod(0o755)
    return launcher


def _download(packages: Sequence[str], scratch: Path, status: Path, sources: Path | None) -> list[Path]:
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
    if sources is not None:
        private |= {"Dir::Etc::sourcelist": sources, "Dir::Etc::sourceparts": "-"}
    apt = [*_ENV, "apt-get", *_OPTIONS, *(word for key, value in private.items() for word in ("-o", f"{key}={value}"))]
    fetch = ["--download-only", "--reinstall", "install", *packages]
    # First with the machine's own lists, which any user may read; they may be missing or too old.
    own_lists = ["-o", "Dir::State::lists=/var/lib/apt/lists"]
    if sources is not None or _run([*apt, *own_lists, *fetch]).returncode != 0:
        update = _run([*apt, "update"])
        fetched = _run([*apt, *fetch])
        if fetched.returncode != 0:
            raise _refused(f"downloading {' '.join(packages)} with apt-get", update, fetched)
    return sorted((scratch / "cache" / "archives").glob("*.deb"))


def _run(command: list[str]) -> subprocess.CompletedProcess[str]:
    try:
        return programs.run("apt", command)
    except FileNotFoundError as error:
        raise IbenchError(
            f"{error.filename} is not on this machine", hint="this step needs Debian or Ubuntu; see `ibench doctor`"
        ) from error


def _refused(what: str, *results: subprocess.CompletedProcess[str]) -> IbenchError:
    output = "\n".join(result.stdout.strip() for result in results if result.returncode != 0)
    return IbenchError(
        f"{what} failed (exit {results[-1].returncode})",
        hint="see apt's output above; usually the network is unreachable or the package list does not "
        "have this package",
        detail="\n".join(output.splitlines()[-15:]) or None,
    )
