"""What an imported run keeps of a server's option file: options that say nothing of hosts, people and paths.

An option is kept if its name is none that may have them and its value is a number, a size, a switch or a word of the
server's. All others are left out, and so are comments, which may have anything.
"""

from __future__ import annotations

import re

from ibench_lib.importers.lines import LineBlocks

_SECTION = re.compile(r"\[(\w{1,30})(?:[-.][\w.-]{1,20})?\]", re.ASCII)
_OPTION = re.compile(r"([a-z][a-z0-9_-]{1,63})(?:\s*=\s*(.*))?", re.ASCII)
# A number with or without a unit, words in capitals as the server's enumerations are, or a known one.
_VALUE = re.compile(
    r"-?\d{1,20}(?:\.\d{1,9})?[KMGTkmgt]?|[A-Z][A-Z0-9_]{0,40}(?:,[A-Z][A-Z0-9_]{0,40}){0,20}"
    r"|on|off|none|all|row|mixed|statement|minimal|full|inserts|innodb|rocksdb|crc32|full_crc32|strict_crc32|fsync"
    r"|utf8|utf8mb[34]|latin1|binary|pool-of-threads|one-thread-per-connection",
    re.ASCII,
)
_SERVERS = {"mysqld", "server", "mariadb", "mariadbd"}
# Parts of the names of options whose values may tell who or where somebody is.
_PRIVATE = re.compile(
    r"(?:^|_)(?:users?|host|hostname|address|admin|port|socket|password|passwd|secret|key|token|auth|authentication"
    r"|dir|datadir|basedir|tmpdir|file|path|home|url|ssl|tls|report|init|plugin|pid|log_error|log_bin|relay|server_uuid"
    r"|server_uid|wsrep|chroot|include)(?:_|$)",
    re.ASCII,
)
_KEPT = ("innodb_log_file_size", "innodb_file_per_table")
_SWITCHED = {"log_bin", "skip_name_resolve"}


def is_option_file(beginning: str) -> bool:
    """Whether a file is one of a server by its beginning: a section of the server with options, and no other text."""
    section, options = "", 0
    for text in beginning.split("\n")[:-1]:
        line = _without_comment(text)
        if match := _SECTION.fullmatch(line):
            section = match[1]
        elif line and _OPTION.fullmatch(line) is None and not line.startswith("!include"):
            return False
        elif line and section in _SERVERS:
            options += 1
    return options > 0


def kept_options(blocks: LineBlocks) -> str:
    """The options of the server, as an option file in the order of their names. Lines that are no option are lost."""
    found: dict[str, str | None] = {}
    section = ""
    for first, lines in blocks:
        for number, text in enumerate(lines, start=first):
            line = _without_comment(text)
            if not line:
                continue
            if match := _SECTION.fullmatch(line):
                section = match[1]
            elif number == blocks.unterminated or not (option := _OPTION.fullmatch(line)):
                blocks.lost.add([number])
            elif section in _SERVERS:
                name = option[1].replace("-", "_")
                # The value of log_bin is a name of files; that it is there switches the binary log on.
                value = None if name == "log_bin" else option[2]
                if _may_be_kept(name, value):
                    found[name] = value
    options = [name if value is None else f"{name}={value}" for name, value in sorted(found.items())]
    return "\n".join(["[mysqld]", *options, ""]) if options else ""


def _without_comment(text: str) -> str:
    return re.split(r"(?:^|\s)[#;]", text, maxsplit=1)[0].strip()


def _may_be_kept(name: str, value: str | None) -> bool:
    if value is None:
        return name in _SWITCHED
    return _VALUE.fullmatch(value) is not None and (name in _KEPT or _PRIVATE.search(name) is None)
