"""MySQL and the servers that descend from it: Percona Server and MariaDB."""
