"""The SQL of MySQL and the servers that descend from it. Values are put in with `%`, data as hexadecimal digits.

An INSERT ... ON DUPLICATE KEY UPDATE counts 1 for a new row, 2 for one that it changed, and 0 for one that it left as
it was.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ibench_lib.workloads.linkbench import tables
from ibench_lib.workloads.linkbench.tables import COLUMNS_OF_LINK, HIDDEN, LINK, LIST_LIMIT, NODE, NODE_TYPE, SHOWN

if TYPE_CHECKING:  # clients import this, and have no use for what reads experiments
    from ibench_lib.workloads.linkbench.options import Options

create, add_secondary = tables.create, tables.add_secondary

NO_AUTOCOMMIT = "SET SESSION autocommit=0"
READ_COMMITTED = "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED"
BEGIN = "START TRANSACTION"

_THE_LINK = "WHERE id1=%d AND id2=%d AND link_type=%d"

UPSERT = (
    f"INSERT INTO {LINK} ({COLUMNS_OF_LINK}) VALUES (%d,%d,%d,{SHOWN},x'%b',%d,0) "
    f"ON DUPLICATE KEY UPDATE visibility={SHOWN}"
)
UPDATE = f"UPDATE {LINK} SET visibility={SHOWN},data=x'%b',time=%d,version=0 {_THE_LINK}"
COUNT_UP = (
    f"INSERT INTO {tables.COUNT} (id,link_type,count,time,version) VALUES (%d,%d,1,%d,0) "
    "ON DUPLICATE KEY UPDATE count=count+1,version=version+1,time=%d"
)
COUNT_DOWN = (
    f"INSERT INTO {tables.COUNT} (id,link_type,count,time,version) VALUES (%d,%d,0,%d,0) "
    "ON DUPLICATE KEY UPDATE count=IF(count=0,0,count-1),version=version+1,time=%d"
)
VISIBILITY = f"SELECT visibility FROM {LINK} {_THE_LINK} FOR UPDATE"
HIDE = f"UPDATE {LINK} SET visibility={HIDDEN} {_THE_LINK}"
COUNT = f"SELECT count FROM {tables.COUNT} WHERE id=%d AND link_type=%d"
MULTIGET = f"SELECT {COLUMNS_OF_LINK} FROM {LINK} WHERE id1=%d AND link_type=%d AND id2 IN (%b)"
LIST = (
    f"SELECT {COLUMNS_OF_LINK} FROM {LINK} FORCE INDEX(id1_type) WHERE id1=%d AND link_type=%d AND time>=0 "
    f"AND time<=%d AND visibility={SHOWN} ORDER BY time DESC LIMIT %d,{LIST_LIMIT}"
)
ADD_NODE = f"INSERT INTO {NODE} (type,version,time,data) VALUES ({NODE_TYPE},1,%d,x'%b')"
UPDATE_NODE = f"UPDATE {NODE} SET version=2,time=%d,data=x'%b' WHERE id=%d AND type={NODE_TYPE}"
DELETE_NODE = f"DELETE FROM {NODE} WHERE id=%d AND type={NODE_TYPE}"
GET_NODE = f"SELECT id,type,version,time,data FROM {NODE} WHERE id=%d"


def why_not(options: Options) -> str | None:
    """Why the options of an experiment do not apply to such servers; None if they do."""
    return None


def before_load(nodes: int) -> str | None:
    """A statement that each loading process sends first; None if the server needs none."""
    return None


def of_load(text: bytes) -> bytes:
    """An INSERT of the load, as it is."""
    return text
