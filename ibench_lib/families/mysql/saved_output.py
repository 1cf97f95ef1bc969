"""What others have saved of a server: how to tell its variables from its status, and which values may be kept.

A variable of somebody's server may tell a host, a person, a path or a secret. Numbers and switches do not, and the
server's own words do not, which is what most variables take. A value is kept if its form says that it is one of these
and the name of the variable is none that has free text. Of versions, words that no maker of servers uses are masked.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from ibench_lib.base.mask import MASKED
from ibench_lib.servers.flavours.flavour import SavedOutput

# The first ones of an output, which is sorted, and those that people ask for.
_VARIABLE_NAMES = """
    auto_increment_increment auto_increment_offset autocommit automatic_sp_privileges back_log basedir big_tables
    binlog_cache_size datadir innodb_buffer_pool_size innodb_flush_log_at_trx_commit innodb_io_capacity
    innodb_log_file_size max_connections sync_binlog version version_comment
"""
_VARIABLES = frozenset(_VARIABLE_NAMES.split())
_STATUS_NAMES = """
    Aborted_clients Aborted_connects Binlog_cache_disk_use Binlog_cache_use Bytes_received Bytes_sent
    Com_admin_commands Com_select Innodb_buffer_pool_pages_data Innodb_rows_read Questions Uptime
"""
_STATUS = frozenset(_STATUS_NAMES.split())
# Those that a session has and SHOW GLOBAL VARIABLES does not list: they say nothing of the server.
_SESSION_NAMES = """
    error_count external_user gtid_next gtid_seq_no identity immediate_server_version in_transaction insert_id
    last_gtid last_insert_id original_commit_timestamp original_server_version proxy_user pseudo_replica_mode
    pseudo_slave_mode pseudo_thread_id rand_seed1 rand_seed2 rbr_exec_mode require_row_format resultset_metadata
    show_create_table_skip_secondary_engine skip_parallel_replication skip_replication sql_log_bin statement_id
    timestamp transaction_allow_batching warning_count
"""
_OF_A_SESSION = frozenset(_SESSION_NAMES.split())
# Names of a single word; the others have an underscore.
_SINGLE_WORDS = """
    autocommit basedir datadir debug debug_sync flush hostname identity license locale log named_pipe new old port
    profiling read_only server_id socket storage_engine timed_mutexes timestamp tmpdir userstat version
"""
_SINGLE = frozenset(_SINGLE_WORDS.split())

_SWITCH = re.compile(r"(?i:on|off|yes|no|none|true|false|default|auto|disabled|enabled|null|force|permissive)")
_NUMBERS = re.compile(r"-?\d{1,20}(?:\.\d{1,9})?(?:,-?\d{1,20})*", re.ASCII)
_CAPITALS = re.compile(r"[A-Z][A-Z0-9_-]{0,60}(?:,[A-Z][A-Z0-9_-]{0,60}){0,40}", re.ASCII)
_WORD = r"[A-Za-z][\w-]{0,60}"
_WORDS = re.compile(rf"{_WORD}(?:=[\w.-]{{1,60}})?(?:,{_WORD}(?:=[\w.-]{{1,60}})?){{0,100}}", re.ASCII)
_PAGE_FILE = r"ibdata\d{1,3}:\d{1,9}[KMG]?(?::autoextend)?(?::max:\d{1,9}[KMG]?)?"
# Whatever their form: a number, too, may be a password or tell who a server is.
_ALWAYS_MASKED = re.compile(
    r".*(?:^|_)(?:password|passwd|passphrase|secret|token|pin|port|host|hostname|address|user|server_id|auth"
    r"|(?:access|secret|private|public)_key)"
)
_FREE_TEXT = re.compile(
    r"(?:^|_)(?:users?|hosts?|hostname|addr|address|admin|port|socket|passw\w+|secret|key|token|auth\w*|dirs?|datadir"
    r"|basedir|tmpdir|directory|directories|home|path|file|files|filename|basename|index|url|ssl|tls|cert|ca|crl"
    r"|init|plugin_dir|plugin_load|pid|name|node|cluster|db|dbs|aux_table|stopword_table|roles?|relay|log_error|log_bin"
    r"|server_uuid|server_uid|subject|provider|donor|seeds|allowlist|whitelist|master_connection)(?:_|$)|^report_"
)
# Variables that the server checks: it takes none but its own words for them.
_OWN_WORDS = re.compile(
    r"(?:alter|aria|binlog|block|character_set|collation|completion|concurrent|default_collation|delay|explain|have"
    r"|histogram|innodb|keyring_operations|lc|log_disabled|log_output|log_slow|mhnsw|myisam|note|old|optimizer"
    r"|plugin_maturity|protocol_compression|query_cache|replica|rpl|session_track|slave|sql|table|terminology"
    r"|thread|transaction|tx|use|zstd)(?:_|$)|license|rocksdb_(?:write_policy|info_log_level|index_type)|\w+_engine"
)
_KNOWN_FORMS: Mapping[str, re.Pattern[str]] = {
    name: re.compile(form, re.ASCII)
    for names, form in {
        "build_id version_source_revision": r"[0-9a-f]{7,64}",
        "ft_boolean_syntax": r'[ +><()~*:"&|-]{1,20}',
        "innodb_data_file_path": rf"{_PAGE_FILE}(?:;{_PAGE_FILE}){{0,20}}",
        "innodb_temp_data_file_path": r"ibtmp\d{1,3}:\d{1,9}[KMG]?(?::autoextend)?(?::max:\d{1,9}[KMG]?)?",
        "aria_sync_log_dir": r"[A-Z]{1,20}",
        "innodb_log_group_home_dir innodb_undo_directory innodb_temp_tablespaces_dir": r"(?:\./)?(?:#innodb_temp/)?",
        "rocksdb_default_cf_options": r"[a-z0-9_={};.:-]{1,2000}",
        "tls_version admin_tls_version": r"TLSv1(?:\.\d)?(?:,TLSv1(?:\.\d)?){0,5}",
        "version_compile_machine version_compile_os version_compile_zlib version_malloc_library version_ssl_library": (
            r"[A-Za-z0-9][A-Za-z0-9 ._+()-]{0,100}"
        ),
    }.items()
    for name in names.split()
}
_VERSIONS = {"version", "version_comment", "innodb_version", "rocksdb_version"}
_WORDS_OF_MAKERS = """
    mysql community server gpl percona release revision mariadb maria org foundation binary distribution source
    facebook meta myrocks rocksdb innodb xtradb xtrabackup cluster wsrep galera enterprise commercial advanced
    standard cloud oracle ubuntu ubu debian deb rhel el fc suse alpine bionic focal jammy noble bullseye bookworm
    trixie buster homebrew conda forge linux gnu log er rc ga beta alpha lts dmr debug asan valgrind embedded
    debuginfo aws rds aurora azure google for and the with by of v
"""
_KNOWN_WORDS = frozenset(_WORDS_OF_MAKERS.split())
_PIECE, _LETTERS = re.compile(r"[A-Za-z0-9]+", re.ASCII), re.compile(r"[a-z]+")
_HASH = re.compile(r"[0-9a-f]{7,40}")
_LONGEST_VERSION = 200
# Servers that speak the protocol of this family, and are none of it.
_OTHERS = re.compile(r"oceanbase|seekdb|tidb|singlestore|memsql|vitess|dolt|stonedb|polardb|gbase|clickhouse|starrocks")


def kept(name: str, value: str) -> str:
    """The value of a variable, or `MASKED` in its place if it may tell a host, a person, a path or a secret."""
    if not value:
        return value
    if name in _VERSIONS:
        return _public_words(value)
    if name in _KNOWN_FORMS:
        return value if _KNOWN_FORMS[name].fullmatch(value) else MASKED
    return value if _tells_nothing(name, value) else MASKED


def _tells_nothing(name: str, value: str) -> bool:
    if _SWITCH.fullmatch(value):
        return True
    if _ALWAYS_MASKED.fullmatch(name):
        return False
    if _NUMBERS.fullmatch(value):
        return True
    if _FREE_TEXT.search(name):
        return False
    own = _OWN_WORDS.match(name) is not None
    return _CAPITALS.fullmatch(value) is not None or (own and _WORDS.fullmatch(value) is not None)


def _public_words(text: str) -> str:
    """A version, or what its maker says of it, with `MASKED` for words that may be of whoever built it."""
    if len(text) > _LONGEST_VERSION or not text.isascii() or not text.isprintable():
        return MASKED
    return _PIECE.sub(lambda match: match[0] if _is_public(match[0].lower()) else MASKED, text)


def _is_public(piece: str) -> bool:
    """Whether all words in a piece of a version are single letters or makers' words, or it is a hash of a source."""
    words = _LETTERS.findall(piece)
    return all(len(one) == 1 or one in _KNOWN_WORDS for one in words) or _HASH.fullmatch(piece) is not None


def is_variable(name: str) -> bool:
    """Whether a variable may be called so: a value in the place of a name is mostly not."""
    return "_" in name or "." in name or name in _SINGLE


def described(variables: Mapping[str, str]) -> str | None:
    """The words by which flavours are recognised; None without them, or of a server that is none of ours.

    A version alone may be that of another flavour: some name themselves in the comment only.
    """
    version, comment = variables.get("version"), variables.get("version_comment")
    if not version or comment is None or _OTHERS.search(f"{version} {comment}".lower()):
        return None
    return f"Ver {version} {comment}"


SAVED = SavedOutput(
    header=("variable_name", "value"),
    variables=_VARIABLES,
    status=_STATUS,
    of_a_session=_OF_A_SESSION,
    is_variable=is_variable,
    kept=kept,
    described=described,
    summary="# Percona Toolkit MySQL Summary Report #",
)
