"""What an imported run keeps of the names of files: folders and files of others are often called after their hosts.

A word of a name is kept if it says what was measured: words of benchmarks, short numbers, and the names of the setup,
dbms and steps, which users choose. Any other word becomes `name1`, `name2` and so on, the same word the same wherever
it stands, so that files can still be told apart. Four numbers in a row may be an address, or a time, and are replaced.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_ADDRESS = re.compile(r"(?<![0-9])[0-9]{1,3}(?:[._-][0-9]{1,3}){3,}(?![0-9])|[0-9A-Fa-f]*(?::[0-9A-Fa-f]*){2,}")
_WORD = re.compile(r"[^\W_]+")
_RUNS = re.compile(r"[0-9]+|[^0-9]+")
_KNOWN_WORDS = """
sysbench oltp read write only point select update index non insert delete random points ranges bulk range secondary
covered notcovered inlist zipf scan hot run res result results log logs txt csv out json gz tar zip tgz sh sql cnf
conf thr threads thread th dop bp tier rw ro rep repeat sb ib ips rel abs met io vm ps iostat vmstat mpstat dstat
innodb vars status params rate rt sum mrg all html gs gv esi ses esr est ts sz lsa dbsz dbdirsz ctime utime stime
atime mem parts create srvcpu cpu avg data header query notes readme md qr qp pk figures table tables load report
linkbench req request requests stream stats csvstream csvstats
"""
_KNOWN = frozenset(_KNOWN_WORDS.split())
_GIVEN = re.compile(r"name[0-9]+")
_NUMBER_DIGITS = 4


class StoredNames:
    """Names of files as runs keep them. `kept` are words that users have chosen, such as the names of a dbms."""

    def __init__(self, kept: Iterable[str] = ()) -> None:
        self._kept = _KNOWN | {word.lower() for text in kept for word in _WORD.findall(text)}
        self._words: dict[str, str] = {}

    def __call__(self, name: str) -> str:
        """The name of a file, with its folders, as it is kept."""
        return _WORD.sub(self._kept_or_numbered, _ADDRESS.sub(self._numbered, name))

    def _kept_or_numbered(self, match: re.Match[str]) -> str:
        word = match[0]
        if word.lower() in self._kept or _GIVEN.fullmatch(word):
            return word
        plain = all(
            len(run) <= _NUMBER_DIGITS if run.isdecimal() else len(run) == 1 or run.lower() in _KNOWN
            for run in _RUNS.findall(word)
        )
        return word if plain and word.isascii() else self._numbered(match)

    def _numbered(self, match: re.Match[str]) -> str:
        return self._words.setdefault(match[0].lower(), f"name{len(self._words) + 1}")
