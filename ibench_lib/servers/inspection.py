"""Boot a build in a throw-away sandbox and look at it: version, engines, what it counts."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pymysql

from ibench_lib.errors import ServerStartError
from ibench_lib.paths import Workspace
from ibench_lib.server_figures import Counter, available
from ibench_lib.servers.build import Build
from ibench_lib.servers.plugins import MYROCKS, plugin_path
from ibench_lib.servers.remote import Remote, RemoteServer
from ibench_lib.servers.sandbox import Sandbox

_MY_CNF = "[mysqld]\ninnodb_buffer_pool_size=32M\n"


@dataclass(frozen=True)
class Inspection:
    """What a booted build said of itself.

    `engines` maps a storage engine to its support (DEFAULT, YES, NO ...); `innodb` is such as `InnoDB 10.11.19` or
    `XtraDB 5.6.35-80.0`; `metrics` counts the InnoDB metrics.
    """

    version: str
    version_comment: str
    innodb: str
    engines: dict[str, str]
    metrics: int
    metrics_on: int
    counters: dict[str, Counter | None]


def inspect(build: Build | Remote, workspace: Workspace) -> Inspection:
    """Boot, ask, stop; a remote server is only asked. What was found is noted for `noted_innodb`.

    Raises
    ------
    ServerStartError : it does not come up, or does not answer.
    """
    workspace.sandboxes.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory(prefix=".check-", dir=workspace.sandboxes) as scratch,
        _opened(build, Path(scratch), workspace) as address,
    ):
        try:
            with pymysql.connect(**address.arguments()) as connection:
                found = _ask(connection)
        except pymysql.err.MySQLError as error:
            raise ServerStartError(f"build {build.label} starts, but does not answer: {error}") from error
    note = _note(build, workspace)
    note.parent.mkdir(parents=True, exist_ok=True)
    # The version of the binary, which is what `noted_innodb` can compare without booting it.
    note.write_text(json.dumps({**asdict(found), "binary": build.version}, indent=1) + "\n", encoding="utf-8")
    return found


def noted_innodb(build: Build | Remote, workspace: Workspace) -> str | None:
    """What an earlier `inspect` of this very version found of InnoDB; None when there was none."""
    try:
        note = json.loads(_note(build, workspace).read_text(encoding="utf-8"))
        return str(note["innodb"]) if note["binary"] == build.version else None
    except (OSError, ValueError, KeyError):
        return None


def _note(build: Build | Remote, workspace: Workspace) -> Path:
    return workspace.builds / ".inspected" / f"{build.label}.json"


def _opened(build: Build | Remote, scratch: Path, workspace: Workspace) -> Sandbox | RemoteServer:
    if isinstance(build, Remote):
        return RemoteServer(build)
    my_cnf = scratch / "my.cnf"
    my_cnf.write_text(_MY_CNF, encoding="utf-8")
    plugins = [MYROCKS] if plugin_path(build, MYROCKS) else []
    log = scratch / "server.log"
    return Sandbox(build, scratch / "box", my_cnf, log, plugins=plugins, templates=workspace.datadirs)


def _ask(connection: Any) -> Inspection:
    def rows(query: str) -> Sequence[dict[str, Any]]:
        with connection.cursor(pymysql.cursors.DictCursor) as cursor:
            cursor.execute(query)
            return list(cursor.fetchall())

    variables = {row["Variable_name"]: row["Value"] for row in rows("SHOW GLOBAL VARIABLES")}
    status = {row["Variable_name"]: row["Value"] for row in rows("SHOW GLOBAL STATUS")}
    engines = {row["Engine"]: row for row in rows("SHOW ENGINES")}
    metrics = {}
    for row in rows("SELECT * FROM information_schema.INNODB_METRICS"):
        by_name = {name.upper(): value for name, value in row.items()}
        # MariaDB 10.5 and later have an integer ENABLED where the others have the word STATUS.
        metrics[by_name["NAME"]] = by_name.get("STATUS", by_name.get("ENABLED")) in ("enabled", 1)
    comment = str(engines.get("InnoDB", {}).get("Comment", ""))
    kind = "XtraDB" if "xtradb" in comment.lower() else "InnoDB"
    return Inspection(
        version=variables["version"],
        version_comment=variables["version_comment"],
        innodb=f"{kind} {variables.get('innodb_version', variables['version'])}",
        engines={name: str(row["Support"]) for name, row in sorted(engines.items())},
        metrics=len(metrics),
        metrics_on=sum(metrics.values()),
        counters=available(metrics, status, variables),
    )
