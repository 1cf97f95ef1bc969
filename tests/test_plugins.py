"""What installed packages add is found by their entry points; what cannot be used is named."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ibench_lib import importers, paths, plugins
from ibench_lib.capture.session import collectors
from ibench_lib.errors import PluginRefused
from ibench_lib.importers.intake import importers as known_importers
from ibench_lib.paths import Workspace
from ibench_lib.servers import catalogue
from ibench_lib.servers.flavours import flavour
from ibench_lib.workloads import workload

Points = Callable[..., None]


@pytest.fixture
def points(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Points]:
    """Gives every kind these entry points: kind=[(name, module)]. Modules are looked for in the test's folder."""
    monkeypatch.syspath_prepend(str(tmp_path))
    before = set(sys.modules)

    def install(**kinds: list[tuple[str, str]]) -> None:
        monkeypatch.setattr(plugins, "_points", lambda: {kind: kinds.get(kind, []) for kind in plugins.KINDS})
        for cached in (paths.workload_modules, paths.installed_notebooks):
            cached.cache_clear()

    yield install
    for name in set(sys.modules) - before:
        if name.startswith("acme"):
            del sys.modules[name]
    paths.workload_modules.cache_clear()
    paths.installed_notebooks.cache_clear()


def module(folder: Path, name: str, text: str) -> None:
    path = folder.joinpath(*name.split(".")).with_suffix(".py")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_a_module_of_each_kind_is_found_next_to_ours(points: Points, tmp_path: Path) -> None:
    module(tmp_path, "acme_importer", "class Acme:\n    name = 'acme'\nIMPORTER = Acme()\n")
    module(
        tmp_path, "acme_collector",
        "from ibench_lib.capture.collector import Collector\nclass Acme(Collector):\n    name = 'acme'\n",
    )  # fmt: skip
    module(tmp_path, "acme_flavour", "class Acme:\n    name = 'acme'\nFLAVOUR = Acme()\n")
    module(
        tmp_path, "acme_source",
        "from ibench_lib.servers.build import Offer\n"
        "def offers():\n    return [Offer('acme-1.0', 'here', 'acme')]\n",
    )  # fmt: skip
    module(tmp_path, "acme_load.workload", "class Acme:\n    name = 'acme'\nWORKLOAD = Acme()\n")
    module(tmp_path, "acme_load.__init__", "")
    ours = known_importers().keys(), collectors().keys(), set(flavour.names()), set(workload.known())
    points(
        importers=[("acme", "acme_importer")],
        collectors=[("acme", "acme_collector")],
        flavours=[("acme", "acme_flavour")],
        sources=[("acme", "acme_source")],
        workloads=[("acme", "acme_load")],
    )
    found = known_importers().keys(), collectors().keys(), set(flavour.names()), set(workload.known())
    assert [new - old for new, old in zip(found, ours, strict=True)] == [{"acme"}] * 4
    assert flavour.find("acme").name == workload.find("acme").name == "acme"
    assert "acme-1.0" in catalogue.offers()


def test_files_of_a_workload_are_found_in_its_package(points: Points, tmp_path: Path) -> None:
    module(tmp_path, "acme_load.__init__", "raise AssertionError('only what is used is imported')")
    (tmp_path / "acme_load" / "results" / "sql").mkdir(parents=True)
    points(workloads=[("acme", "acme_load")])
    assert paths.workload_folders("results/sql")["acme"] == tmp_path / "acme_load"
    assert "acme" not in paths.workload_folders("results/metrics.py")


def test_notebooks_of_a_package_are_found_and_the_projects_own_come_first(points: Points, tmp_path: Path) -> None:
    module(tmp_path, "acme_books.__init__", "")
    for name in ("acme", "explore"):
        (tmp_path / "acme_books" / f"{name}.ipynb").write_text("{}")
    points(notebooks=[("acme", "acme_books")])
    place = Workspace(tmp_path / "project")
    assert "acme" in place.notebook_names()
    assert place.notebook("acme") == tmp_path / "acme_books" / "acme.ipynb"
    assert place.notebook("explore") == paths.SHIPPED / "notebooks" / "explore.ipynb", "a package replaces none of ours"
    place.notebooks.mkdir(parents=True)
    (place.notebooks / "acme.ipynb").write_text("{}")
    assert place.notebook("acme") == place.notebooks / "acme.ipynb"


@pytest.mark.parametrize(
    ("entries", "said"),
    [
        ([("acme", "one"), ("acme", "two")], "'acme' is the name of two workloads: of one and of two"),
        ([("tpcc", "acme")], "'tpcc' is the name of two workloads: of ibench itself and of acme"),
        ([("a b", "acme")], "calls one of its workloads 'a b'"),
        ([("acme", "acme_is_gone")], "names acme_is_gone, and there is no such package"),
        ([("acme", "acme_gone.below")], "names acme_gone.below, and there is no such package"),
    ],
)
def test_a_name_or_a_package_that_cannot_be_used_is_said(
    points: Points, entries: list[tuple[str, str]], said: str
) -> None:
    points(workloads=entries)
    with pytest.raises(PluginRefused) as raised:
        paths.workload_folders("results")
    assert said in str(raised.value) and raised.value.hint


def test_a_module_that_fails_is_named_with_its_error(points: Points, tmp_path: Path) -> None:
    module(tmp_path, "acme_importer", "raise ValueError('of a\\nlong story')")
    points(importers=[("acme", "acme_importer")])
    with pytest.raises(
        PluginRefused, match="acme_importer, which an installed package adds, fails: ValueError: of a long story"
    ):
        list(plugins.modules("importers", importers))
