"""How a client reaches a server."""

from ibench_lib.servers.address import Address, Listener


def test_a_socket_is_never_reached_by_tls_and_a_port_by_tls_only_with_a_certificate() -> None:
    who = {"user": "root", "password": "pw"}
    assert Address("/s", "root", "pw").arguments() == {"unix_socket": "/s", "ssl_disabled": True, **who}
    plain = Address(None, "root", "pw", port=3310)
    assert plain.arguments() == {"host": "127.0.0.1", "port": 3310, "ssl_disabled": True, **who}
    by_tls = Address(None, "root", "pw", port=3310, certificate="/ca.pem", host="db")
    assert by_tls.arguments() == {"host": "db", "port": 3310, "ssl": {"ca": "/ca.pem"}, **who}


def test_who_has_to_listen_is_said_of_a_socket_only() -> None:
    listener = Listener(process=17, user=65534)
    assert Address("/s", "root", "pw", listener=listener).arguments()["listener"] == {"process": 17, "user": 65534}
    assert "listener" not in Address("/s", "root", "pw", port=3310, listener=listener).arguments()


def test_no_text_of_an_address_has_its_password() -> None:
    for address in (Address("/s", "root", "s3cret"), Address(None, "root", "s3cret", port=1)):
        assert "s3cret" not in f"{address} {address!r}" and "root" in repr(address)
