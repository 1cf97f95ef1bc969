"""What MySQL, Percona Server and MariaDB have in common. This module is not a flavour."""

from __future__ import annotations

import re
import signal
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ibench_lib.base.later import later
from ibench_lib.configs.meaning import KnownOptions
from ibench_lib.configs.resolve import Option, ServerConfig
from ibench_lib.configs.rules import Rules, Scaled
from ibench_lib.configs.syntax import size
from ibench_lib.errors import RunFailed
from ibench_lib.families.mysql import options
from ibench_lib.families.mysql.innodb_places import PLACES
from ibench_lib.families.mysql.saved_output import SAVED
from ibench_lib.server_figures import available
from ibench_lib.servers.flavours.flavour import (
    Flavour,
    Inspection,
    MovableFiles,
    Release,
    Setting,
    Settling,
    StartPlace,
)

if TYPE_CHECKING:
    import pymysql

    from ibench_lib.base import mysql
    from ibench_lib.families.mysql import figure_places
    from ibench_lib.servers.address import Address
    from ibench_lib.servers.build import Build
else:
    # A flavour is asked about configurations and builds far more often than about a server that runs.
    pymysql, mysql = later("pymysql"), later("ibench_lib.base.mysql")
    figure_places = later("ibench_lib.families.mysql.figure_places")

_VERSION = re.compile(r"Ver (\d+\.\d+\S*)")
_UNKNOWN_VARIABLE = 1193
_PLUGINS = {"rocksdb": ["ha_rocksdb"]}

# MySQL rounds a buffer pool up to chunks of 128M, and one of 1G and more to a chunk for each of its up to 8 instances.
# A scaled size is a multiple of these, so that a pool is of one size with all builds and numbers of instances.
_CHUNK, _ALL_CHUNKS = 128 << 20, 1 << 30

MOVABLE = {
    "redo": MovableFiles("innodb-log-group-home-dir", ("ib_logfile*", "#innodb_redo")),
    "system": MovableFiles("innodb-data-home-dir", ("ibdata*", "#ib_*dblwr")),
}

RULES = Rules(
    flavour="mysql",
    release=(),
    families=(),
    group="mysqld",
    groups=frozenset({"mysqld", "server"}),
    # The sandbox decides where a server keeps its files, who may reach it, and which logs it writes.
    decided=frozenset(
        [
            "admin_address",
            "admin_port",
            "basedir",
            "bind_address",
            "bootstrap",
            "character_sets_dir",
            "chroot",
            "daemonize",
            "datadir",
            "debug",
            "extra_port",
            "general_log_file",
            "initialize",
            "initialize_insecure",
            "innodb_data_home_dir",
            "innodb_log_group_home_dir",
            "innodb_tmpdir",
            "innodb_undo_directory",
            "lc_messages_dir",
            "log_error",
            "mysqlx_port",
            "mysqlx_socket",
            "pid_file",
            "port",
            "secure_file_priv",
            "skip_networking",
            "slow_query_log_file",
            "socket",
            "ssl_ca",
            "ssl_capath",
            "ssl_cert",
            "ssl_crl",
            "ssl_crlpath",
            "ssl_key",
            "tmpdir",
            "user",
        ]
    ),
    code=frozenset(
        [
            "early_plugin_load",
            "early_plugin_load_add",
            "init_connect",
            "init_file",
            "init_replica",
            "init_slave",
            "plugin_dir",
            "plugin_load",
            "plugin_load_add",
            "skip_grant_tables",
            "wsrep_notify_cmd",
            "wsrep_provider",
            "wsrep_provider_options",
            "wsrep_sst_method",
        ]
    ),
    prefixes=("skip_", "disable_", "enable_", "maximum_", "autoset_"),
    accumulating=re.compile(r"performance_schema_instrument|(replicate|binlog)_(do|ignore|wild|rewrite)_.*"),
    scaled={
        "innodb_buffer_pool_size": Scaled(24 << 20, ((_CHUNK, _CHUNK), (_ALL_CHUNKS, _ALL_CHUNKS))),
        "innodb_log_file_size": Scaled(4 << 20, count="innodb_log_files_in_group"),
        "innodb_redo_log_capacity": Scaled(8 << 20),
        "innodb_max_purge_lag": Scaled(1),
    },
    # The capacity is that of all files together.
    replaced={
        "innodb_log_file_size": "innodb_redo_log_capacity",
        "innodb_log_files_in_group": "innodb_redo_log_capacity",
        "innodb_redo_log_capacity": "innodb_log_file_size",
    },
)

SETTLING = Settling(
    table="ANALYZE TABLE {table}",
    # In this order: a server refuses a low-water mark above the limit.
    hastened=(
        *(
            Setting(f"SELECT @@GLOBAL.{name}", f"SET GLOBAL {name} = {{value}}", "1")
            for name in ("innodb_max_dirty_pages_pct_lwm", "innodb_max_dirty_pages_pct")
        ),
        Setting(
            "SELECT @@GLOBAL.innodb_idle_flush_pct",
            "SET GLOBAL innodb_idle_flush_pct = {value}",
            "100",
            unknown=_UNKNOWN_VARIABLE,  # MariaDB has none
        ),
    ),
    dirty="SHOW GLOBAL STATUS LIKE 'Innodb_buffer_pool_pages_dirty'",
    data="SHOW GLOBAL STATUS LIKE 'Innodb_buffer_pool_pages_data'",
    column=1,
)

# Leave nothing behind: memory, threads, pace of I/O, waits, limits of sessions, and what is only looked at.
_DEFAULT_REDO_FILES = 2
"""Of a server with innodb_log_file_size alone: innodb_log_files_in_group."""

_RUNTIME = re.compile(
    r"""
    back_log|connect_timeout|eq_range_index_dive_limit|flush_time|general_log|host_cache_size
    |innodb_adaptive_(flushing(_lwm|_method)?|hash_index(_parts|_partitions)?|max_sleep_delay)
    |innodb_buffer_pool_.*|innodb_cleaner_.*|innodb_commit_concurrency|innodb_concurrency_tickets|innodb_deadlock_detect
    |innodb_doublewrite(_pages)?|innodb_empty_free_list_algorithm|innodb_fast_shutdown
    |innodb_flush_(log_at_timeout|log_at_trx_commit|method|neighbors|sync)|innodb_flushing_avg_loops
    |innodb_foreground_preflush|innodb_fsync_threshold|innodb_idle_flush_pct|innodb_io_capacity(_max)?
    |innodb_lock_wait_timeout|innodb_log_(buffer_size|file_buffering|file_mmap|spin_.*|wait_for_.*|writer_threads)
    |innodb_lru_(flush_size|scan_depth)|innodb_max_dirty_pages_pct(_lwm)?|innodb_max_purge_lag(_delay|_wait)?
    |innodb_monitor_.*|innodb_numa_interleave|innodb_old_blocks_(pct|time)|innodb_open_files|innodb_page_cleaners
    |innodb_print_all_deadlocks|innodb_purge_(batch_size|threads)|innodb_random_read_ahead|innodb_read_ahead_threshold
    |innodb_(read|write)_io_threads|innodb_rollback_on_timeout|innodb_spin_wait_(delay|pause_multiplier)
    |innodb_stats_on_metadata|innodb_status_output(_locks)?|innodb_sync_(array_size|spin_loops)
    |innodb_thread_(concurrency|sleep_delay)|innodb_use_(fdatasync|native_aio)
    |(interactive|lock_wait|wait)_timeout|(join|key|read|read_rnd|sort)_buffer_size|large_pages|log_error_verbosity
    |log_queries_not_using_indexes|log_slow_.*|log_warnings|long_query_time|max_allowed_packet
    |max_(connect_errors|connections|heap_table_size|user_connections)|metadata_locks_.*|min_examined_row_limit|net_.*
    |open_files_limit|optimizer_.*|performance_schema.*|query_cache_.*|skip_name_resolve|slow_query_log|sync_binlog
    |table_(definition_cache|open_cache|open_cache_instances)|thread_(cache_size|handling|pool_.*|stack)|tmp_table_size
    |userstat
    """,
    re.VERBOSE,
)
# A server recreates its redo log if its size has changed and it was shut down cleanly.
_REDO = re.compile("innodb_log_file_size|innodb_log_files_in_group|innodb_redo_log_capacity")
# Compared even if nobody sets them: builds of one series may have different defaults.
_LAYOUT = re.compile(
    r"""
    auto_increment_(increment|offset)|character_set_server|collation_server|default_time_zone|innodb_autoinc_lock_mode
    |innodb_change_buffering|innodb_checksum_algorithm|innodb_compression_(algorithm|level)|innodb_data_file_path
    |innodb_default_row_format|innodb_doublewrite_files|innodb_encrypt_tables|innodb_extend_and_initialize
    |innodb_file_(format|per_table)|innodb_fill_factor|innodb_page_size|innodb_rollback_segments
    |innodb_stats_(auto_recalc|persistent|persistent_sample_pages)|innodb_undo_(log_truncate|logs|tablespaces)|log_bin
    |lower_case_table_names
    """,
    re.VERBOSE,
)
# Files of the data that an option may put outside of the data directory, where a snapshot does not include them.
_PLACES = re.compile(r"innodb\w*(_dirs?|_path|_directories|_doublewrite_file)|aria_log_dir_path|log_bin(_index)?")
_IS_PATH = re.compile(r"\w*(_dirs?|_path|_directories|_file|_index)")
_SYSTEM = re.compile(r"ibdata\w*(:[^;]*)?(;ibdata\w*(:[^;]*)?)*")
# The pages that were in the buffer pool, which servers load at their next start; and the variable that names the file.
_POOL_LIST, _POOL_LIST_NAMED = "ib_buffer_pool", "innodb_buffer_pool_filename"


class MySQLFamily(Flavour):
    """Base of the family's flavours. Each defines its name and its differences."""

    name: str
    family = "mysql"
    families: tuple[str, ...]
    mark: str | None = None
    binaries: tuple[str, ...] = ("mysqld",)
    is_system = True
    has_engines = True
    version_arguments: tuple[str, ...] = ("--no-defaults", "--version")
    initial_options = frozenset(
        [
            "character_set_server",
            "collation_server",
            "default_time_zone",
            "innodb_checksum_algorithm",
            "innodb_data_file_path",
            "innodb_page_size",
            "innodb_undo_tablespaces",
            "lower_case_table_names",
        ]
    )
    personal_files: tuple[str, ...] = ("auto.cnf", "*.pem")
    movable: Mapping[str, MovableFiles] = MOVABLE
    stop_signal: int = signal.SIGTERM
    death_signal: int = signal.SIGKILL
    # It refuses to run as root unless told. Another user would lose the tether (ibench_lib/base/tether.py).
    root_options: tuple[str, ...] | None = ("--user=root",)
    superuser = "root"
    small: tuple[Option, ...] = (Option("innodb_buffer_pool_size", "32M", "inspection"),)
    places = PLACES
    create_database = "CREATE DATABASE {name}"
    drop_database = "DROP DATABASE {name}"
    long_transaction: tuple[str, ...] = (
        "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
        "START TRANSACTION WITH CONSISTENT SNAPSHOT",
    )
    database_exists: int | str = 1007
    connection_limit = "max_connections"
    port = 3306
    driver = "ibench_lib.client.mysql.connection"
    saved = SAVED
    remakes_redo: Release
    """The first release that recreates its redo log when the size changes."""
    one_redo_file_since: Release | None = None
    """The first release whose redo log is one file, whatever innodb_log_files_in_group says; None: there is none."""

    def version_in(self, words: str) -> str | None:
        match = _VERSION.search(words)
        return match[1] if match else None

    def moved_options(self, basedir: Path) -> list[str]:
        """Where the server finds its error messages: a moved basedir differs from what was compiled in."""
        for folder in ("share", "share/mysql", "share/mariadb"):
            if (basedir / folder / "english" / "errmsg.sys").is_file():
                return [f"--lc-messages-dir={basedir / folder}"]
        return []

    def start_command(self, build: Build, place: StartPlace) -> list[str]:
        network = ["--skip-networking"]
        if place.port is not None:
            network = [f"--bind-address={place.host}", f"--port={place.port}"]
        if place.certificate is not None:
            network += [f"--ssl-cert={place.certificate}", f"--ssl-key={place.certificate.with_suffix('.key')}"]
            network += [f"--ssl-ca={place.certificate}"]
        return [
            *build.command,
            f"--defaults-file={place.option_file}",
            f"--basedir={build.basedir}",
            f"--datadir={place.datadir}",
            f"--tmpdir={place.tmpdir}",
            *(f"--{self.movable[what].option}={folder}" for what, folder in place.moved.items()),
            f"--socket={place.socket}",
            f"--pid-file={place.pid_file}",
            f"--log-error={place.error_log}",
            f"--init-file={place.init_file}",
            *network,
            *self.start_options(build),
            *options.pinned_options(build),
            *build.options,
            *options.load_options(place.plugins),
            *place.user,
        ]

    def start_options(self, build: Build) -> list[str]:
        """Options that a flavour needs next to the common ones, to keep a sandbox private."""
        return []

    def answers(self, address: Address) -> bool:
        try:
            # Another program on the port may accept the connection and never answer.
            mysql.connect(**address.arguments(), connect_timeout=5, read_timeout=5).close()
        except pymysql.err.OperationalError:
            return False
        return True

    def free_memory(self, datadir: Path, wait_s: float = 0.0) -> None:
        """Nothing: its memory is the kernel's again when it ends."""

    def plugins(self, engine: str) -> list[str]:
        return list(_PLUGINS.get(engine, ()))

    def all_plugins(self) -> list[str]:
        return [plugin for plugins in _PLUGINS.values() for plugin in plugins]

    def plugin_path(self, build: Build, plugin: str) -> Path | None:
        folders = options.plugin_folders(build)
        return next((path for folder in folders if (path := folder / f"{plugin}.so").is_file()), None)

    def rules(self, release: Release) -> Rules:
        series = ".".join(map(str, release[:2]))
        groups = RULES.groups | {f"mysqld-{series}"}
        return replace(RULES, flavour=self.name, release=release, families=self.families, groups=groups)

    def known_options(self, build: Build, plugins: Sequence[str]) -> KnownOptions:
        return options.known_options(build, plugins)

    def refusal(self, build: Build, text: str, plugins: Sequence[str]) -> str | None:
        return options.refusal(build, text, plugins)

    def memory_bytes(self, config: ServerConfig) -> int:
        return size(config.value("innodb_buffer_pool_size") or "") or 0

    def log_bytes(self, config: ServerConfig, release: Release) -> int:
        capacity = size(config.value("innodb_redo_log_capacity") or "")
        if capacity is not None:
            return capacity
        one_file = size(config.value("innodb_log_file_size") or "") or 0
        if self.one_redo_file_since is not None and release >= self.one_redo_file_since:
            return one_file
        return one_file * (size(config.value("innodb_log_files_in_group") or "") or _DEFAULT_REDO_FILES)

    def log_options(self, config: ServerConfig) -> tuple[Option, ...]:
        is_one = size(config.value("innodb_redo_log_capacity") or "") is not None
        names = {"innodb_redo_log_capacity"} if is_one else {"innodb_log_file_size", "innodb_log_files_in_group"}
        makes_one = is_one or size(config.value("innodb_log_file_size") or "")
        return tuple(option for option in config.options if option.key in names) if makes_one else ()

    def reads_files_of(self, build: Build) -> str:
        """Builds of one series."""
        return ".".join(map(str, build.release[:2]))

    def leaves_nothing(self, name: str, build: Build) -> bool:
        if _REDO.fullmatch(name):
            return build.release >= self.remakes_redo
        return _RUNTIME.fullmatch(name) is not None

    def decides_layout(self, name: str) -> bool:
        return _LAYOUT.fullmatch(name) is not None

    def places_files(self, name: str) -> bool:
        return _PLACES.fullmatch(name) is not None

    def cannot_move(self, what: str, engine: str, config: ServerConfig) -> tuple[str, str] | None:
        if engine != "innodb" or what not in self.movable:
            refused = f"which is InnoDB's, but the tables are of engine {engine}"
            return refused, "give a folder for data only: it holds all files"
        if what == "system" and not _SYSTEM.fullmatch(config.value("innodb_data_file_path") or "ibdata1"):
            refused = "but innodb_data_file_path names files that are not called ibdata"
            return refused, "call them ibdata1, ibdata2 and so on, or leave `system` out"
        return None

    def tables_in_system(self, config: ServerConfig) -> bool:
        return (config.value("innodb_file_per_table") or "").upper() in ("0", "OFF", "FALSE")

    def is_path(self, name: str) -> bool:
        return _IS_PATH.fullmatch(name) is not None

    def caches_in(self, variables: Mapping[str, str]) -> list[str]:
        return [variables.get(_POOL_LIST_NAMED, _POOL_LIST)]

    def only_by_socket(self, release: Release) -> bool:
        """Of no release."""
        return False

    def clean_stop(self, release: Release) -> tuple[str, ...]:
        """The same for all releases: the shutdown purges, merges and flushes."""
        return ("SET GLOBAL innodb_fast_shutdown = 0",)

    def settling(self, release: Release) -> Settling:
        """The same for all releases."""
        return SETTLING

    def history_list(self, address: Mapping[str, Any]) -> tuple[int | None, str | None]:
        return figure_places.history_list_length(address, self.places)

    def variables(self, address: Mapping[str, Any]) -> dict[str, str]:
        try:
            connection = mysql.connect(**address, connect_timeout=10, read_timeout=60)
            with connection, connection.cursor() as cursor:
                cursor.execute("SHOW GLOBAL VARIABLES")
                return {str(name): str(value) for name, value in cursor.fetchall()}
        except (pymysql.err.MySQLError, OSError) as error:
            raise RunFailed(f"SHOW GLOBAL VARIABLES: {error}") from error

    def inspect(self, address: Mapping[str, Any]) -> Inspection:
        try:
            with mysql.connect(**address) as connection:
                return _inspect(connection)
        except (pymysql.err.MySQLError, OSError, LookupError) as error:  # LookupError: an answer lacks what all have
            raise RunFailed(repr(error)) from error

    def greeting(self, address: Mapping[str, Any], timeout_s: float) -> str:
        try:
            connection = mysql.connect(**address, connect_timeout=timeout_s, read_timeout=60)
            with connection, connection.cursor() as cursor:
                cursor.execute("SELECT @@version, @@version_comment")
                version, comment = cursor.fetchone()
                return f"Ver {version} {comment}"
        except (pymysql.err.MySQLError, OSError) as error:
            raise RunFailed(str(error)) from error

    def reset_binary_log(self, build: Build, variables: Mapping[str, str]) -> str | None:
        return self.reset_statement(build) if variables.get("log_bin") == "ON" else None

    def reset_statement(self, build: Build) -> str:
        """The statement that deletes all binary logs."""
        return "RESET MASTER"


def _inspect(connection: Any) -> Inspection:
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
        counters=available(PLACES, metrics, status, variables),
    )
