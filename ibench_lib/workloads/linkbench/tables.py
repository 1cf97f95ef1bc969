"""The tables of LinkBench: their definitions, and what they weigh."""

from __future__ import annotations

NODE, LINK, COUNT = "nodetable", "linktable", "counttable"
NAMES = (NODE, LINK, COUNT)

NODE_TYPE = 2048
LINK_TYPES = (123456789, 123456790)
HIDDEN, SHOWN = 0, 1

BYTES_OF_LINK, BYTES_OF_NODE, BYTES_OF_COUNT = 185, 325, 73
"""About what a row takes on disk, with its entries in secondary indexes, as observed with MariaDB 10.11."""

BYTES_OF_OPERATION = 40
"""About what an average operation adds."""

# latin1, because data would be too long for an index of MySQL 5.6 in a character set of up to four bytes.
_TAIL = "ENGINE=InnoDB DEFAULT CHARSET=latin1"
_PRIMARY = {"2015": "link_type, id1, id2", "2013": "id1, id2, link_type"}
_SECONDARY = {
    "2015": "id1, link_type, visibility, time, id2, version, data",
    "2013": "id1, link_type, visibility, time, version, data",
}


def create(schema: str, partitions: int, *, secondary: bool) -> list[str]:
    """The statements that make the empty tables; `secondary`: with the secondary index of linktable."""
    key = f", {_key(schema)}" if secondary else ""
    parts = f" PARTITION BY KEY(id1) PARTITIONS {partitions}" if partitions else ""
    return [
        f"CREATE TABLE {LINK} (id1 BIGINT UNSIGNED NOT NULL DEFAULT 0, id2 BIGINT UNSIGNED NOT NULL DEFAULT 0, "
        "link_type BIGINT UNSIGNED NOT NULL DEFAULT 0, visibility TINYINT NOT NULL DEFAULT 0, "
        "data VARCHAR(255) NOT NULL DEFAULT '', time BIGINT UNSIGNED NOT NULL DEFAULT 0, "
        f"version INT UNSIGNED NOT NULL DEFAULT 0, PRIMARY KEY ({_PRIMARY[schema]}){key}) {_TAIL}{parts}",
        f"CREATE TABLE {COUNT} (id BIGINT UNSIGNED NOT NULL DEFAULT 0, link_type BIGINT UNSIGNED NOT NULL DEFAULT 0, "
        "count INT UNSIGNED NOT NULL DEFAULT 0, time BIGINT UNSIGNED NOT NULL DEFAULT 0, "
        f"version BIGINT UNSIGNED NOT NULL DEFAULT 0, PRIMARY KEY (id, link_type)) {_TAIL}",
        f"CREATE TABLE {NODE} (id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT, type INT UNSIGNED NOT NULL, "
        "version BIGINT UNSIGNED NOT NULL, time INT UNSIGNED NOT NULL, data MEDIUMTEXT NOT NULL, "
        f"PRIMARY KEY (id)) {_TAIL}",
    ]


def add_secondary(schema: str) -> str:
    """The statement that makes the secondary index of linktable."""
    return f"ALTER TABLE {LINK} ADD {_key(schema)}"


def _key(schema: str) -> str:
    return f"KEY id1_type ({_SECONDARY[schema]})"
