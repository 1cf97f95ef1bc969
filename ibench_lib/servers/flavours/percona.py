"""Percona Server: initialised, started and reset like the MySQL that it is made from."""

from ibench_lib.servers.flavours.mysql import initialise_command, reset_binary_log, set_root_password, start_options

__all__ = ["initialise_command", "reset_binary_log", "set_root_password", "start_options"]
