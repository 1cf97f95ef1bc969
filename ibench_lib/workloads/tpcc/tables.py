"""The nine tables of TPC-C: their definitions, secondary indexes, foreign keys and cardinalities.

A set is a whole database of its own kind: nine tables with their own warehouses. Names of tables carry the number of
their set if there are several.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

DISTRICTS = 10
"""Of each warehouse."""
CUSTOMERS = 3_000
"""Of each district; each has one order and one row of history after the load."""
DELIVERED = 2_100
"""Orders of each district that are delivered after the load; the others are in new_orders."""
ITEMS = 100_000
"""Of each set; each warehouse has as many rows of stock."""
MOST_LINES = 15
LEAST_LINES = 5
MEAN_ORDER_LINES = CUSTOMERS * DISTRICTS * (LEAST_LINES + MOST_LINES) // 2
"""Rows of order_line of a warehouse after the load, on average."""

INITIAL_NEXT_ORDER = CUSTOMERS + 1
INITIAL_W_YTD_CENTS = 30_000_000
MOST_PAYMENTS = 4_000_000
"""To a warehouse, before w_ytd, a DECIMAL(12,2), overflows: payments are 2,500.50 on average."""
MOST_NEW_ORDERS = 1_600_000
"""Of a warehouse, before the SMALLINT s_order_cnt of its most wanted item overflows. NURand(8191, 1, 100000) draws that
item with a probability of (3/4)^13 x 8192/100000 = 0.00195, and an order has ten lines on average."""
BYTES_OF_WAREHOUSE = 103 << 20
BYTES_OF_ITEMS = 10 << 20
BYTES_OF_NEW_ORDER = 2_000
"""On disk, as observed with MariaDB 10.11: a warehouse with its indexes, the items of a set, growth per new order."""

_ADDRESS = "{0}street_1 VARCHAR(20), {0}street_2 VARCHAR(20), {0}city VARCHAR(20), {0}state CHAR(2), {0}zip CHAR(9)"
_DISTS = ", ".join(f"s_dist_{number:02} CHAR(24)" for number in range(1, DISTRICTS + 1))

DEFINITIONS = {
    "warehouse": (
        f"w_id SMALLINT NOT NULL, w_name VARCHAR(10), {_ADDRESS.format('w_')}, w_tax DECIMAL(4,4), "
        "w_ytd DECIMAL(12,2), PRIMARY KEY (w_id)"
    ),
    "district": (
        f"d_id TINYINT NOT NULL, d_w_id SMALLINT NOT NULL, d_name VARCHAR(10), {_ADDRESS.format('d_')}, "
        "d_tax DECIMAL(4,4), d_ytd DECIMAL(12,2), d_next_o_id INT, PRIMARY KEY (d_w_id, d_id)"
    ),
    "customer": (
        "c_id INT NOT NULL, c_d_id TINYINT NOT NULL, c_w_id SMALLINT NOT NULL, c_first VARCHAR(16), c_middle CHAR(2), "
        f"c_last VARCHAR(16), {_ADDRESS.format('c_')}, c_phone CHAR(16), c_since DATETIME, c_credit CHAR(2), "
        "c_credit_lim BIGINT, c_discount DECIMAL(4,4), c_balance DECIMAL(12,2), c_ytd_payment DECIMAL(12,2), "
        "c_payment_cnt SMALLINT, c_delivery_cnt SMALLINT, c_data TEXT, PRIMARY KEY (c_w_id, c_d_id, c_id)"
    ),
    "history": (
        "h_c_id INT, h_c_d_id TINYINT, h_c_w_id SMALLINT, h_d_id TINYINT, h_w_id SMALLINT, h_date DATETIME, "
        "h_amount DECIMAL(6,2), h_data VARCHAR(24)"
    ),
    "new_orders": (
        "no_o_id INT NOT NULL, no_d_id TINYINT NOT NULL, no_w_id SMALLINT NOT NULL, "
        "PRIMARY KEY (no_w_id, no_d_id, no_o_id)"
    ),
    "orders": (
        "o_id INT NOT NULL, o_d_id TINYINT NOT NULL, o_w_id SMALLINT NOT NULL, o_c_id INT, o_entry_d DATETIME, "
        "o_carrier_id TINYINT, o_ol_cnt TINYINT, o_all_local TINYINT, PRIMARY KEY (o_w_id, o_d_id, o_id)"
    ),
    "order_line": (
        "ol_o_id INT NOT NULL, ol_d_id TINYINT NOT NULL, ol_w_id SMALLINT NOT NULL, ol_number TINYINT NOT NULL, "
        "ol_i_id INT, ol_supply_w_id SMALLINT, ol_delivery_d DATETIME, ol_quantity TINYINT, ol_amount DECIMAL(6,2), "
        "ol_dist_info CHAR(24), PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, ol_number)"
    ),
    "stock": (
        f"s_i_id INT NOT NULL, s_w_id SMALLINT NOT NULL, s_quantity SMALLINT, {_DISTS}, s_ytd DECIMAL(8,0), "
        "s_order_cnt SMALLINT, s_remote_cnt SMALLINT, s_data VARCHAR(50), PRIMARY KEY (s_w_id, s_i_id)"
    ),
    "item": (
        "i_id INT NOT NULL, i_im_id INT, i_name VARCHAR(24), i_price DECIMAL(5,2), i_data VARCHAR(50), "
        "PRIMARY KEY (i_id)"
    ),
}

INDEXES = {
    "customer": (("idx_customer", "c_w_id, c_d_id, c_last, c_first"),),
    "history": (("fkey_history_1", "h_c_w_id, h_c_d_id, h_c_id"), ("fkey_history_2", "h_w_id, h_d_id")),
    "orders": (("idx_orders", "o_w_id, o_d_id, o_c_id, o_id"),),
    "order_line": (("fkey_order_line_2", "ol_supply_w_id, ol_i_id"),),
    "stock": (("fkey_stock_2", "s_i_id"),),
}
_INDEXED_TEXT = ("c_first", "c_last")
"""Columns of customer that get a binary collation with MyRocks: it does not index text of other collations."""
_ENGINES = {"innodb": "InnoDB", "rocksdb": "ROCKSDB"}
NEEDED = ("customer", "orders")
"""The tables whose secondary indexes the transactions' statements use."""

FOREIGN_KEYS = (
    ("district", "d_w_id", "warehouse", "w_id"),
    ("customer", "c_w_id, c_d_id", "district", "d_w_id, d_id"),
    ("history", "h_c_w_id, h_c_d_id, h_c_id", "customer", "c_w_id, c_d_id, c_id"),
    ("history", "h_w_id, h_d_id", "district", "d_w_id, d_id"),
    ("new_orders", "no_w_id, no_d_id, no_o_id", "orders", "o_w_id, o_d_id, o_id"),
    ("orders", "o_w_id, o_d_id, o_c_id", "customer", "c_w_id, c_d_id, c_id"),
    ("order_line", "ol_w_id, ol_d_id, ol_o_id", "orders", "o_w_id, o_d_id, o_id"),
    ("order_line", "ol_supply_w_id, ol_i_id", "stock", "s_w_id, s_i_id"),
    ("stock", "s_w_id", "warehouse", "w_id"),
    ("stock", "s_i_id", "item", "i_id"),
)


def suffix(number: int, sets: int) -> str:
    """What the names of the tables of a set end with; `number` from 1."""
    return str(number) if sets > 1 else ""


def suffixes(sets: int) -> list[str]:
    """What the names of the tables of each set end with."""
    return [suffix(number, sets) for number in range(1, sets + 1)]


def names(sets: int) -> list[str]:
    """The names of all tables."""
    return [f"{table}{end}" for end in suffixes(sets) for table in DEFINITIONS]


def create(sets: int, *, engine: str = "innodb", history_key: bool = False, charset: str | None = None) -> list[str]:
    """The statements that make all tables, empty and without secondary indexes."""
    definitions = dict(DEFINITIONS)
    if history_key:
        definitions["history"] += ", h_id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY"
    if engine == "rocksdb":
        for column in _INDEXED_TEXT:
            definitions["customer"] = definitions["customer"].replace(
                f"{column} VARCHAR(16)", f"{column} VARCHAR(16) BINARY"
            )
    of_text = f" DEFAULT CHARSET={charset}" if charset else ""
    return [
        f"CREATE TABLE {table}{end} ({definition}) ENGINE={_ENGINES[engine]}{of_text}"
        for end in suffixes(sets)
        for table, definition in definitions.items()
    ]


def index(end: str, *, engine: str = "innodb", foreign_keys: bool, only_needed: bool = False) -> list[str]:
    """The statements that make the secondary indexes of a set, then its foreign keys.

    All indexes of a table in one statement on InnoDB, one statement each on MyRocks. `only_needed`: the indexes that
    the transactions' statements use.
    """
    added = []
    for table, of_table in INDEXES.items():
        if only_needed and table not in NEEDED:
            continue
        clauses = [f"ADD INDEX {name} ({columns})" for name, columns in of_table]
        together = clauses if engine == "rocksdb" else [", ".join(clauses)]
        added += [f"ALTER TABLE {table}{end} {clause}" for clause in together]
    return [*added, *declare_keys(end)] if foreign_keys else added


def declare_keys(end: str) -> list[str]:
    """The statements that declare the foreign keys of a set."""
    # A constraint's name is unique in its database.
    return [
        f"ALTER TABLE {table}{end} ADD CONSTRAINT fk{number}_{table}{end} FOREIGN KEY ({columns}) "
        f"REFERENCES {parent}{end} ({keys})"
        for number, (table, columns, parent, keys) in enumerate(FOREIGN_KEYS, start=1)
    ]


def loaded_rows(sets: int, warehouses: int) -> int:
    """Rows of all tables after the load, with the average number of order lines."""
    per_district = 3 * CUSTOMERS + (CUSTOMERS - DELIVERED) + 1
    per_warehouse = 1 + DISTRICTS * per_district + MEAN_ORDER_LINES + ITEMS
    return sets * (ITEMS + warehouses * per_warehouse)


def index_statements(details: Mapping[str, object], client: int, index: Callable[..., list[str]] = index) -> list[str]:
    """The statements of an indexer: it has every set that falls to its client. Their number is that of any family.

    `index` makes those of a set, as the family of servers has them.
    """
    sets, processes = details["sets"], details["processes"]
    assert isinstance(sets, int) and isinstance(processes, int)
    own = suffixes(sets)[client - 1 :: processes]
    foreign_keys, needed, engine = details["foreign_keys"] != "none", details["indexes"] == "needed", details["engine"]
    assert isinstance(engine, str)
    return [
        statement
        for end in own
        for statement in index(end, engine=engine, foreign_keys=foreign_keys, only_needed=needed)
    ]
