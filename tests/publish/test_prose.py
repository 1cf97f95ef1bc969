"""Markdown of authors: what is formatted, and that nothing of it becomes active."""

import html
import re
from urllib.parse import urljoin

import pytest

from ibench_lib.publish.prose import plain, prose
from tests.publish.posting import HOSTILE


def test_links_emphasis_code_and_lists_are_formatted() -> None:
    assert prose("a\n\nb `<i>` **c** *d*") == (
        "<p>a</p>\n<p>b <code>&lt;i&gt;</code> <strong>c</strong> <em>d</em></p>"
    )
    assert prose(["<b>", "see [it](https://x.org/a?b=1&c=2)"]) == (
        '<ul><li>&lt;b&gt;</li><li>see <a href="https://x.org/a?b=1&amp;c=2">it</a></li></ul>'
    )
    assert "<ol>\n<li>a</li>\n<li>b</li>\n</ol>" in prose("So:\n\n1. a\n2. b")
    assert prose([]) == ""


def test_a_line_does_not_end_within_a_figure() -> None:
    text = "from 12 to 15 s, 2.9 % (95 % interval), 8 MB; 2 servers, 3 sets, `5 s`, 0.78x [0.66, 0.92], 1, 2 [3, or 4]"
    found = prose(text)
    assert re.findall(r"[\w,]+\xa0\S+", found) == ["15\xa0s,", "9\xa0%", "95\xa0%", "8\xa0MB;", "66,\xa00.92],"]
    assert "<code>5 s</code>" in found
    assert plain(text) == text.replace("`", "")


def test_names_with_underscores_stay_as_they_are() -> None:
    assert prose("innodb_max_purge_lag, 2 * 3 * 4 and <build>.<config>") == (
        "<p>innodb_max_purge_lag, 2 * 3 * 4 and &lt;build&gt;.&lt;config&gt;</p>"
    )


def test_links_within_the_site_are_relative_to_the_post_also_in_the_list_of_posts() -> None:
    text = "[other](../other/index.html) [section](#purge-lag)"
    assert re.findall('href="([^"]*)"', prose(text)) == ["../other/index.html", "#purge-lag"]
    assert re.findall('href="([^"]*)"', prose(text, "demo/index.html")) == [
        "other/index.html", "demo/index.html#purge-lag",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "address",
    [
        "javascript:alert(1)", "JaVaScript:alert(1)", "java&#115;cript:alert(1)", "java\tscript:alert(1)",
        "\x01javascript:alert(1)", "<javascript:alert(1)>", "data:text/html,x", "vbscript:x", "file:///etc/passwd",
        "//evil.example/x", "\\\\\\\\evil.example/x", "/\\\\evil.example", "https:evil.example", "blob:x", "[::1",
    ],
)  # fmt: skip
def test_no_other_address_leads_out_of_the_site(address: str) -> None:
    for text in (f"[word]({address})", f"[word][a]\n\n[a]: {address}", f"<{address}>"):
        for found in re.findall('href="([^"]*)"', prose(text)):
            assert urljoin("https://mine.example/posts/", html.unescape(found)).startswith("https://mine.example/")
    if ":" in address and "[" not in address:
        assert "<a" not in prose(f"[word]({address})")


@pytest.mark.parametrize(
    "text",
    [
        HOSTILE, "<script>x()</script>", "<img src=x onerror=x()>", "<div\n\n<script>x()</script>", "`<script>`",
        "![<img src=x onerror=x()>](https://x.org/x.png)", "![picture](https://x.org/x.png)", "# <b>head</b>",
        '[word](https://x.org/" onclick="x())', "[<img src=x onerror=x()>](https://x.org)", "<!-- --><svg onload=x()>",
        '[word](https://x.org "title\\" onclick=\\"x()")', "    <script>x()</script>", "> <iframe src=x>",
        "```html\n<script>x()</script>\n```", "&lt;script&gt;", "<https://x.org/\"onclick='x()'>",
    ],
)  # fmt: skip
def test_no_text_becomes_an_active_element(text: str) -> None:
    found = prose(text)
    assert set(re.findall(r"<\s*([a-z0-9]+)", found)) <= {"a", "blockquote", "code", "li", "p", "pre", "strong", "ul"}
    for attributes in re.findall(r"<[a-z0-9]+([^>]*)>", found):
        assert re.fullmatch(r'( href="https://x\.org[^"]*")?', attributes), attributes


def test_plain_text_has_neither_marks_nor_addresses() -> None:
    assert plain(["**a** & [b](https://x.org)", "`c` <d>"]) == "a & b\nc <d>"
    assert plain("one\ntwo\n\nthree") == "one two three" and plain([]) == ""
