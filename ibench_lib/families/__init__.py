"""Families of servers: a folder for each, with all that the library knows of its servers. No other code names one."""
