"""Get a public archive of results that docs/archives.md describes, and make what `ibench runs import` needs of it.

    python tools/archives.py nov25 FOLDER

clones the part of the repository that has the archive into FOLDER, writes its published table there as the CSV that
ibench imports, and prints the commands that import both and build the post. Nothing of the archive comes with ibench.
"""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from ibench_lib.importers.sysbench import microbenchmark_of


@dataclass(frozen=True)
class Archive:
    """Where an archive is: its repository, the folder in it, its table there, and what its logs and runs are called."""

    repository: str
    folder: str
    table: str
    threads: int
    setup: str
    experiment: str
    post: str


ARCHIVES = {
    "nov25": Archive(
        repository="https://github.com/mdcallag/mytools",
        folder="bench/arc/nov25.sb.mysql/dop1",
        table="qps.abs.all.tsv",
        threads=1,
        setup="50m",
        experiment="nov25_sb_mysql",
        post="papermill_params/imported/nov25_sb_mysql.yml",
    )
}

_COLUMN = re.compile(r"col-\d+ : x\.(\S+)\.pk\d+", re.ASCII)
_TEST = re.compile(r"(\S+)_range=(\d+)", re.ASCII)


def published_csv(table: str, setup: str, threads: int) -> str:
    """The table of queries per second that the scripts write, as published figures: a row for each dbms and test.

    Its head names the dbms of each column; a row has their figures and, at its end, the test with its range.

    Raises
    ------
    ValueError : a row has another number of figures than there are columns, or a test that ibench does not know.
    """
    names: list[str] = []
    rows = ["setup,dbms,step,qps"]
    for number, line in enumerate(table.splitlines(), start=1):
        *figures, last = line.split("\t")
        if column := _COLUMN.fullmatch(line.strip()):
            names.append(column[1])
        elif test := _TEST.fullmatch(last.strip()):
            step = microbenchmark_of(f"sb.o.{test[1]}.range{test[2]}.pk1")
            if len(figures) != len(names) or step is None:
                raise ValueError(
                    f"line {number}: {len(figures)} figures of {len(names)} columns, test {last.strip()!r:.80}"
                )
            rows += [f"{setup},{name},{step}.t{threads},{figure}" for name, figure in zip(names, figures, strict=True)]
    return "\n".join(rows) + "\n"


def clone(archive: Archive, folder: Path) -> None:
    """The newest state of the archive's folder, and nothing else of its repository."""
    git = ("git", "-C", str(folder))
    begin = ("git", "clone", "--quiet", "--depth=1", "--filter=blob:none", "--sparse", archive.repository, str(folder))
    for command in (begin, (*git, "sparse-checkout", "set", archive.folder)):
        subprocess.run(command, check=True)


def commands(archive: Archive, folder: Path, csv: Path) -> list[str]:
    """What imports the logs and the table, and builds the post."""
    source = f"{archive.repository}, {archive.folder}"
    return [
        f"ibench runs import {folder / archive.folder} --experiment {archive.experiment} --setup {archive.setup} "
        f'--source "{source}"',
        f'ibench runs import {csv} --experiment {archive.experiment}_published --source "{source}/{archive.table}"',
        f"ibench post {archive.post}",
    ]


def main() -> None:
    """Get an archive, write its published table as a CSV, and print the commands that import both."""
    if len(sys.argv) != 3 or sys.argv[1] not in ARCHIVES:
        sys.exit(f"usage: python tools/archives.py {'|'.join(ARCHIVES)} FOLDER")
    archive, folder = ARCHIVES[sys.argv[1]], Path(sys.argv[2])
    if not folder.exists():
        clone(archive, folder)
    table = (folder / archive.folder / archive.table).read_text(encoding="utf-8")
    csv = folder / f"{archive.experiment}_published.csv"
    csv.write_text(published_csv(table, archive.setup, archive.threads), encoding="utf-8")
    print("\n".join(commands(archive, folder, csv)))


if __name__ == "__main__":
    main()
