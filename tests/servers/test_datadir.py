"""Data directories are initialised once per build and copied; identity and keys never are."""

from dataclasses import replace
from pathlib import Path

import pytest

from ibench_lib.errors import ServerStartError
from ibench_lib.servers.build import Build
from ibench_lib.servers.datadir import VERSION_FILE, forget_templates, fresh_datadir


class Initialiser:
    """Stands for the server's own initialising, and counts."""

    def __init__(self) -> None:
        self.configs: list[str] = []

    def __call__(self, my_cnf: Path, datadir: Path) -> None:
        self.configs.append(my_cnf.read_text())
        datadir.mkdir()
        for name in ("ibdata1", "auto.cnf", "server-key.pem"):
            (datadir / name).write_text(name)


@pytest.fixture
def fake(tmp_path: Path) -> Build:
    binary = tmp_path / "mysqld"
    binary.touch()
    return Build("b1", "mysql", "8.4.1", tmp_path, (str(binary),), "test")


def my_cnf(folder: Path, *lines: str) -> Path:
    path = folder / "my.cnf"
    path.write_text("\n".join(["[mysqld]", *lines]) + "\n")
    return path


def test_one_initialisation_serves_all_configurations_that_do_not_decide_it(fake: Build, tmp_path: Path) -> None:
    initialise, templates = Initialiser(), tmp_path / "templates"
    for number, lines in enumerate(
        [["innodb_buffer_pool_size=1G"], ["innodb_redo_log_capacity=8G # a.cnf:3"], ["max_connections=7"]]
    ):
        datadir = tmp_path / f"datadir{number}"
        fresh_datadir(fake, my_cnf(tmp_path, *lines), datadir, templates, initialise)
        assert [path.name for path in datadir.iterdir()] == ["ibdata1"], "no identity, no keys"
        assert datadir.stat().st_mode & 0o777 == 0o700
    assert initialise.configs == ["[mysqld]\n"]
    fresh_datadir(fake, my_cnf(tmp_path, "innodb-page-size = 8K # x"), tmp_path / "p8", templates, initialise)
    assert initialise.configs[1:] == ["[mysqld]\ninnodb-page-size = 8K\n"]
    fresh_datadir(replace(fake, version="8.4.2"), my_cnf(tmp_path), tmp_path / "other", templates, initialise)
    assert len(initialise.configs) == 3, "another version of the server makes its own"
    forget_templates("b", templates)
    assert len(list(templates.iterdir())) == 3
    forget_templates("b1", templates)
    assert list(templates.iterdir()) == []


def test_of_two_that_make_one_template_at_the_same_time_the_first_is_kept(fake: Build, tmp_path: Path) -> None:
    templates, slow, quick = tmp_path / "templates", Initialiser(), Initialiser()

    def overtaken(cnf: Path, datadir: Path) -> None:
        slow(cnf, datadir)
        fresh_datadir(fake, my_cnf(tmp_path), tmp_path / "first", templates, quick)
        (template,) = templates.glob("b1@*")
        (template / "datadir" / "ibdata1").write_text("of the first")

    fresh_datadir(fake, my_cnf(tmp_path), tmp_path / "second", templates, overtaken)
    assert (len(slow.configs), len(quick.configs)) == (1, 1)
    assert (tmp_path / "second" / "ibdata1").read_text() == "of the first"
    assert len(list(templates.iterdir())) == 1, "what came too late is gone"


@pytest.mark.fault("F17")
def test_f17_a_template_of_another_version_is_refused_and_both_are_named(fake: Build, tmp_path: Path) -> None:
    templates = tmp_path / "templates"
    fresh_datadir(fake, my_cnf(tmp_path), tmp_path / "first", templates, Initialiser())
    (template,) = templates.iterdir()
    (template / VERSION_FILE).write_text("5.7.44\n")
    with pytest.raises(ServerStartError, match=r"made by 5\.7\.44, but build b1 is 8\.4\.1"):
        fresh_datadir(fake, my_cnf(tmp_path), tmp_path / "second", templates, Initialiser())


def test_an_initialisation_that_fails_leaves_no_template(fake: Build, tmp_path: Path) -> None:
    def fails(_my_cnf: Path, _datadir: Path) -> None:
        raise ServerStartError("no")

    with pytest.raises(ServerStartError):
        fresh_datadir(fake, my_cnf(tmp_path), tmp_path / "datadir", tmp_path / "templates", fails)
    assert list((tmp_path / "templates").iterdir()) == []


def test_a_data_directory_that_came_with_the_build_is_copied(fake: Build, tmp_path: Path) -> None:
    initialise = Initialiser()
    initialise(my_cnf(tmp_path), tmp_path / "shipped")
    build = replace(fake, template=tmp_path / "shipped")
    fresh_datadir(build, my_cnf(tmp_path), tmp_path / "datadir", tmp_path / "templates", initialise)
    assert len(initialise.configs) == 1
    assert [path.name for path in (tmp_path / "datadir").iterdir()] == ["ibdata1"]
    assert (tmp_path / "shipped" / "auto.cnf").exists()
