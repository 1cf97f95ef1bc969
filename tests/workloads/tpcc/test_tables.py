from ibench_lib.workloads.tpcc import tables


def test_several_sets_have_a_number_in_their_names() -> None:
    assert tables.names(1)[:2] == ["warehouse", "district"] and len(tables.names(1)) == 9
    assert len(set(tables.names(3))) == 27 and "order_line3" in tables.names(3)


def test_indexes_come_before_foreign_keys_and_only_where_they_are_declared() -> None:
    plain, declared = (tables.index("2", foreign_keys=foreign_keys) for foreign_keys in (False, True))
    assert len(plain) == 5 and sum(statement.count("ADD INDEX") for statement in plain) == 6
    assert declared[:5] == plain and sum("FOREIGN KEY" in statement for statement in declared) == 10
    assert len({statement.split()[5] for statement in declared[5:]}) == 10, "a constraint's name is unique"
    assert all("2 ADD" in statement for statement in declared)


def test_only_the_indexes_that_statements_use() -> None:
    needed = tables.index("", foreign_keys=False, only_needed=True)
    assert [statement.split("ADD INDEX ")[1].split()[0] for statement in needed] == ["idx_customer", "idx_orders"]


def test_history_has_a_key_and_tables_a_charset_where_that_is_asked_for() -> None:
    plain, changed = tables.create(2), tables.create(2, history_key=True, charset="utf8mb4")
    assert len(plain) == len(changed) == 18
    assert not any("AUTO_INCREMENT" in statement or "CHARSET" in statement for statement in plain)
    assert all(statement.endswith("ENGINE=InnoDB DEFAULT CHARSET=utf8mb4") for statement in changed)
    assert ["history" in statement for statement in changed] == ["AUTO_INCREMENT" in statement for statement in changed]


def test_myrocks_has_one_index_a_statement_and_indexes_text_of_a_binary_collation() -> None:
    made = tables.create(2, engine="rocksdb")
    assert all(statement.endswith("ENGINE=ROCKSDB") for statement in made)
    (customer,) = (statement for statement in made if statement.startswith("CREATE TABLE customer2 "))
    assert "c_first VARCHAR(16) BINARY, c_middle CHAR(2), c_last VARCHAR(16) BINARY, " in customer
    assert not any("BINARY" in statement for statement in tables.create(2))
    added = tables.index("2", engine="rocksdb", foreign_keys=False)
    assert len(added) == 6 and all(statement.count("ADD INDEX") == 1 for statement in added)
    assert [statement.count("ADD INDEX") for statement in tables.index("2", foreign_keys=False)] == [1, 2, 1, 1, 1]


def test_rows_of_a_loaded_warehouse() -> None:
    assert tables.loaded_rows(1, 1) == 100_000 + 1 + 10 * (1 + 3 * 3_000 + 900) + 300_000 + 100_000
    assert tables.loaded_rows(2, 3) == 2 * (100_000 + 3 * (tables.loaded_rows(1, 1) - 100_000))


def test_an_indexer_has_every_set_that_falls_to_its_process() -> None:
    details = {"sets": 3, "processes": 2, "engine": "innodb", "foreign_keys": "none", "indexes": "all"}
    first, second = (tables.index_statements(details, client) for client in (1, 2))
    assert {statement.split()[2][-1] for statement in first} == {"1", "3"}
    assert {statement.split()[2][-1] for statement in second} == {"2"}
