"""How sysbench reaches MySQL."""

import pytest

from ibench_lib.client.external import CannotDrive, Target
from ibench_lib.workloads.sysbench.servers import mysql
from tests.workloads.sysbench.test_options import options


def test_a_server_is_reached_by_its_socket_or_by_host_and_port() -> None:
    by_socket, environment = mysql.connection(Target(database="d", user="u", socket="/s", password="p"))
    assert by_socket == {"mysql-user": "u", "mysql-password": "p", "mysql-db": "d", "mysql-socket": "/s"}
    assert environment == {} and mysql.why_not(options(engine="rocksdb")) is None
    by_tcp, _ = mysql.connection(Target(database="d", user="u", host="h", port=1))
    assert (by_tcp["mysql-host"], by_tcp["mysql-port"]) == ("h", 1) and "mysql-socket" not in by_tcp
    with pytest.raises(CannotDrive, match="the server is reached by TLS"):
        mysql.connection(Target(database="d", user="u", host="h", port=1, certificate="/ca.pem"))
