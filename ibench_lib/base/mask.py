"""What the files of a run say in place of this machine's paths and names: runs are shipped, and posts are published.

A path, with what lies below it, becomes a word such as `<datadir>`, the longest one first. Names of hosts and accounts
become words where they stand alone in free text; what users have named (builds, configurations, experiments) stays.
"""

from __future__ import annotations

import os
import pwd
import re
import socket
import sys
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any

from ibench_lib.paths import SOURCE_ROOT, Workspace

HOST, SERVER, USER = "<host>", "<server>", "<user>"
MASKED = "<masked>"
"""In place of a value of others that may tell any of these: nobody has said what it tells."""
_TMP = "<tmp>"
# Folders that we make there, with names that differ from run to run.
_OURS_IN_TMP = r"(?:/(?:ibench-(?:s-|capture-)?|tmp)\w{8})?"
_FIRST_ACCOUNT_OF_A_PERSON = 1000
# Made of the network card's address: MariaDB's server_uid, and server_uuid as a UUID of version 1.
_OF_THE_CARD = (
    (re.compile(r"(?<=server_uid )[\w+/]{27}="), "<server_uid>"),
    (re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-1[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}\b"), "<server_uuid>"),
)


class Mask:
    """Replaces paths and names. `places` maps absolute paths to words, `names` maps names; `accounts` are of people.

    An account is replaced as a part of a path only: as a word it may be any.
    """

    def __init__(
        self, places: Mapping[str, str] | None = None, names: Mapping[str, str] | None = None, accounts: Any = ()
    ) -> None:
        usable = {path.rstrip("/"): word for path, word in (places or {}).items() if path.startswith("/")}
        self.places = {path: word for path, word in usable.items() if path}
        self.names = {name: word for name, word in (names or {}).items() if _tells(name)}
        self.accounts = tuple(accounts)

    def __bool__(self) -> bool:
        return bool(self.places or self.names)

    def also(self, places: Mapping[str, str], names: Mapping[str, str]) -> Mask:
        """A mask that knows more. What this one knows stays."""
        return Mask({**places, **self.places}, {**names, **self.names}, self.accounts)

    def paths(self, text: str, dress: Callable[[str], str] = str) -> str:
        """The text without this machine's paths; for names and whatever else is no free text.

        `dress` is done to each word, such as `html.escape`.
        """
        if not any(begin in text for begin in self._begins):  # most texts: to look for plain words is much quicker
            return text
        words = self._words
        return self._pattern.sub(lambda match: dress(words[(match.lastindex or 1) - 1]), text)

    def text(self, text: str) -> str:
        """Free text without this machine's paths and names."""
        if not self:
            return text
        text = self.paths(text)
        for pattern, word in _OF_THE_CARD:
            text = pattern.sub(word, text)
        return self._name.sub(lambda match: self.names[match[0]], text) if self.names else text

    def all(self, value: Any, replace: Callable[[str], str] | None = None) -> Any:
        """Lists and mappings as in JSON, with `replace` (default: `text`) done to every string that is a value."""
        replace = replace or self.text
        if isinstance(value, str):
            return replace(value)
        if isinstance(value, Mapping):
            return {key: self.all(item, replace) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self.all(item, replace) for item in value]
        return value

    def as_json(self) -> dict[str, Any]:
        """What `Mask(**...)` takes."""
        return {"places": self.places, "names": self.names, "accounts": list(self.accounts)}

    @cached_property
    def _ordered(self) -> list[tuple[str, str]]:
        return sorted(self.places.items(), key=lambda place: len(place[0]), reverse=True)

    @cached_property
    def _begins(self) -> list[str]:
        """Whatever the pattern finds has one of these in it, or before it."""
        return [*self.places, *(f"/{account}" for account in self.accounts)] if self.places else []

    @cached_property
    def _words(self) -> list[str]:
        return [word for _, word in self._ordered] + [USER]

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        parts = []
        masked = "".join(f"(?<!{re.escape(word)})" for word in sorted(set(self._words)))
        for path, word in self._ordered:
            # /tmp is also the end of /var/tmp and of <sandbox>/tmp; a longer path tells too much wherever it stands.
            alone = rf"(?<![\w.-]){masked}" if path.count("/") == 1 else ""
            parts.append(f"{alone}({re.escape(path)}{_OURS_IN_TMP if word == _TMP else ''})")
        accounts = "|".join(re.escape(name) for name in self.accounts)
        parts.append(f"(?<=/)({accounts})" if accounts else "((?!))")
        return re.compile(f"(?:{'|'.join(parts)})(?![\\w-]|\\.\\w)")

    @cached_property
    def _name(self) -> re.Pattern[str]:
        names = sorted(self.names, key=len, reverse=True)
        return re.compile(rf"(?<![A-Za-z0-9_])(?:{'|'.join(map(re.escape, names))})(?![A-Za-z0-9_])")


NOTHING = Mask()


def mask_of_machine(workspace: Workspace) -> Mask:
    """Paths and names of this machine that have nothing to do with a run."""
    places: dict[str, str] = {}
    for path, word in (
        (workspace.builds, "<builds>"),
        (workspace.data, "<workspace>/data"),
        (workspace.root, "<workspace>"),
        (SOURCE_ROOT, "<ibench>"),
        (Path(sys.prefix), "<python>" if sys.prefix != sys.base_prefix else None),
        *((home, "<home>") for home in _homes()),
        (Path(tempfile.gettempdir()), _TMP),
        (Path("/tmp"), _TMP),
    ):
        if word is not None:
            _add(places, path, word)
    return Mask(places, dict.fromkeys(_own_names(), HOST), _people())


def mask_of_run(
    workspace: Workspace,
    run_id: str,
    basedir: Path | None,
    experiment_folder: Path,
    names: Mapping[str, str],
    elsewhere: Mapping[Path, str] | None = None,
) -> Mask:
    """All that the files of one run must not say. `names` are those of a remote server, `elsewhere` more places."""
    places: dict[str, str] = {}
    for folder, name in (elsewhere or {}).items():
        _add(places, folder, name)
    _add(places, workspace.run_dir(run_id), "<run>")
    _add(places, workspace.sandbox_dir(run_id) / "datadir", "<datadir>")
    _add(places, workspace.sandbox_dir(run_id), "<sandbox>")
    if basedir is not None:
        _add(places, basedir, "<basedir>")
    of_machine = mask_of_machine(workspace)
    for path, word in of_machine.places.items():
        places.setdefault(path, word)
    _add(places, experiment_folder, "<experiment>")
    return Mask(places, {**of_machine.names, **names}, of_machine.accounts)


def _add(places: dict[str, str], path: Path, word: str) -> None:
    """The path as it is written, and as it is without links. The first word that a path got stays."""
    for form in (path.absolute(), path.resolve()):
        places.setdefault(str(form), word)


def _tells(name: str) -> bool:
    """Whether a name is one: not everybody's, and none that would be found in any text."""
    everybodys = {"localhost", "localhost.localdomain", "::1", "root", "ibench"}
    return len(name) > 1 and not name.isdigit() and name not in everybodys and not name.startswith("127.")


def _own_names() -> list[str]:
    """The host's name, with and without domain, and its addresses."""
    import psutil  # most commands mask nothing

    name = socket.gethostname()
    addresses = [
        address.address.partition("%")[0]
        for interface in psutil.net_if_addrs().values()
        for address in interface
        if address.family in (socket.AF_INET, socket.AF_INET6)
    ]
    return [name, name.partition(".")[0], *addresses]


def _homes() -> list[Path]:
    """The home that the environment names, and that of the account; in a container there may be neither."""
    homes = [os.environ.get("HOME", "")]
    with suppress(KeyError):
        homes.append(pwd.getpwuid(os.getuid()).pw_dir)
    return [Path(home) for home in homes if home.startswith("/")]


def _people() -> list[str]:
    """The account that we run as, where it is a person's, and the one that became root by sudo."""
    names = [os.environ.get("SUDO_USER", "")]
    with suppress(KeyError):
        account = pwd.getpwuid(os.getuid())
        names += [account.pw_name] if account.pw_uid >= _FIRST_ACCOUNT_OF_A_PERSON else []
    return [name for name in names if name and name != "root"]
