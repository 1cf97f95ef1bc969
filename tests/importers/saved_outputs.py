"""What a client prints of a server's variables and status, in each of its forms. No line is of anybody's server."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

VARIABLES: Mapping[str, str] = {
    "activate_all_roles_on_login": "OFF", "auto_increment_increment": "1", "auto_increment_offset": "1",
    "autocommit": "ON", "back_log": "3500", "basedir": "/opt/alice/", "binlog_cache_size": "32768",
    "character_set_server": "utf8mb4", "datadir": "/data/alice/", "general_log_file": "/data/alice/db7.log",
    "hostname": "db7.example.com", "init_connect": "SET @a = 'hunter2'", "innodb_buffer_pool_size": "1073741824",
    "innodb_change_buffering": "none", "innodb_data_home_dir": "", "max_connections": "151",
    "optimizer_switch": "index_merge=on,mrr=off", "report_password": "5551234", "server_id": "1007",
    "transaction_isolation": "REPEATABLE-READ", "version": "8.0.33", "version_comment": "MySQL Community Server - GPL",
    "wait_timeout": "28800",
}  # fmt: skip
OF_A_SESSION: Mapping[str, str] = {"pseudo_thread_id": "8", "timestamp": "1690000000.5"}
STATUS: Mapping[str, str] = {
    "Aborted_clients": "0", "Aborted_connects": "0", "Binlog_cache_use": "5", "Bytes_received": "320",
    "Bytes_sent": "186", "Com_select": "70", "Questions": "99", "Uptime": "5", "wsrep_cluster_size": "1",
}  # fmt: skip
SECRETS = (b"alice", b"db7.example", b"hunter2", b"5551234")


def tabbed(rows: Mapping[str, str], *, header: bool = True) -> str:
    """As `mysql -e`, or `mysql -N -e`, prints it to a file."""
    return lines([*(["Variable_name\tValue"] if header else []), *(f"{name}\t{value}" for name, value in rows.items())])


def table(rows: Mapping[str, str]) -> str:
    """As `mysql -t` prints it."""
    widths = [max(map(len, column)) for column in (["Variable_name", *rows], ["Value", *rows.values()])]
    border = "+".join(["", *("-" * (width + 2) for width in widths), ""])
    listed = [("Variable_name", "Value"), *rows.items()]
    head, *body = [f"| {name:{widths[0]}} | {value:{widths[1]}} |" for name, value in listed]
    return lines([border, head, border, *body, border, f"{len(rows)} rows in set (0.01 sec)"])


def vertical(rows: Mapping[str, str]) -> str:
    r"""As it prints `\G`."""
    listed = [
        f"{'*' * 27} {number}. row {'*' * 27}\nVariable_name: {name}\n        Value: {value}"
        for number, (name, value) in enumerate(rows.items(), start=1)
    ]
    return lines(listed)


def lines(texts: Iterable[str]) -> str:
    return "".join(f"{text}\n" for text in texts)


FORMS = {"tabs": tabbed, "a table": table, "rows one below the other": vertical}
