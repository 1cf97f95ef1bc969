"""PostgreSQL: initialised by `initdb`, several processes, reached by its own protocol. It refuses to run as root."""

from __future__ import annotations

import re
import shlex
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ibench_lib.client.driver import ConnectionLost, StatementError
from ibench_lib.configs.meaning import KnownOptions
from ibench_lib.configs.resolve import Option, ServerConfig
from ibench_lib.configs.rules import Rules, Scaled
from ibench_lib.errors import RunFailed
from ibench_lib.families.postgres import options, shared_memory
from ibench_lib.families.postgres.driver import Connection
from ibench_lib.families.postgres.option_file import POSTGRES_CONF
from ibench_lib.server_figures import FigurePlaces
from ibench_lib.servers.build import release_of
from ibench_lib.servers.flavours.flavour import (
    DEFAULT_ENGINE,
    Flavour,
    Inspection,
    MovableFiles,
    Release,
    Settling,
    StartPlace,
)

if TYPE_CHECKING:
    from ibench_lib.servers.address import Address
    from ibench_lib.servers.build import Build

_VERSION = re.compile(r"PostgreSQL\)?\s+(\d+[\w.]*)")
_PORT = 5432
_ASK_S = 10.0
_LEAST_BUFFERS, _LEAST_WAL = 24 << 20, 32 << 20
_HAS_SCRAM, _HAS_INDEX_CLEANUP = (10,), (12,)
"""The first releases that do."""

_DECIDED = """
    bonjour bonjour_name cluster_name config_file data_directory event_source external_pid_file hba_file ident_file
    krb_server_keyfile listen_addresses log_destination log_directory log_filename logging_collector port
    restart_after_crash ssl
    ssl_ca_file ssl_cert_file ssl_crl_dir ssl_crl_file ssl_dh_params_file ssl_key_file stats_temp_directory
    syslog_facility    syslog_ident temp_tablespaces unix_socket_directories unix_socket_group unix_socket_permissions
"""
_CODE = """
    allow_system_table_mods archive_cleanup_command archive_command archive_library dynamic_library_path
    extension_control_path jit_provider local_preload_libraries oauth_validator_libraries primary_conninfo
    recovery_end_command restore_command session_preload_libraries shared_preload_libraries ssl_passphrase_command
"""

# Leave nothing behind after VACUUM and a clean shutdown: memory, processes, pace of I/O, WAL, what is only logged.
_RUNTIME = re.compile(
    r"""
    autovacuum(_.*)?|backend_flush_after|bgwriter_.*|checkpoint_.*|commit_(delay|siblings)|(cpu|random_page|seq_page)_.*
    |effective_.*|enable_.*|full_page_writes|fsync|huge_page(s|_size)|io_.*|jit(_.*)?|log_.*|(maintenance_|hash_)?work_mem\w*
    |logical_decoding_work_mem|max_(connections|parallel_.*|wal_size|worker_processes)|min_wal_size|shared_(buffers|memory_type)
    |(dead|lock|statement|idle_.*|transaction|wal_.*)_?timeout|synchronous_commit|temp_buffers|track_.*|vacuum_.*
    |wal_(buffers|compression|recycle|init_zero|sync_method|writer_.*|skip_threshold|log_hints)|maintenance_io_concurrency
    """,
    re.VERBOSE,
)
_LAYOUT = re.compile(
    "block_size|data_checksums|wal_segment_size|segment_size|server_encoding|lc_c.*|default_toast_compression"
)


class PostgreSQL(Flavour):
    """Its own words have its name."""

    name = "postgres"
    family = "postgres"
    mark: str | None = "postgresql"
    binaries: tuple[str, ...] = ("postgres",)
    is_system = False
    has_engines = False
    version_arguments: tuple[str, ...] = ("--version",)
    initial_options: frozenset[str] = frozenset()
    personal_files: tuple[str, ...] = ("postmaster.opts", "postmaster.pid")
    movable: Mapping[str, MovableFiles] = {}
    stop_signal: int = signal.SIGINT  # SIGTERM would wait for its clients
    death_signal: int = signal.SIGQUIT  # SIGKILL would leave its other processes
    root_options: tuple[str, ...] | None = None
    superuser = "ibench"
    small: tuple[Option, ...] = (Option("shared_buffers", str(_LEAST_BUFFERS), "inspection"),)
    places = FigurePlaces()
    create_database = "CREATE DATABASE {name}"
    drop_database = "DROP DATABASE {name}"
    long_transaction: tuple[str, ...] = ("BEGIN ISOLATION LEVEL REPEATABLE READ",)
    database_exists: int | str = "42P04"
    connection_limit = "max_connections"
    port = _PORT
    driver = "ibench_lib.families.postgres.driver"

    def version_in(self, words: str) -> str | None:
        match = _VERSION.search(words)
        return match[1] if match else None

    def moved_options(self, basedir: Path) -> list[str]:
        """None: it finds its files by where its binary is."""
        return []

    def only_by_socket(self, release: Release) -> bool:
        """Without SCRAM a server learns that the client knows the password, and proves nothing of itself."""
        return release < _HAS_SCRAM

    def initialise_command(self, build: Build, my_cnf: Path, datadir: Path, user: Sequence[str]) -> list[str]:
        """`initdb`, and then a `pg_hba.conf` that asks everybody for a password, by the socket and on the loopback.

        `-N` is `--no-sync`, which has another name in 9.6.
        """
        program = [str(Path(build.command[-1]).parent / "initdb"), "-D", str(datadir), "-U", self.superuser]
        initdb = shlex.join([*program, "-A", "reject", "-E", "UTF8", "--locale=C", "-N"])
        by_scram = "local all all scram-sha-256\nhost all all 127.0.0.1/32 scram-sha-256\n"
        hba = "local all all md5\n" if self.only_by_socket(build.release) else by_scram
        file = shlex.quote(str(datadir / "pg_hba.conf"))
        return ["/bin/sh", "-ec", f"{initdb}\nprintf %s {shlex.quote(hba)} >{file}"]

    def accounts(self, build: Build, password: str, host: str | None) -> str:
        """The superuser's password; there is no other account. Before 14 a server keeps MD5 by default."""
        by_scram = "" if self.only_by_socket(build.release) else "SET password_encryption = 'scram-sha-256';\n"
        return f"{by_scram}ALTER ROLE {self.superuser} PASSWORD '{password}';\n"

    def start_command(self, build: Build, place: StartPlace) -> list[str]:
        """Without network a single-user server sets the password, then the server itself takes its place.

        Its socket has a name of its own, and gets the one that it shall have as well.
        """
        port = place.port or _PORT
        settings = {
            "config_file": str(place.option_file),
            "listen_addresses": place.host if place.port is not None else "",
            "port": str(port),
            "unix_socket_directories": str(place.socket.parent),
            "unix_socket_permissions": "0700",
            "logging_collector": "off",
            "log_destination": "stderr",
            # It would begin again with empty statistics, in the middle of a step, if one of its processes died.
            "restart_after_crash": "off",
            "ssl": "off",
        }
        if place.certificate is not None:
            settings |= {"ssl": "on", "ssl_cert_file": str(place.certificate)}
            settings |= {"ssl_key_file": str(place.certificate.with_suffix(".key"))}
        given = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        where = ["-D", str(place.datadir), *given, *build.options]
        single = shlex.join([*build.command, "--single", *where, "postgres"])
        server = shlex.join([*build.command, *where])
        link = shlex.join(["ln", "-sfn", f".s.PGSQL.{port}", str(place.socket)])
        return ["/bin/sh", "-ec", f"{single} <{shlex.quote(str(place.init_file))} >/dev/null\n{link}\nexec {server}"]

    def answers(self, address: Address) -> bool:
        try:
            Connection(address.arguments(), None, _ASK_S).close()
        except ConnectionLost:
            return False
        return True

    def free_memory(self, datadir: Path, wait_s: float = 0.0) -> None:
        """What a killed server has left in the kernel's memory, if it is proven to be its own."""
        shared_memory.free(datadir, wait_s)

    def plugins(self, engine: str) -> list[str]:
        """None of its own. What another engine would need, no build has: then a message says so."""
        return [] if engine == DEFAULT_ENGINE else [engine]

    def all_plugins(self) -> list[str]:
        return []

    def plugin_path(self, build: Build, plugin: str) -> Path | None:
        return None

    def rules(self, release: Release) -> Rules:
        return Rules(
            self.name,
            release,
            families=(self.name,),
            group="",
            groups=frozenset({""}),
            decided=frozenset(_DECIDED.split()),
            code=frozenset(_CODE.split()),
            scaled={
                "shared_buffers": Scaled(_LEAST_BUFFERS),
                "max_wal_size": Scaled(_LEAST_WAL),
                "min_wal_size": Scaled(_LEAST_WAL),
                "autovacuum_work_mem": Scaled(1 << 20),
            },
            syntax=POSTGRES_CONF,
        )

    def known_options(self, build: Build, plugins: Sequence[str]) -> KnownOptions:
        return options.known_options(build)

    def refusal(self, build: Build, text: str, plugins: Sequence[str]) -> str | None:
        return options.refusal(build, text)

    def memory_bytes(self, config: ServerConfig) -> int:
        return POSTGRES_CONF.size(config.value("shared_buffers") or "") or 0

    def log_bytes(self, config: ServerConfig, release: Release) -> int:
        return POSTGRES_CONF.size(config.value("max_wal_size") or "") or 0

    def log_options(self, config: ServerConfig) -> tuple[Option, ...]:
        return tuple(option for option in config.options if option.key == "max_wal_size")

    def reads_files_of(self, build: Build) -> str:
        """Builds of one major version, which before 10 had two numbers."""
        return ".".join(map(str, build.release[: 1 if build.release >= (10,) else 2]))

    def leaves_nothing(self, name: str, build: Build) -> bool:
        return _RUNTIME.fullmatch(name) is not None

    def decides_layout(self, name: str) -> bool:
        return _LAYOUT.fullmatch(name) is not None

    def places_files(self, name: str) -> bool:
        return name in ("data_directory", "temp_tablespaces", "default_tablespace")

    def cannot_move(self, what: str, engine: str, config: ServerConfig) -> tuple[str, str] | None:
        return "and no files of PostgreSQL can be moved", "give a folder for data only: it holds all files"

    def tables_in_system(self, config: ServerConfig) -> bool:
        return False

    def is_path(self, name: str) -> bool:
        return name.endswith(("_directory", "_directories", "_file", "_tablespaces"))

    def caches_in(self, variables: Mapping[str, str]) -> list[str]:
        return []

    def clean_stop(self, release: Release) -> tuple[str, ...]:
        """A vacuum of all tables, and a checkpoint."""
        return _vacuum(release), "CHECKPOINT"

    def settling(self, release: Release) -> Settling:
        """A vacuum of each table, and a checkpoint."""
        return Settling(
            table=f"{_vacuum(release)} {{table}}",
            then=("CHECKPOINT",),
            hastened=(),
            dirty=None,
            data=None,
            column=0,
        )

    def history_list(self, address: Mapping[str, Any]) -> tuple[int | None, str | None]:
        return None, "PostgreSQL has no history list: old row versions stay in the tables until vacuum"

    def variables(self, address: Mapping[str, Any]) -> dict[str, str]:
        """All settings as SHOW has them, and the version and what the build says of itself as others call them."""
        settings = _asked(address, "SELECT name, current_setting(name, true) FROM pg_settings")
        (about,) = _asked(address, "SELECT current_setting('server_version'), version()")
        return {
            **{str(name): str(value) for name, value in settings},
            "version": str(about[0]).split()[0],
            "version_comment": str(about[1]),
        }

    def greeting(self, address: Mapping[str, Any], timeout_s: float) -> str:
        """Raises RunFailed for a release that cannot prove its identity, too: only a sandbox may have it."""
        words = str(_asked(address, "SELECT version()", timeout_s)[0][0])
        version = self.version_in(words)
        if version is not None and self.only_by_socket(release_of(version)):
            raise RunFailed(
                f"PostgreSQL {version} cannot prove its identity: only a server that ibench starts may be older than 10"
            )
        return words

    def inspect(self, address: Mapping[str, Any]) -> Inspection:
        ((version, comment),) = _asked(address, "SELECT current_setting('server_version'), version()")
        return Inspection(str(version).split()[0], str(comment), "none", {}, 0, 0, {})

    def reset_binary_log(self, build: Build, variables: Mapping[str, str]) -> str | None:
        return None


def _vacuum(release: Release) -> str:
    """The statement that removes all dead rows: since 12 a server may leave them in indexes by default."""
    return "VACUUM (ANALYZE, INDEX_CLEANUP ON)" if release >= _HAS_INDEX_CLEANUP else "VACUUM (ANALYZE)"


def _asked(address: Mapping[str, Any], query: str, timeout_s: float = 60.0) -> list[tuple[str | None, ...]]:
    """The rows of an answer. Raises RunFailed."""
    try:
        connection = Connection(address, None, timeout_s)
        try:
            rows = connection.fetch(connection.command(query.encode()))
        finally:
            connection.close()
    except (ConnectionLost, StatementError) as error:
        raise RunFailed(f"{query.split(' FROM ')[0]}: {error}") from error
    return [tuple(None if value is None else value.decode("utf-8", "replace") for value in row) for row in rows]


FLAVOUR: Flavour = PostgreSQL()
