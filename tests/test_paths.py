import os
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from ibench_lib import paths
from ibench_lib.errors import NameRefused, UsageError
from ibench_lib.paths import Workspace, check_name, check_run_id, make_run_id

BAD_NAMES = [
    "../x", "/etc/x", "a[1]*", "-rf", "a\0b", "a" * 300, "", ".", "..", "a..b", ".hidden", "a/b", "a\\b", "a b",
    "a\n", "\na", "é", "٣", "a'b", 'a"b', "a;b", "<script>", "$HOME", "~", None, 7, True, b"a", ["a"],
]  # fmt: skip


@pytest.mark.parametrize("name", BAD_NAMES, ids=repr)
@pytest.mark.fault("F22")
def test_a_bad_name_is_refused_wherever_it_would_become_a_path(name: object, workspace: Workspace) -> None:
    with pytest.raises(NameRefused) as caught:
        check_name(name, "label")
    assert caught.value.exit_code == 2
    assert "\n" not in caught.value.what
    assert "\0" not in caught.value.what
    assert len(caught.value.what) < 200
    for make_path in (workspace.run_dir, workspace.post_dir, workspace.sandbox_dir, workspace.build_dir):
        with pytest.raises(NameRefused):
            make_path(name)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["a", "7", "my8033_rel_lto.cy10a13_gcp_c2s30", "mariadb-10.11.19", "a" * 64])
def test_a_good_name_stays_as_it_is(name: str) -> None:
    assert check_name(name, "label") == name
    assert check_run_id(name) == name


@pytest.mark.fault("F22")
def test_a_name_has_64_characters_at_most_and_a_run_id_200() -> None:
    with pytest.raises(NameRefused):
        check_name("a" * 65, "label")
    assert check_run_id("a" * 200) == "a" * 200
    with pytest.raises(NameRefused):
        check_run_id("a" * 201)


def test_run_ids_sort_by_time_whatever_the_time_zone() -> None:
    noon = datetime(2026, 11, 21, 12, 0, 0, tzinfo=UTC)
    later_elsewhere = (noon + timedelta(seconds=1)).astimezone(timezone(timedelta(hours=-8)))
    first = make_run_id("demo", "cached", "system.cy10a", 1, noon)
    second = make_run_id("demo", "cached", "system.cy10a", 1, later_elsewhere)
    assert first == "20261121T120000Z-demo-cached-system.cy10a-r1"
    assert first < second


def test_the_longest_names_make_a_run_id_or_are_refused_never_cut() -> None:
    when = datetime(2026, 11, 21, tzinfo=UTC)
    with pytest.raises(NameRefused):
        make_run_id("e" * 64, "s" * 64, "b" * 64 + "." + "c" * 64, 1, when)
    assert make_run_id("e" * 30, "s" * 30, "b" * 50 + "." + "c" * 50, 1, when).endswith("c-r1")


def test_all_data_stays_below_the_workspace(workspace: Workspace) -> None:
    for path in (workspace.run_dir("r"), workspace.post_dir("p"), workspace.sandbox_dir("s"), workspace.build_dir("b")):
        assert path.is_relative_to(workspace.data)
        assert path.is_relative_to(workspace.root)


def test_the_workspace_is_ibench_home_else_the_checkout(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    monkeypatch.setenv("IBENCH_HOME", str(tmp_path / "link"))
    assert paths.workspace().root == tmp_path.resolve()
    monkeypatch.delenv("IBENCH_HOME")
    monkeypatch.chdir(tmp_path)
    assert paths.workspace().root == Path(__file__).resolve().parent.parent


def test_a_project_is_found_from_every_folder_in_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("IBENCH_HOME", raising=False)
    below = tmp_path / "project" / "notebooks" / "old"
    below.mkdir(parents=True)
    monkeypatch.chdir(below)
    assert paths.workspace().root == paths.SOURCE_ROOT, "the checkout"
    (tmp_path / "project" / paths.PROJECT_MARK).touch()
    assert paths.workspace().root == tmp_path / "project"
    monkeypatch.setenv("IBENCH_HOME", str(tmp_path))
    assert paths.workspace().root == tmp_path


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project below which the current folder is; no other place is set."""
    monkeypatch.delenv("IBENCH_HOME", raising=False)
    monkeypatch.delenv("SUDO_UID", raising=False)
    folder = tmp_path / "theirs"
    (folder / "data" / "builds").mkdir(parents=True)
    (folder / "below").mkdir()
    (folder / paths.PROJECT_MARK).touch()
    monkeypatch.chdir(folder / "below")
    paths.say_once.cache_clear()
    return folder


@pytest.mark.parametrize("part", [".", paths.PROJECT_MARK, "data", "data/builds"])
def test_a_project_of_another_user_is_ignored_and_said_so_once(
    part: str, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert paths.workspace().root == project
    os.chown(project / part, 65534, -1)
    assert paths.workspace().root == paths.workspace().root == paths.SOURCE_ROOT
    said = capsys.readouterr().err.splitlines()
    assert said == [
        f"ibench: project {project} is ignored: {project / part} belongs to another user (uid 65534);"
        f" IBENCH_HOME={project} would use it"
    ]


def test_a_mark_that_is_a_strangers_link_to_a_file_of_root_is_ignored(project: Path) -> None:
    mark = project / paths.PROJECT_MARK
    mark.unlink()
    mark.symlink_to("/etc/hostname")
    os.chown(mark, 65534, -1, follow_symlinks=False)
    assert paths.workspace().root == paths.SOURCE_ROOT


def test_a_project_above_that_of_a_stranger_is_still_found(project: Path) -> None:
    os.chown(project / paths.PROJECT_MARK, 65534, -1)
    (project.parent / paths.PROJECT_MARK).touch()
    assert paths.workspace().root == project.parent


def test_who_trusts_the_project_of_another_user_names_it(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.chown(project, 65534, -1)
    monkeypatch.setenv("SUDO_UID", "65534")
    assert paths.workspace().root == project, "by sudo, one's own account"
    monkeypatch.delenv("SUDO_UID")
    monkeypatch.setenv("IBENCH_HOME", str(project))
    assert paths.workspace().root == project


def test_without_a_checkout_the_current_folder_of_a_stranger_is_refused(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paths, "SOURCE_ROOT", project / "no checkout")
    (project / paths.PROJECT_MARK).unlink()
    monkeypatch.chdir(project)
    assert paths.workspace().root == project
    os.chown(project / "data", 65534, -1)
    with pytest.raises(UsageError, match=r"is not used as the project: .*data belongs to another user"):
        paths.workspace()


def test_a_notebook_is_the_projects_own_or_the_one_that_came_with_the_library(workspace: Workspace) -> None:
    assert workspace.notebook("compare") == paths.SHIPPED / "notebooks" / "compare.ipynb"
    workspace.notebooks.mkdir()
    (workspace.notebooks / "compare.ipynb").touch()
    (workspace.notebooks / "mine.ipynb").touch()
    assert workspace.notebook("compare") == workspace.notebooks / "compare.ipynb"
    assert {"compare", "mine", "tpcc"} <= set(workspace.notebook_names())
    with pytest.raises(NameRefused):
        workspace.notebook("../x")
