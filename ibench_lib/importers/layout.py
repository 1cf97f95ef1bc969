"""What folders say of the files in them: of what dbms they are."""

from __future__ import annotations

import re
from collections.abc import Sequence

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
    "fb",
)
"""With what the name of a build begins, before its number. Any other folder may be called after a host or a person."""

_DBMS = re.compile(rf"(?:x\.|\d+[kmg]\.)?((?:{'|'.join(FAMILIES)})[-_]?\d[\w.-]*\.[\w-]+)", re.ASCII)
_ENDINGS = re.compile(r"(?:\.pk\d+)?(?:\.(?:tar\.gz|tgz|tar|zip|gz))?$", re.ASCII)
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
