"""What folders say of the files in them: of what dbms they are."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from ibench_lib.errors import UsageError

FAMILIES = (
    "mysql",
    "mariadb",
    "percona-server",
    "percona",
    "postgresql",
    "postgres",
    "myrocks",
    "my",
    "ma",
    "ps",
    "pg",
    "fbmy",
    "fb",
)
"""With what the name of a build begins, before its number. Any other folder may be called after a host or a person."""

_DBMS = re.compile(rf"(?:x\.|\d+[kmg]\.)?((?:{'|'.join(FAMILIES)})[-_]?\d[\w.-]*\.[\w-]+)", re.ASCII)
_VERSION = re.compile(r"\d+(?:\.\d+)+(?:[-_.]+[A-Za-z0-9]+)*", re.ASCII)
_SIZE = re.compile(r"(?:[A-Za-z0-9.-]+_)?(?:(Tier\d+G(?:_[A-Za-z]+\d+)*)(?:[_.].*)?|(BP\d+)(?:\..*)?)", re.ASCII)
_ENDINGS = re.compile(r"(?:\.pk\d+)?(?:\.(?:tar\.gz|tgz|tar|zip|gz))?$", re.ASCII)
_OWN_BUILD = "custom-"
_OF_HOSTS = {
    "com",
    "net",
    "org",
    "edu",
    "gov",
    "io",
    "dev",
    "cloud",
    "local",
    "localdomain",
    "internal",
    "lan",
    "home",
    "corp",
}


NO_DBMS = (
    "a log does not say of what dbms it is",
    "name it with --dbms <build>.<config>, or put the logs of each dbms in a folder of that name",
)
"""What an importer says of a log whose dbms nobody has named, and the hint."""


def dbms_of(folders: Sequence[str]) -> str | None:
    """The `<build>.<config>` that the innermost folder of such a name is called after; None if there is none.

    Before it may stand `x.` or a size such as `20m.`, and behind it `.pk1`, as scripts of others name their folders.
    """
    for folder in reversed(folders):
        match = _DBMS.fullmatch(_ENDINGS.sub("", folder))
        if match and match[1].rpartition(".")[2].lower() not in _OF_HOSTS:
            return match[1]
    return None


def size_of(folders: Sequence[str], name: str) -> str | None:
    """What a file, or its folder, says of the buffer pool, as Tier32G_RW_64th.sysbench.txt and BP80.threads40 do.

    Tests of other sizes are no repeats: it is part of their configuration.
    """
    for one in (name.rpartition("/")[2], *folders[-1:]):
        if found := _SIZE.fullmatch(one):
            return found[1] or found[2]
    return None


def server_of(folders: Sequence[str], name: str) -> str | None:
    """The dbms of a file in folders such as mysql/8.4.8 whose name says the size: mysql-8.4.8.Tier32G."""
    size = size_of(folders, name)
    if size is None or len(folders) < 2 or not _VERSION.fullmatch(folders[-1]):
        return None
    if folders[-2].removeprefix(_OWN_BUILD) not in FAMILIES:
        return None
    if folders[-1].rpartition(".")[2].lower() in _OF_HOSTS:
        return None
    return f"{folders[-2]}-{folders[-1]}.{size}"


def setups_of(
    told: str | None,
    marks: Mapping[str, str],
    logs: Sequence[Mapping[str, int]],
    refusal: Callable[[int, str, str], UsageError],
) -> list[str]:
    """The setup of each log: as the user says, with what differs between the logs; else called after its sizes.

    Parameters
    ----------
    told : the setup that the user names.
    marks : sizes by which a setup is called, and what stands behind each number, such as w of 10w-16c.
    logs : the sizes that each log says.
    refusal : the error that names the log of that number, with what is wrong and a hint.

    Raises
    ------
    UsageError : a log does not say what it must be called after.
    """
    differ = [name for name in marks if told is None or len({log.get(name) for log in logs}) > 1]
    found = []
    for number, sizes in enumerate(logs):
        if any(name not in sizes for name in differ):
            what = f"this log does not say how many {' and '.join(differ)} it had"
            raise refusal(number, what, "import it alone, with --setup")
        found.append("-".join([*([told] if told else []), *(f"{sizes[name]}{marks[name]}" for name in differ)]))
    return found
