"""Fresh data directories: initialised once per build, kept as a template, copied for each sandbox.

What initialising decides for good (page size, undo tablespaces, character set of the system tables) is part of a
template's key; sizes of redo and buffer pool are not, since a server takes those up when it starts. A template is a
whole one when it has its name: it is made under another and renamed.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Collection
from pathlib import Path

from ibench_lib.base.tether import tethered
from ibench_lib.errors import ServerStartDisturbed, ServerStartError
from ibench_lib.servers.build import Build
from ibench_lib.servers.flavours.flavour import flavour_of

VERSION_FILE = "version"
_DATADIR = "datadir"

Initialise = Callable[[Path, Path], None]
"""Creates an initialised data directory: called with a my.cnf and the directory, which does not exist yet."""


def fresh_datadir(build: Build, my_cnf: Path, datadir: Path, templates: Path | None, initialise: Initialise) -> None:
    """Put an initialised data directory at `datadir`, by a copy where there is something to copy.

    `templates` is the folder of templates; without it the directory is initialised.

    Raises
    ------
    ServerStartError : initialising or copying fails, or the template is of another version of the server.
    """
    if build.template is not None:
        copy_datadir(build.template, datadir, flavour_of(build).personal_files)
    elif templates is None:
        initialise(my_cnf, datadir)
    else:
        template = _template(build, my_cnf, templates, initialise)
        made_by = (template / VERSION_FILE).read_text(encoding="utf-8").strip()
        if made_by != build.version:
            raise ServerStartError(
                f"the data directory in {template} was made by {made_by}, but build {build.label} is {build.version}",
                hint="delete it; it is only a template and will be made again",
            )
        copy_datadir(template / _DATADIR, datadir, flavour_of(build).personal_files)


def forget_templates(label: str, templates: Path) -> None:
    """Delete the templates of a build."""
    for template in templates.glob(f"{label}@*") if templates.is_dir() else []:
        shutil.rmtree(template, ignore_errors=True)


def _template(build: Build, my_cnf: Path, templates: Path, initialise: Initialise) -> Path:
    flavour = flavour_of(build)
    lines = _initial_lines(my_cnf, flavour.initial_options)
    binary = os.stat(build.command[-1])
    decisive = [build.command, build.version, binary.st_size, binary.st_mtime_ns, build.options, lines]
    key = hashlib.sha256(json.dumps(decisive).encode()).hexdigest()[:16]
    template = templates / f"{build.label}@{key}"
    if template.is_dir():
        return template
    templates.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".making-", dir=templates) as name:
        making = Path(name) / "template"
        making.mkdir(mode=0o700)
        cnf = making / "options.cnf"
        rules = flavour.rules(build.release)
        cnf.write_text(rules.syntax.text(rules.group, ()) + "".join(f"{line}\n" for line in lines), encoding="utf-8")
        initialise(cnf, making / _DATADIR)
        depersonalise(making / _DATADIR, flavour.personal_files)
        (making / VERSION_FILE).write_text(build.version + "\n", encoding="utf-8")
        try:
            making.rename(template)
        except OSError:
            if not template.is_dir():  # another sandbox may have made it in the meantime
                raise
    return template


def _initial_lines(my_cnf: Path, initial: Collection[str]) -> list[str]:
    lines = {}
    for line in my_cnf.read_text(encoding="utf-8").splitlines():
        match = re.match(r"\s*([A-Za-z][\w-]*)\s*=", line)
        key = match[1].replace("-", "_").lower() if match else ""
        if key in initial:
            lines[key] = line.partition(" #")[0].strip()
    return [lines[key] for key in sorted(lines)]


def copy_datadir(source: Path, datadir: Path, personal: Collection[str]) -> None:
    """Copy the data directory of a server that has ended; its identity and keys, files like `personal`, stay behind.

    Raises
    ------
    ServerStartError : with the reason, such as a full disk.
    """
    # cp knows reflinks and holes in files, which make this cheap where the file system has them.
    command = ["cp", "-a", "--no-preserve=ownership", "--reflink=auto", f"{source}/.", str(datadir)]
    datadir.mkdir(mode=0o700)
    # Ctrl-C at the terminal is for the runner alone.
    result = subprocess.run(
        tethered(command), capture_output=True, text=True, errors="replace", start_new_session=True, check=False
    )
    if result.returncode != 0:
        raise ServerStartDisturbed(f"copying the data directory {source} failed", detail=result.stderr.strip() or None)
    datadir.chmod(0o700)
    depersonalise(datadir, personal)


def move_files(source: Path, target: Path, patterns: Collection[str]) -> None:
    """Move files and folders of `source` whose names fit a pattern, to another disk if need be, and write them through.

    Raises
    ------
    ServerStartDisturbed : there is no room, or the disk fails.
    """
    paths = sorted({path for pattern in patterns for path in source.glob(pattern)})
    try:
        for path in paths:
            shutil.move(path, target / path.name)
    except OSError as error:
        raise ServerStartDisturbed(f"cannot move files of {source} to {target}: {error}") from error
    if paths:
        write_through(target)


def write_through(datadir: Path) -> None:
    """Write every file to the disk, and ask the kernel to drop it from the page cache."""
    for folder, _, names in os.walk(datadir):
        for path in (folder, *(os.path.join(folder, name) for name in names)):
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            try:
                os.fsync(descriptor)
                if path != folder:
                    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            finally:
                os.close(descriptor)


def depersonalise(datadir: Path, personal: Collection[str]) -> None:
    """Delete what makes a server that server: its identity, its keys. `personal` are patterns of such files."""
    for pattern in personal:
        for path in datadir.glob(pattern):
            path.unlink()
