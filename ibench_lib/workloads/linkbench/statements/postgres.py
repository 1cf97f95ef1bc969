"""The SQL of PostgreSQL. What only the statements of 2013 and MyRocks need is not here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ibench_lib.workloads.linkbench import tables
from ibench_lib.workloads.linkbench.tables import COLUMNS_OF_LINK, HIDDEN, LINK, LIST_LIMIT, NODE, NODE_TYPE, SHOWN

if TYPE_CHECKING:  # clients import this, and have no use for what reads experiments
    from ibench_lib.workloads.linkbench.options import Options

BEGIN = "BEGIN"

_THE_LINK = "WHERE id1=%d AND id2=%d AND link_type=%d"


def _counted(insert: str, changed: str) -> str:
    """An INSERT ... ON CONFLICT that answers as MySQL's: one row if it was new, two if it was changed, else none."""
    return f"WITH put AS ({insert} RETURNING version) SELECT 1 FROM put UNION ALL SELECT 1 FROM put WHERE {changed}"


# A new link has version 0, and one that is shown again has 1 until the UPDATE that follows it, in the same transaction.
UPSERT = _counted(
    rf"INSERT INTO {LINK} ({COLUMNS_OF_LINK}) VALUES (%d,%d,%d,{SHOWN},'\x%b',%d,0) "
    f"ON CONFLICT (link_type,id1,id2) DO UPDATE SET visibility={SHOWN},version=1 WHERE {LINK}.visibility<>{SHOWN}",
    "version=1",
)
UPDATE = rf"UPDATE {LINK} SET visibility={SHOWN},data='\x%b',time=%d,version=0 {_THE_LINK}"
COUNT_UP = _counted(
    f"INSERT INTO {tables.COUNT} (id,link_type,count,time,version) VALUES (%d,%d,1,%d,0) ON CONFLICT (id,link_type) "
    f"DO UPDATE SET count={tables.COUNT}.count+1,version={tables.COUNT}.version+1,time=%d",
    "version>0",
)
COUNT_DOWN = _counted(
    f"INSERT INTO {tables.COUNT} (id,link_type,count,time,version) VALUES (%d,%d,0,%d,0) ON CONFLICT (id,link_type) "
    f"DO UPDATE SET count=greatest({tables.COUNT}.count-1,0),version={tables.COUNT}.version+1,time=%d",
    "version>0",
)
VISIBILITY = f"SELECT visibility FROM {LINK} {_THE_LINK} FOR UPDATE"
HIDE = f"UPDATE {LINK} SET visibility={HIDDEN} {_THE_LINK}"
COUNT = f"SELECT count FROM {tables.COUNT} WHERE id=%d AND link_type=%d"
MULTIGET = f"SELECT {COLUMNS_OF_LINK} FROM {LINK} WHERE id1=%d AND link_type=%d AND id2 IN (%b)"
LIST = (
    f"SELECT {COLUMNS_OF_LINK} FROM {LINK} WHERE id1=%d AND link_type=%d AND time>=0 "
    f"AND time<=%d AND visibility={SHOWN} ORDER BY time DESC OFFSET %d LIMIT {LIST_LIMIT}"
)
ADD_NODE = rf"INSERT INTO {NODE} (type,version,time,data) VALUES ({NODE_TYPE},1,%d,'\x%b')"
UPDATE_NODE = rf"UPDATE {NODE} SET version=2,time=%d,data='\x%b' WHERE id=%d AND type={NODE_TYPE}"
DELETE_NODE = f"DELETE FROM {NODE} WHERE id=%d AND type={NODE_TYPE}"
GET_NODE = f"SELECT id,type,version,time,data FROM {NODE} WHERE id=%d"


def why_not(options: Options) -> str | None:
    """Why the options of an experiment do not apply to such servers; None if they do."""
    if options.partitions:
        return f"partitions: {options.partitions}: tables on PostgreSQL are not partitioned: write partitions: 0"
    if options.statements != "2015":
        return f"statements: {options.statements}: they need sessions without autocommit: use 2015 on PostgreSQL"
    if "engine" in options.model_fields_set:
        return f"engine: {options.engine}: PostgreSQL has no storage engines: leave it out"
    return None


def create(schema: str, partitions: int, engine: str = "", *, secondary: bool) -> list[str]:
    """The statements that make the empty tables; `secondary`: with the secondary index of linktable."""
    made = [
        f"CREATE TABLE {LINK} (id1 BIGINT NOT NULL DEFAULT 0, id2 BIGINT NOT NULL DEFAULT 0, "
        "link_type BIGINT NOT NULL DEFAULT 0, visibility SMALLINT NOT NULL DEFAULT 0, data BYTEA NOT NULL DEFAULT '', "
        "time BIGINT NOT NULL DEFAULT 0, version BIGINT NOT NULL DEFAULT 0, "
        f"PRIMARY KEY ({tables.PRIMARY[schema]}))",
        f"CREATE TABLE {tables.COUNT} (id BIGINT NOT NULL DEFAULT 0, link_type BIGINT NOT NULL DEFAULT 0, "
        "count BIGINT NOT NULL DEFAULT 0, time BIGINT NOT NULL DEFAULT 0, version BIGINT NOT NULL DEFAULT 0, "
        "PRIMARY KEY (id, link_type))",
        f"CREATE TABLE {NODE} (id BIGSERIAL PRIMARY KEY, type BIGINT NOT NULL, version BIGINT NOT NULL, "
        "time BIGINT NOT NULL, data BYTEA NOT NULL)",
    ]
    return [*made, add_secondary(schema)] if secondary else made


def add_secondary(schema: str, engine: str = "") -> str:
    """The statement that makes the secondary index of linktable."""
    return f"CREATE INDEX id1_type ON {LINK} ({tables.SECONDARY[schema]})"


def before_load(nodes: int) -> str | None:
    """A statement that each loading process sends first: new nodes get the ids after those that the load gives."""
    return f"SELECT setval('{NODE}_id_seq', {nodes})"


def of_load(text: bytes) -> bytes:
    """An INSERT of the load, whose data is written as MySQL has it: the only literals between quotes."""
    return text.replace(b"x'", rb"'\x")
