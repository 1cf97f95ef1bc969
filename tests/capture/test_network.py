"""Network interfaces."""

from ibench_lib.capture.network import interfaces

NET = b"""Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo: 1000      10    0    0    0     0          0         0     1000      10    0    0    0     0       0          0
  eth0:123456789 2000    3    4    0     0          0         5 987654321 3000    6    7    0     0       0          0
"""  # noqa: E501


def test_proc_net_dev() -> None:
    loopback, ethernet = interfaces(NET)
    assert loopback["interface"] == "lo" and loopback["sent_bytes"] == 1000
    assert ethernet == {
        "interface": "eth0",
        "received_bytes": 123456789,
        "received_packets": 2000,
        "received_drops": 7,
        "sent_bytes": 987654321,
        "sent_packets": 3000,
        "sent_drops": 13,
    }
