"""`make release`: what it refuses, and that the archives of this checkout pass."""

import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest

from hatch_build import lacking
from tests.places import ROOT
from tools import release

GOOD = [*(name if not name.endswith("/") else f"{name}one" for name in release.WANTED)]


def test_a_version_needs_a_section_of_the_changelog_with_a_text(tmp_path: Path) -> None:
    changelog = tmp_path / "CHANGELOG.md"
    changelog.write_text("# Changelog\n\n## 0.2.0 (not released)\n\nAdds a thing.\n\n## 0.1.0\n\n")
    assert release.changes(changelog, "0.2.0") == "Adds a thing."
    assert release.changes(changelog, "0.1.0") is None and release.changes(changelog, "0.3.0") is None


@pytest.mark.parametrize("name", release.WANTED)
def test_a_wheel_without_what_it_must_hold_is_refused(name: str) -> None:
    release.check_names(GOOD)
    with pytest.raises(release.ReleaseError, match=f"lacks {name}"):
        release.check_names([each for each in GOOD if not each.startswith(name)])


@pytest.mark.parametrize("name", ["tests/test_errors.py", "data/run/ops.parquet", "ibench_lib/__pycache__/a.pyc"])
def test_a_wheel_with_more_of_the_checkout_is_refused(name: str) -> None:
    with pytest.raises(release.ReleaseError, match="holds"):
        release.check_names([*GOOD, name])


def test_a_source_distribution_that_makes_another_wheel_is_refused(tmp_path: Path) -> None:
    for name, text in (("one.whl", "1"), ("two.whl", "2")):
        with zipfile.ZipFile(tmp_path / name, "w") as archive:
            archive.writestr("ibench_lib/sql/a.sql", text)
    with pytest.raises(release.ReleaseError, match=r"another ibench_lib/sql/a\.sql"):
        release.check_same(tmp_path / "one.whl", tmp_path / "two.whl")


@pytest.mark.long
@pytest.mark.skipif(lacking() is not None, reason=str(lacking()))
def test_this_checkout_makes_archives_that_pass(tmp_path: Path) -> None:
    """The checkout as it is, committed in a repository of its own."""
    root = tmp_path / "root"
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    names = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
    for name in filter(None, names):
        if not name.startswith(("data/", "tests/")) and (ROOT / name).is_file():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, root / name)
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "all"]):
        author = ["-c", "user.name=A. Tester", "-c", "user.email=a@example.org"]
        subprocess.run(["git", *author, *command], cwd=root, check=True)
    wheel, native, source = release.release(root, tmp_path / "dist")
    assert wheel.name.endswith("-none-any.whl") and "-none-any" not in native.name
    assert source.name.endswith(".tar.gz")
    (root / "README.md").write_text("edited")
    with pytest.raises(release.ReleaseError, match=r"has changes, first README\.md"):
        release.release(root, tmp_path / "dist")
