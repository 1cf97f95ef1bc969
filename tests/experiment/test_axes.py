"""Numbers of clients and values of options as axes of an experiment."""

from pathlib import Path

import pytest

from ibench_lib.errors import ConfigError, ExperimentError
from ibench_lib.experiment.cells import Cell, LoadedExperiment
from ibench_lib.servers.flavours.flavour import find
from tests.experiment.two import TEXT, load

RULES = find("mariadb").rules((10, 11, 19))
SWEEP = TEXT.replace("clients: 2", "clients: [1, 4, 16]")
ALONE = TEXT + "one_at_a_time:\n  innodb_io_capacity: [1k, 2000]\n  innodb-purge-threads: [1]\n"
SET = TEXT.replace("[cy10a]}", "[cy10a], set: {innodb-io_capacity: 1k, log_bin: bin.log, flush: ON}}")
VARY = TEXT + "vary:\n  innodb_io_capacity: [1k, 2000]\n  innodb-purge-threads: [1, 4]\n"


def fingerprints(loaded: LoadedExperiment) -> dict[str, str]:
    return {
        str(cell): loaded.fingerprint(cell, "10.11.19", loaded.server_config(cell, RULES)) for cell in loaded.cells()
    }


def in_order(loaded: LoadedExperiment) -> list[Cell]:
    """The cells, by the place of their results in the file."""
    return sorted(loaded.cells(), key=lambda cell: cell.rank)


def test_each_number_of_clients_is_a_setup_whose_cells_have_it(tmp_path: Path) -> None:
    loaded = load(tmp_path, SWEEP)
    cells = loaded.cells()
    assert {cell.setup.name for cell in cells} == {
        f"{setup}-clients-{clients}" for setup in ("cached", "mine") for clients in ("001", "004", "016")
    }
    assert len(cells) == len({cell.key for cell in cells}) == 3 * len(load(tmp_path).cells())
    for cell in cells:
        options = loaded.options(cell)
        assert options.clients == cell.clients == int(cell.setup.name[-3:])
        assert len(loaded.workload.tables(options, cell.setup)) == cell.clients
    assert len(set(fingerprints(loaded).values())) == len(cells)


def test_one_number_of_clients_leaves_names_and_identities_as_they_are(tmp_path: Path) -> None:
    assert {cell.setup.name for cell in load(tmp_path).cells()} == {"cached", "mine"}
    before = fingerprints(load(tmp_path))
    assert fingerprints(load(tmp_path, TEXT + "vary: {}\n")) == before


def test_cells_of_an_axis_stay_done_when_the_axis_grows(tmp_path: Path) -> None:
    for text, more in (
        (SWEEP, SWEEP.replace("[1, 4, 16]", "[1, 2, 4, 16, 128]")),
        (VARY, VARY.replace("[1, 4]", "[1, 2, 4]")),
    ):
        before = fingerprints(load(tmp_path, text))
        assert before.items() < fingerprints(load(tmp_path, more)).items()


def test_each_choice_of_values_is_a_configuration_that_has_them(tmp_path: Path) -> None:
    loaded = load(tmp_path, VARY)
    found: dict[str, tuple[str | None, ...]] = {}
    for cell in loaded.cells():
        config = loaded.server_config(cell, RULES)
        found[cell.config.name] = (config.value("innodb_io_capacity"), config.value("innodb_purge_threads"))
    assert found == {
        f"{name}-innodb_io_capacity-{capacity}-innodb_purge_threads-{threads}": (capacity, threads)
        for name in ("base", "lag")
        for capacity in ("1k", "2000")
        for threads in ("1", "4")
    }
    ranks = {cell.dbms: cell.rank for cell in loaded.cells()}
    assert sorted(ranks.values()) == list(range(1, 17)), "each has its place among the results"


def test_a_value_wins_over_fragments_and_names_its_line(tmp_path: Path) -> None:
    loaded = load(tmp_path, VARY)
    config = loaded.server_config(loaded.cells()[0], RULES)
    (option,) = (option for option in config.options if option.name == "innodb_io_capacity")
    assert option.origin == "two.yaml:12"
    assert config.fragments["vary"].startswith("[mysqld]\ninnodb_io_capacity=")
    refused = load(tmp_path, TEXT + "vary: {datadir: [x]}\n")
    with pytest.raises(ConfigError, match=r"two\.yaml:11: datadir is set by the sandbox"):
        refused.server_config(refused.cells()[0], RULES)


def test_options_one_at_a_time_are_configurations_next_to_that_without_any(tmp_path: Path) -> None:
    loaded = load(tmp_path, ALONE)
    unchanged = {cell.config.name: loaded.server_config(cell, RULES) for cell in load(tmp_path, TEXT).cells()}
    found = {cell.config.name: loaded.server_config(cell, RULES) for cell in in_order(loaded)}
    changes = ("", "-innodb_io_capacity-1k", "-innodb_io_capacity-2000", "-innodb_purge_threads-1")
    assert list(found) == [name + change for name in ("base", "lag") for change in changes]
    for name, config in unchanged.items():
        assert found[name] == config, "the base is that of a file without them"
        for change in changes[1:]:
            option, _, value = change[1:].rpartition("-")
            changed = found[name + change]
            assert changed.value(option) == value
            others = [one for one in changed.options if one.name != option]
            assert others == [one for one in config.options if one.name != option], "one option, and no other"
    (option,) = (one for one in found["lag-innodb_purge_threads-1"].options if one.name == "innodb_purge_threads")
    assert option.origin == "two.yaml:13"


def test_options_one_at_a_time_are_changed_for_each_value_of_those_that_vary(tmp_path: Path) -> None:
    loaded = load(tmp_path, ALONE + "vary: {innodb_flush_neighbors: [0, 1]}\n")
    names = list(dict.fromkeys(cell.config.name for cell in in_order(loaded)))
    assert names[:2] == ["base-innodb_flush_neighbors-0", "base-innodb_flush_neighbors-0-innodb_io_capacity-1k"]
    assert len(names) == 2 * 2 * 4


def test_what_a_configuration_sets_wins_over_its_fragments_and_is_in_no_name(tmp_path: Path) -> None:
    """A value may be what no name can have, and `vary` wins over it."""
    loaded = load(tmp_path, SET + "vary: {flush: [0]}\n")
    base, lag = (
        next(loaded.server_config(cell, RULES) for cell in loaded.cells() if cell.config.name == f"{name}-flush-0")
        for name in ("base", "lag")
    )
    assert [base.value(key) for key in ("innodb_io_capacity", "log_bin", "flush")] == ["1k", "bin.log", "0"]
    assert base.fragments["set"] == "[mysqld]\ninnodb_io_capacity=1k\nlog_bin=bin.log\nflush=ON\n"
    assert "set" not in lag.fragments
    (option,) = (one for one in base.options if one.name == "log_bin")
    assert option.origin == "two.yaml:4"
    refused = load(tmp_path, TEXT.replace("[cy10a]}", "[cy10a], set: {datadir: x}}"))
    with pytest.raises(ConfigError, match=r"two\.yaml:4: datadir is set by the sandbox"):
        refused.server_config(refused.cells()[0], RULES)


def test_what_a_configuration_sets_is_part_of_the_identity_of_its_cells_alone(tmp_path: Path) -> None:
    before, after = (fingerprints(load(tmp_path, text)) for text in (TEXT, SET))
    assert {name for name in before if before[name] != after[name]} == {name for name in before if "base" in name}


def test_values_change_a_complete_my_cnf_and_sizes_are_scaled(tmp_path: Path) -> None:
    (tmp_path / "prod.cnf").write_text("[mysqld]\ninnodb_buffer_pool_size=8G\ninnodb_io_capacity=300\n")
    text = (
        TEXT.replace("fragments: [cy10a]}", "my_cnf: prod.cnf}")
        + "scale: 0.25\nvary: {innodb_buffer_pool_size: [4G]}\n"
    )
    loaded = load(tmp_path, text)

    def of_base(cell: Cell) -> bool:
        return cell.config.name.startswith("base-")

    config = loaded.server_config(next(filter(of_base, loaded.cells())), RULES)
    assert (config.value("innodb_buffer_pool_size"), config.value("innodb_io_capacity")) == (str(1 << 30), "300")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (TEXT.replace("clients: 2", "clients: []"), "two.yaml:10: workload.clients: List should have at least 1 item"),
        (TEXT.replace("clients: 2", "clients: [1, 4, 1]"), "two.yaml:10: workload.clients: 1 occurs twice"),
        (TEXT.replace("clients: 2", "clients: [1, 0]"), "two.yaml:10: workload.clients[2]: should be greater than"),
        (TEXT.replace("clients: 2", "clients: few"), "two.yaml:10: workload.clients: should be a valid integer"),
        (TEXT + "vary: {a: []}\n", "two.yaml:11: vary.a: List should have at least 1 item"),
        (TEXT + "vary:\n  a: [1]\n  b: [2, 2]\n", "two.yaml:13: vary.b: 2 occurs twice"),
        (TEXT + "vary:\n  a-b: [1]\n  a_b: [2]\n", "two.yaml:11: vary: 'a-b' and 'a_b' are one option"),
        (TEXT + "vary: {a: [yes, true]}\n", "vary.a[2]: a value of an option is a word or a number, not True"),
        (TEXT + "vary: {a: ['x:y']}\n", "vary.a[1]: 'x:y' cannot be part of a configuration's name"),
        (TEXT + "vary: {a b: [1]}\n", "two.yaml:11: vary.a b: 'a b' is not the name of an option"),
        (
            TEXT + f"vary: {{a: {list(range(101))}}}\n",
            "two.yaml:11: vary: 202 configurations, 101 choices of values for each of 2 configs; at most 200",
        ),
        (
            TEXT.replace("repeats: 2", "repeats: 1000") + "vary: {a: [1, 2]}\n",
            "16,000 cells, 8 builds with configurations in 2 setups, 1,000 repeats each; at most 10,000 are allowed",
        ),
        (ALONE + "vary: {innodb_io_capacity: [1]}\n", "one_at_a_time: 'innodb_io_capacity' is in `vary` too"),
        (
            TEXT + f"one_at_a_time: {{a: {list(range(100))}}}\n",
            "two.yaml:11: one_at_a_time: 202 configurations, 101 choices of values for each of 2 configs; at most 200",
        ),
        (TEXT.replace("[cy10a]}", "[cy10a], set: {}}"), "two.yaml:4: configs[1].set: Dictionary should have at least"),
        (TEXT.replace("[cy10a]}", "[cy10a], set: {a-b: 1, a_b: 2}}"), "set: 'a-b' and 'a_b' are one option"),
        (TEXT.replace("[cy10a]}", "[cy10a], set: {a: true}}"), "set.a: a value of an option is a text or a number"),
        (TEXT.replace("[cy10a]}", '[cy10a], set: {a: "x\\ny"}}'), "has to be one line of 1 to 500 printable"),
        (TEXT + f"vary: {{{'a' * 60}: [1]}}\n", "it has over 64 characters with the values in it"),
        (
            TEXT.replace("name: lag,", "name: base-a-1,") + "vary: {a: [1-a-1, 1]}\n",
            "config 'base-a-1-a-1' is named twice",
        ),
    ],
)  # fmt: skip
@pytest.mark.fault("F21")
def test_mistakes_in_an_axis_are_reported_with_file_and_line(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(ExperimentError) as caught:
        load(tmp_path, text)
    assert words in (caught.value.detail or caught.value.what)


def test_cells_with_other_numbers_of_clients_share_what_the_load_does_not_depend_on(tmp_path: Path) -> None:
    text = TEXT.partition("setups:")[0] + (
        "setups: [tiny]\nworkload: {benchmark: tpcc, clients: [1, 4]}\nsnapshot_after: index\n"
    )
    loaded = load(tmp_path, text)
    keys = {str(loaded.workload.load_key(loaded.options(cell), loaded.steps(cell)[:2])) for cell in loaded.cells()}
    assert len(keys) == 1, "TPC-C loads the same rows with any number of clients"
    swept = load(tmp_path, SWEEP)
    keys = {str(swept.workload.load_key(swept.options(cell), swept.steps(cell)[:2])) for cell in swept.cells()}
    assert len(keys) == 6, "the Insert Benchmark has a table for each client"
