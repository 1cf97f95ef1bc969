"""Get a public archive of results that docs/archives.md describes, and say how it is imported.

    python tools/archives.py nov25 FOLDER

clones the part of the repository that has the archive into FOLDER, and prints the commands that import its logs and its
published table and build the post. Nothing of the archive comes with ibench.
"""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Archive:
    """Where an archive is: its repository, the folder in it, its table there, and what its runs are called."""

    repository: str
    folder: str
    table: str
    setup: str
    experiment: str
    post: str


ARCHIVES = {
    "nov25": Archive(
        repository="https://github.com/mdcallag/mytools",
        folder="bench/arc/nov25.sb.mysql/dop1",
        table="qps.abs.all.tsv",
        setup="50m",
        experiment="nov25_sb_mysql",
        post="papermill_params/imported/nov25_sb_mysql.yml",
    )
}


def clone(archive: Archive, folder: Path) -> None:
    """The newest state of the archive's folder, and nothing else of its repository."""
    git = ("git", "-C", str(folder))
    begin = ("git", "clone", "--quiet", "--depth=1", "--filter=blob:none", "--sparse", archive.repository, str(folder))
    for command in (begin, (*git, "sparse-checkout", "set", archive.folder)):
        subprocess.run(command, check=True)


def commands(archive: Archive, folder: Path) -> list[str]:
    """What imports the logs and the table, and builds the post."""
    source, logs = f"{archive.repository}, {archive.folder}", folder / archive.folder
    setup = f"--setup {archive.setup}"
    return [
        f'ibench runs import {logs} --experiment {archive.experiment} {setup} --source "{source}"',
        f"ibench runs import {logs / archive.table} --experiment {archive.experiment}_published {setup} "
        f'--source "{source}/{archive.table}"',
        f"ibench post {archive.post}",
    ]


def main() -> None:
    """Get an archive, and print the commands that import it."""
    if len(sys.argv) != 3 or sys.argv[1] not in ARCHIVES:
        sys.exit(f"usage: python tools/archives.py {'|'.join(ARCHIVES)} FOLDER")
    archive, folder = ARCHIVES[sys.argv[1]], Path(sys.argv[2])
    if not folder.exists():
        clone(archive, folder)
    print("\n".join(commands(archive, folder)))


if __name__ == "__main__":
    main()
