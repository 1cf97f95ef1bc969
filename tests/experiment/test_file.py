from pathlib import Path

import pytest

from ibench_lib.errors import ExperimentError
from ibench_lib.experiment.cells import load_experiment
from ibench_lib.servers.flavours.flavour import find
from tests.experiment.two import TEXT, load
from tests.places import ROOT


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("clients: 2", "clients: 0", "workload.clients: should be greater than or equal to 1, not 0"),
        ("[a, b]", "[a, '../b']", "builds[2]: '../b' is not a usable name"),
        ("[a, b]", "[a, '-rf']", "is not a usable name"),
        ("[a, b]", "[a, a]", "build 'a' is named twice"),
        ("name: lag", "name: base", "config 'base' is named twice"),
        ("- cached", "- cahced", "unknown setup 'cahced'; did you mean 'cached'?"),
        ("repeats: 2", "repeats: 2\nscale: 0", "scale: should be greater than 0, not 0"),
        ("repeats: 2", "repeets: 2", "unknown key 'repeets'; did you mean 'repeats'?"),
        ("l.i1, qr100", "l.i1, q100", "unknown step 'q100' (range queries: 'qr100'?)"),
        (
            "clients: 2",
            "clients: 2, data_length: [10, 300], protocol: prepared",
            "workload.protocol: prepared inserts carry data of at most 250 characters, and data_length goes up to 300",
        ),
        ("repeats: 2", "repeats: 2\nsnapshot_after: l.z", "snapshot_after: unknown step 'l.z'; did you mean 'l.x'?"),
        ("repeats: 2", "repeats: 2\nsnapshot_after: qr100", "snapshot_after: 'qr100' is the last step"),
        ("repeats: 2", "repeats: 2\nsnapshot_after: [l.x]", "snapshot_after: should be a valid string"),
        ("clients: 2,", "clients: 2, engine: rocksdb,", "snapshot_after: needs engine innodb"),
    ],
)
@pytest.mark.fault("F21")
def test_what_cannot_be_run_is_refused_with_file_and_line(tmp_path: Path, old: str, new: str, words: str) -> None:
    with pytest.raises(ExperimentError) as caught:
        text = TEXT.replace(old, new)
        load(tmp_path, text + "snapshot_after: l.x\n" if "rocksdb" in text else text)
    message = caught.value.detail or caught.value.what
    assert words in message
    assert message.startswith(f"{tmp_path}/two.yaml:")


MYSQL = (("mariadb", (10, 11, 19)), ("mysql", (8, 0, 33)))
POSTGRES = (("postgres", (15, 18)), ("postgres", (18, 4)))


def test_the_experiments_of_this_repository_load() -> None:
    files = sorted((ROOT / "experiments").glob("*.yaml"))
    assert files
    for path in files:
        loaded = load_experiment(path)
        for cell in loaded.cells():
            of_family = POSTGRES if cell.build.startswith("postgres") else MYSQL
            for flavour, release in of_family:
                assert loaded.server_config(cell, find(flavour).rules(release)).options


def test_a_config_is_made_of_fragments_or_is_a_complete_my_cnf(tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "mine.cnf").write_text("[mysqld]\nmax_connections=7\n")
    (tmp_path / "prod.cnf").write_text("[mysqld]\nmax_connections=8\n")
    head, _, rest = TEXT.partition("configs:\n")
    configs = "configs_folder: own\nconfigs:\n  - {name: a, fragments: [mine]}\n  - {name: b, my_cnf: prod.cnf}\n"
    text = head + configs + rest[rest.index("setups:") :]
    loaded = load(tmp_path, text)
    found = {
        cell.config.name: loaded.server_config(cell, find("mysql").rules((8, 0, 33))).value("max_connections")
        for cell in loaded.cells()
    }
    assert found == {"a": "7", "b": "8"}
    with pytest.raises(ExperimentError) as caught:
        load(tmp_path, text.replace("my_cnf: prod.cnf", "my_cnf: prod.cnf, fragments: [mine]"))
    assert "either fragments or my_cnf" in (caught.value.detail or caught.value.what)


def test_capture_is_all_default_collectors_unless_said_otherwise(tmp_path: Path) -> None:
    plain = load(tmp_path).spec.capture
    assert (plain.off, plain.waits, plain.profile) == ([], False, None)
    asked = load(tmp_path, TEXT + "capture: {off: [network], waits: true, profile: {seconds: 2}}\n").spec.capture
    assert asked.off == ["network"] and asked.waits
    assert asked.profile is not None and (asked.profile.seconds, asked.profile.every_s) == (2, 60)
    with pytest.raises(ExperimentError, match=r"two\.yaml:11: .*unknown collector 'netwrok'; did you mean 'network'"):
        load(tmp_path, TEXT + "capture: {off: [netwrok]}\n")
