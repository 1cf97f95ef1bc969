"""What travels to a worker and comes back."""

from pathlib import Path

import pytest

from ibench_lib.errors import LakeError
from ibench_lib.experiment.cells import load_experiment
from ibench_lib.paths import PACKAGE, Workspace
from ibench_lib.runner.hosts.shipment import code_files, pack, unpack
from ibench_lib.servers.flavours.flavour import find
from ibench_lib.store.manifest import FILE_NAME, read_manifest
from ibench_lib.store.transfer import take_in
from ibench_lib.store.verify import verify
from tests.runner.hosts.lab import write
from tests.synthetic import Run, write_runs

pytestmark = pytest.mark.lake


def test_what_comes_back_changed_is_refused(workspace: Workspace, tmp_path: Path) -> None:
    run = Run()
    write_runs(workspace, run)
    run_dir, here = workspace.run_dir(run.run_id), Workspace(tmp_path / "here")
    files = {path.name: path.read_bytes() for path in run_dir.iterdir()}
    manifest = read_manifest(run_dir)
    bad = {**files, "ops.parquet": files["ops.parquet"][:-1] + b"x"}
    with pytest.raises(LakeError, match=r"ops\.parquet is not what its manifest vouches for"):
        take_in(manifest, bad, lambda name: [bad[name]], here, "one")
    assert list(here.runs.iterdir()) == []
    assert take_in(manifest, files, lambda name: [files[name]], here, "one") is True
    assert verify(here.run_dir(run.run_id)) == [] and FILE_NAME in files


def test_an_experiment_travels_with_the_files_that_it_names(workspace: Workspace, tmp_path: Path) -> None:
    here = load_experiment(write(workspace))
    (tmp_path / "there").mkdir()
    there = unpack(pack(here), tmp_path / "there")
    for mine, theirs in zip(here.cells(), there.cells(), strict=True):
        config = here.server_config(mine, find("mariadb").rules((10, 11, 19)))
        assert config.render() == there.server_config(theirs, find("mariadb").rules((10, 11, 19))).render()
        assert here.fingerprint(mine, "x", config) == there.fingerprint(theirs, "x", config)


def test_the_identity_of_the_code_covers_the_whole_package() -> None:
    covered = {path.relative_to(PACKAGE).as_posix() for path in code_files()}
    there = {path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py")}
    assert there <= covered and "store/writer.py" in covered
    assert any(name.endswith(".sql") for name in covered) and any(name.endswith(".cnf") for name in covered)
