"""The tables of LinkBench: their definitions, and what they weigh."""

from __future__ import annotations

NODE, LINK, COUNT = "nodetable", "linktable", "counttable"
NAMES = (NODE, LINK, COUNT)

NODE_TYPE = 2048
LINK_TYPES = (123456789, 123456790)
HIDDEN, SHOWN = 0, 1

COLUMNS_OF_LINK = "id1,id2,link_type,visibility,data,time,version"

LIST_LIMIT = 10_000
"""Links that get_links_list returns, at most."""

BYTES_OF_LINK, BYTES_OF_NODE, BYTES_OF_COUNT = 185, 325, 73
"""About what a row takes on disk, with its entries in secondary indexes, as observed with MariaDB 10.11."""

BYTES_OF_OPERATION = 40
"""About what an average operation adds."""

# latin1, because data would be too long for an index of MySQL 5.6 in a character set of up to four bytes.
# MyRocks wants collations that compare bytes, and reads the secondary index from its end: it is stored in reverse.
_TAILS = {
    "innodb": "ENGINE=InnoDB DEFAULT CHARSET=latin1",
    "rocksdb": "ENGINE=ROCKSDB DEFAULT CHARSET=latin1 COLLATE=latin1_bin",
}
_PRIMARY_COMMENTS = {"innodb": "", "rocksdb": " COMMENT 'cf_link_pk'"}
_SECONDARY_COMMENTS = {"innodb": "", "rocksdb": " COMMENT 'rev:cf_link_id1_type'"}
PRIMARY = {"2015": "link_type, id1, id2", "2013": "id1, id2, link_type"}
SECONDARY = {
    "2015": "id1, link_type, visibility, time, id2, version, data",
    "2013": "id1, link_type, visibility, time, version, data",
}
"""The columns of linktable's keys, by the year of the original."""


def create(schema: str, partitions: int, engine: str = "innodb", *, secondary: bool) -> list[str]:
    """The statements that make the empty tables; `secondary`: with the secondary index of linktable."""
    key = f", {_key(schema, engine)}" if secondary else ""
    parts = f" PARTITION BY KEY(id1) PARTITIONS {partitions}" if partitions else ""
    tail = _TAILS[engine]
    return [
        f"CREATE TABLE {LINK} (id1 BIGINT UNSIGNED NOT NULL DEFAULT 0, id2 BIGINT UNSIGNED NOT NULL DEFAULT 0, "
        "link_type BIGINT UNSIGNED NOT NULL DEFAULT 0, visibility TINYINT NOT NULL DEFAULT 0, "
        "data VARCHAR(255) NOT NULL DEFAULT '', time BIGINT UNSIGNED NOT NULL DEFAULT 0, "
        f"version INT UNSIGNED NOT NULL DEFAULT 0, PRIMARY KEY ({PRIMARY[schema]}){_PRIMARY_COMMENTS[engine]}{key}) "
        f"{tail}{parts}",
        f"CREATE TABLE {COUNT} (id BIGINT UNSIGNED NOT NULL DEFAULT 0, link_type BIGINT UNSIGNED NOT NULL DEFAULT 0, "
        "count INT UNSIGNED NOT NULL DEFAULT 0, time BIGINT UNSIGNED NOT NULL DEFAULT 0, "
        f"version BIGINT UNSIGNED NOT NULL DEFAULT 0, PRIMARY KEY (id, link_type)) {tail}",
        f"CREATE TABLE {NODE} (id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT, type INT UNSIGNED NOT NULL, "
        "version BIGINT UNSIGNED NOT NULL, time INT UNSIGNED NOT NULL, data MEDIUMTEXT NOT NULL, "
        f"PRIMARY KEY (id)) {tail}",
    ]


def add_secondary(schema: str, engine: str = "innodb") -> str:
    """The statement that makes the secondary index of linktable."""
    return f"ALTER TABLE {LINK} ADD {_key(schema, engine)}"


def _key(schema: str, engine: str) -> str:
    return f"KEY id1_type ({SECONDARY[schema]}){_SECONDARY_COMMENTS[engine]}"
