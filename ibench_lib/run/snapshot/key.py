"""What decides the content of a data directory after a step: the cells that agree on all of it may share a snapshot.

An option that is set counts unless it is known to leave nothing on disk once a server has purged, merged and flushed
everything and ended: what nobody has thought of counts. After steps that delete every option counts, and the server's
whole version, since purge and flushing then decide how full pages are.
"""

from __future__ import annotations

import json
import re
from importlib.metadata import version

from ibench_lib.configs.meaning import KnownOptions, canonical, meaning
from ibench_lib.configs.resolve import ServerConfig
from ibench_lib.errors import ExperimentError
from ibench_lib.run.snapshot.sharing import SERVER, LoadSettings
from ibench_lib.servers.build import Build
from ibench_lib.servers.remote import Remote
from ibench_lib.servers.variables import known_options
from ibench_lib.workloads.insert_benchmark.workload import Options, Step

# Leave nothing behind: memory, threads, pace of I/O, waits, limits of sessions, and what is only looked at.
_RUNTIME = re.compile(
    r"""
    back_log|connect_timeout|eq_range_index_dive_limit|flush_time|general_log|host_cache_size
    |innodb_adaptive_(flushing(_lwm|_method)?|hash_index(_parts|_partitions)?|max_sleep_delay)
    |innodb_buffer_pool_.*|innodb_cleaner_.*|innodb_commit_concurrency|innodb_concurrency_tickets|innodb_deadlock_detect
    |innodb_doublewrite|innodb_empty_free_list_algorithm|innodb_fast_shutdown
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
_REDO_IS_MADE_ANEW = {"mysql": (5, 6, 8), "percona": (5, 6, 8), "mariadb": (10, 0, 0)}
# Compared also where nobody sets them: builds of one series may differ in their defaults.
_LAYOUT = re.compile(
    r"""
    auto_increment_(increment|offset)|character_set_server|collation_server|default_time_zone|innodb_autoinc_lock_mode
    |innodb_change_buffering|innodb_checksum_algorithm|innodb_compression_(algorithm|level)|innodb_data_file_path
    |innodb_default_row_format|innodb_doublewrite_(files|pages)|innodb_encrypt_tables|innodb_extend_and_initialize
    |innodb_file_(format|per_table)|innodb_fill_factor|innodb_page_size|innodb_rollback_segments
    |innodb_stats_(auto_recalc|persistent|persistent_sample_pages)|innodb_undo_(log_truncate|logs|tablespaces)|log_bin
    |lower_case_table_names
    """,
    re.VERBOSE,
)
# Files of the data that an option may put outside of the data directory, where a snapshot does not include them.
_PLACES = re.compile(r"innodb\w*(_dirs?|_path|_directories|_doublewrite_file)|aria_log_dir_path|log_bin(_index)?")
_IS_PATH = re.compile(r"\w*(_dirs?|_path|_directories|_file|_index)")
# From 8.0 on a server brings the data dictionary to its own version when it starts, and refuses a later one's.
_OWN_DICTIONARY = (8, 0, 0)


def load_settings(build: Build | Remote, config: ServerConfig, workload: Options, loaded: list[Step]) -> LoadSettings:
    """The load settings of a cell whose first steps are `loaded`, the last of them the snapshot's.

    Raises
    ------
    ExperimentError : the server is remote, or puts files where a snapshot would not have them.
    """
    if isinstance(build, Remote):
        raise ExperimentError(
            f"build {build.label} is remote: snapshot_after copies data directories, but its data directory is "
            f"on another machine",
            hint="remove snapshot_after or the build",
        )
    everything = any(step.deletes for step in loaded)
    values = {
        SERVER: f"{build.flavour} {build.version if everything else _family(build)}",
        "workload": json.dumps(workload.model_dump(), sort_keys=True),
        "ibench": version("ibench"),
    }
    for number, step in enumerate(loaded):
        known_step = {"name": step.name, "form": step.form, "rows": step.rows, "seconds": step.seconds}
        values |= {f"step {number} {name}": str(value) for name, value in known_step.items() if value is not None}
    return LoadSettings({**values, **_options(build, config, known_options(build), everything=everything)})


def _family(build: Build) -> str:
    if build.flavour != "mariadb" and build.release >= _OWN_DICTIONARY:
        return build.version
    return f"{build.release[0]}.{build.release[1]}"


def _options(build: Build, config: ServerConfig, known: KnownOptions, *, everything: bool) -> dict[str, str]:
    """Options that count, by the variable that they set; one set to its default is as one that is not set."""
    found = {name: _written(name, value) for name, value in known.defaults.items() if _LAYOUT.fullmatch(name)}
    for option in config.options:
        name, value = meaning(option, known)
        if name not in known.names or value is None:
            continue  # a line that this server skips
        if _PLACES.fullmatch(name) and re.search(r"(^|[;:,])(/|\.\./)", value):
            raise ExperimentError(
                f"{option.origin}: {name}={value} lies outside of the data directory, which snapshot_after copies",
                hint="remove snapshot_after or the option",
            )
        if _counts(build, name, everything=everything):
            default, written = known.defaults.get(name), _written(name, value)
            if _LAYOUT.fullmatch(name):
                found[name] = written
            elif default is None or written != _written(name, default):
                # Of an option that adds up every line counts.
                found[name] = f"{found[name]}, {written}" if name in found else written
    return found


def _counts(build: Build, name: str, *, everything: bool) -> bool:
    if everything:
        return True
    if _REDO.fullmatch(name):
        return build.release < _REDO_IS_MADE_ANEW[build.flavour]
    return _RUNTIME.fullmatch(name) is None


def _written(name: str, value: str) -> str:
    """A value in one way of writing. Paths are left as they are."""
    return value if _IS_PATH.fullmatch(name) else canonical(value)
