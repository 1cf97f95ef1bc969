"""The list of posts and the feed: what they say, in a browser and in XML, and what is left out of them."""

import hashlib
import re
from datetime import UTC, date, datetime
from pathlib import Path
from xml.etree import ElementTree

import pytest
from playwright.sync_api import Browser

from ibench_lib.errors import UsageError
from ibench_lib.paths import Workspace
from ibench_lib.publish.record import PostRecord, read_record, write_record
from ibench_lib.publish.site import build_site
from tests.command import ibench
from tests.publish.browsing import open_page, serious_violations
from tests.publish.posting import HOSTILE

ATOM = "{http://www.w3.org/2005/Atom}"


def publish(workspace: Workspace, slug: str, page: bytes = b"<p>page</p>", **values: object) -> PostRecord:
    """A post as `build_post` leaves it, with a page of a few bytes."""
    record = PostRecord.model_validate(
        {
            "slug": slug, "title": f"Post {slug}", "author": "A. Tester", "date": date(2026, 11, 21),
            "updated": datetime(2026, 11, 22, 10, 30, tzinfo=UTC), "tldr": ["First", "Second"],
            "notebook": "insert_benchmark", "workloads": ["insert_benchmark"], "experiments": ["demo"],
            "builds": ["system"], "servers": ["system (mariadb 10.11)"], "runs": ["r1", "r2"], "runs_not_complete": 0,
            "bytes": len(page), "sha256": hashlib.sha256(page).hexdigest(), **values,
        }
    )  # fmt: skip
    directory = workspace.post_dir(slug)
    directory.mkdir(parents=True)
    (directory / "index.html").write_bytes(page)
    write_record(directory, record)
    return record


@pytest.fixture
def site(workspace: Workspace) -> Path:
    """The index of three posts."""
    publish(workspace, "old", date=date(2025, 1, 2), notebook="fairness", servers=["my5651 (mysql 5.6.51)"])
    publish(workspace, "purge", title="What limits purge lag", tldr="A word on undo logs.", runs_not_complete=1)
    publish(workspace, "new", date=date(2026, 12, 1), servers=["system (mariadb 10.11)", "my8033 (mysql 8.0.33)"])
    return build_site(workspace, titles={"insert_benchmark": "Insert Benchmark"}).index


def test_posts_are_listed_by_date_with_what_they_are_about(site: Path, browser: Browser) -> None:
    opened = open_page(browser, site)
    page = opened.page
    assert page.locator(".posts > li").evaluate_all("all => all.map(post => post.id)") == ["new", "purge", "old"]
    shown = page.locator("#purge").inner_text()
    assert "What limits purge lag" in shown
    assert "21 November 2026 · A. Tester · Insert Benchmark · experiment demo · insert_benchmark" in shown
    assert "system (mariadb 10.11)" in shown
    assert "1 of 2 runs did not complete." in shown
    links = page.locator(".posts a").evaluate_all("all => all.map(link => link.getAttribute('href'))")
    assert links == ["new/index.html", "purge/index.html", "old/index.html"]
    described = page.locator("meta[name=description]").get_attribute("content") or ""
    assert "What limits purge lag" in described.split("; ") and len(described.split("; ")) == 3
    assert opened.requests == [site.as_uri()]
    assert opened.complaints == []


def test_workloads_have_their_titles(workspace: Workspace) -> None:
    publish(workspace, "all", workloads=["insert_benchmark", "linkbench", "tpcc", "gone"])
    assert ibench(workspace, "site").returncode == 0
    page = workspace.posts.joinpath("index.html").read_text(encoding="utf-8")
    assert "A. Tester · Insert Benchmark, LinkBench, TPC-C, gone · experiment demo" in page


def test_filters_narrow_the_list_and_can_be_linked_to(site: Path, browser: Browser) -> None:
    page = open_page(browser, site).page

    def left() -> list[str]:
        return [str(post.get_attribute("id")) for post in page.locator(".posts > li").all() if post.is_visible()]

    page.locator("#text").fill("UNDO word")
    assert left() == ["purge"]
    assert page.locator("#count").inner_text() == "1 of 3 posts"
    page.locator("#text").fill("nothing like it")
    assert left() == [] and page.get_by_text("No post matches.").is_visible()
    page.locator("#text").fill("")
    page.locator("#server").select_option("system (mariadb 10.11)")
    assert left() == ["new", "purge"]
    page.locator("#notebook").select_option("fairness")
    assert left() == []
    page.locator("#server").select_option("")
    assert left() == ["old"]
    again = open_page(browser, site, fragment="#" + page.url.partition("#")[2]).page
    assert again.locator("#count").inner_text() == "1 of 3 posts"


def test_without_javascript_the_whole_list_is_there(site: Path, browser: Browser) -> None:
    page = open_page(browser, site, java_script_enabled=False).page
    assert page.locator(".posts > li:visible").count() == 3
    assert not page.locator(".filters").is_visible()


@pytest.mark.parametrize("width", [390, 1280])
def test_a_phone_a_keyboard_and_a_screen_reader_can_use_the_list(site: Path, browser: Browser, width: int) -> None:
    page = open_page(browser, site, width).page
    assert page.evaluate("document.documentElement.scrollWidth") == width
    assert serious_violations(page) == []
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "text"


@pytest.mark.fault("F23")
def test_hostile_posts_are_only_text(workspace: Workspace, browser: Browser) -> None:
    attack = HOSTILE + "\x0b\x00\ufffe"
    publish(
        workspace, "evil", title=attack, author=attack, tldr=[attack], notebook=attack, workloads=[attack],
        experiments=[attack], servers=[attack],
    )  # fmt: skip
    made = build_site(workspace, "https://example.org/")
    opened = open_page(browser, made.index)
    assert opened.page.evaluate("window.hit") is None
    assert opened.complaints == []
    assert opened.page.locator("img, iframe, [onerror]").count() == 0
    assert opened.page.locator("script").count() == 1
    assert HOSTILE in (opened.page.locator("h2").text_content() or "")
    entry = ElementTree.parse(made.feed).find(f"{ATOM}entry")
    assert entry is not None
    assert entry.findtext(f"{ATOM}title") == HOSTILE + "\ufffd\ufffd\ufffd"


def test_the_feed_is_atom_with_ids_that_stay(workspace: Workspace) -> None:
    publish(workspace, "old", date=date(2025, 1, 2), updated=datetime(2025, 1, 3, tzinfo=UTC))
    publish(workspace, "new")
    feed = ElementTree.parse(build_site(workspace, "https://example.org/bench").feed).getroot()
    assert_valid_atom(feed)
    assert feed.tag == f"{ATOM}feed"
    assert feed.findtext(f"{ATOM}updated") == "2026-11-22T10:30:00Z"
    ids = [entry.findtext(f"{ATOM}id") for entry in feed.findall(f"{ATOM}entry")]
    assert ids == ["tag:example.org,2026-11-21:new", "tag:example.org,2025-01-02:old"]
    links = [link.get("href") for link in feed.iter(f"{ATOM}link")]
    assert links == [
        "https://example.org/bench/index.html",
        "https://example.org/bench/feed.xml",
        "https://example.org/bench/new/index.html",
        "https://example.org/bench/old/index.html",
    ]
    rebuilt = read_record(workspace.post_dir("new")).model_copy(
        update={"title": "Other", "updated": datetime(2027, 1, 1, tzinfo=UTC)}
    )
    write_record(workspace.post_dir("new"), rebuilt)
    again = ElementTree.parse(build_site(workspace, "https://example.org/elsewhere/").feed).getroot()
    assert [entry.findtext(f"{ATOM}id") for entry in again.findall(f"{ATOM}entry")] == ids
    assert again.findtext(f"{ATOM}id") == feed.findtext(f"{ATOM}id")
    assert again.findtext(f"{ATOM}updated") == "2027-01-01T00:00:00Z"


def assert_valid_atom(feed: ElementTree.Element) -> None:
    """What RFC 4287 demands of a feed like ours, and RFC 4151 of its ids."""
    stamp = r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z"
    tag = r"tag:[a-z0-9.-]+,\d{4}(-\d{2}){0,2}:[A-Za-z0-9._-]+"
    entries = feed.findall(f"{ATOM}entry")
    for element in (feed, *entries):
        for name in ("title", "id", "updated"):
            assert len(element.findall(f"{ATOM}{name}")) == 1, name
        assert re.fullmatch(stamp, element.findtext(f"{ATOM}updated") or "")
        assert re.fullmatch(tag, element.findtext(f"{ATOM}id") or "")
    assert len({entry.findtext(f"{ATOM}id") for entry in entries}) == len(entries)
    for entry in entries:
        assert entry.findtext(f"{ATOM}author/{ATOM}name") or feed.findtext(f"{ATOM}author/{ATOM}name")
        assert entry.find(f"{ATOM}link[@rel='alternate']") is not None
    assert all(element.tag.startswith(ATOM) for element in feed.iter())


def test_without_an_address_links_are_relative(workspace: Workspace) -> None:
    publish(workspace, "one")
    feed = ElementTree.parse(build_site(workspace).feed).getroot()
    assert_valid_atom(feed)
    assert [link.get("href") for link in feed.iter(f"{ATOM}link")] == ["index.html", "one/index.html"]


def test_a_post_without_an_author_names_none(workspace: Workspace) -> None:
    publish(workspace, "named")
    publish(workspace, "unnamed", author="")
    built = build_site(workspace, titles={"insert_benchmark": "Insert Benchmark"})
    feed = ElementTree.parse(built.feed).getroot()
    assert_valid_atom(feed)
    assert [entry.findtext(f"{ATOM}author/{ATOM}name") for entry in feed.iter(f"{ATOM}entry")] == [None, "A. Tester"]
    page = built.index.read_text()
    assert page.count("</time> · A. Tester · ") == 1 and page.count("</time> · Insert Benchmark") == 1
    assert " ·  · " not in page


def test_no_post_is_a_site_too(workspace: Workspace) -> None:
    made = build_site(workspace)
    assert "There is no post yet." in made.index.read_text()
    assert_valid_atom(ElementTree.parse(made.feed).getroot())


def test_what_is_no_post_is_named_and_not_fatal(workspace: Workspace) -> None:
    publish(workspace, "good")
    publish(workspace, "moved")
    workspace.post_dir("moved").rename(workspace.posts / "renamed")
    publish(workspace, "halved")
    (workspace.post_dir("halved") / "index.html").write_bytes(b"another page")
    publish(workspace, "cut")
    (workspace.post_dir("cut") / "post.json").write_text('{"slug": "cut"')
    (workspace.posts / "empty").mkdir()
    (workspace.posts / "a name").mkdir()
    (workspace.posts / "good.failed.ipynb").write_text("{}")
    (workspace.posts / "notes.txt").write_text("x")
    (workspace.posts / "linked").symlink_to(workspace.post_dir("good"))
    (workspace.posts / ".good.building").mkdir()
    made = build_site(workspace)
    assert [post.slug for post in made.posts] == ["good"]
    assert sorted(problem.split(":")[0] for problem in made.problems) == [
        "cut", "empty", "good.failed.ipynb", "halved", "linked", "notes.txt", "post slug 'a name' is not a usable name",
        "renamed",
    ]  # fmt: skip
    assert "empty: no post.json" in made.problems
    assert "renamed: its post.json is of post 'moved'" in made.problems
    assert not [name for name in ("cut", "halved", "renamed") if f'id="{name}"' in made.index.read_text()]


def test_the_old_index_stands_until_the_new_one_is_whole(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    publish(workspace, "one")
    made = build_site(workspace)
    before = made.index.read_bytes()
    publish(workspace, "two")

    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("ibench_lib.base.durable.os.fsync", full)
    with pytest.raises(OSError, match="No space left"):
        build_site(workspace)
    assert made.index.read_bytes() == before
    assert sorted(path.name for path in workspace.posts.iterdir()) == ["feed.xml", "index.html", "one", "two"]


@pytest.mark.parametrize("url", ["example.org", "file:///x", "https://", "https://a:b@example.org", "https://x/?q=1"])
def test_an_address_that_is_none_is_refused(workspace: Workspace, url: str) -> None:
    with pytest.raises(UsageError, match="--url"):
        build_site(workspace, url)
