"""What links to a post show: its description and picture, made without a browser, and the tags that name them."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output
from PIL import Image, ImageColor

from ibench_lib.analysis.verdicts import Ratio
from ibench_lib.ask.selection import choose
from ibench_lib.errors import UsageError
from ibench_lib.paths import Workspace
from ibench_lib.publish.post import build_post
from ibench_lib.publish.preview import HEIGHT, MOST_PICTURES, WIDTH, description, preview
from ibench_lib.publish.record import PREVIEW_NAME
from ibench_lib.show.headline import first_screen
from ibench_lib.show.kit.pieces import Html, Piece, Sentence
from ibench_lib.show.kit.sparklines import sparklines
from ibench_lib.show.kit.strips import StripRow, strip
from ibench_lib.show.kit.theme import COLOURS
from tests.publish.posting import tiny_post
from tests.shared import lake_of
from tests.synthetic import Run

pytestmark = pytest.mark.lake

CLEAR = StripRow("slow", Ratio(0.5, 0.45, 0.55, 3, p=0.001))
EVEN = StripRow("even", Ratio(1.0, 0.8, 1.25, 3, p=0.9))
BLUE, BROWN, WHITE = (*(ImageColor.getrgb(COLOURS[name][0]) for name in ("good-ink", "bad-ink", "paper")),)
BEIGE, LINE = (251, 220, 188), (0, 114, 178)


def screen(*pictures: Piece | Html, said: str = "l.i1: <slower> & worse.") -> Html:
    badges = '<ul class="badges"><li>one run</li></ul>'
    return first_screen("Two builds.", badges, *pictures, Sentence(said, '<a class="source" href="#x">query</a>'))


def notebook(shown: Html):  # type: ignore[no-untyped-def]
    output = new_output("display_data", data=json.loads(json.dumps(shown.bundle)))
    return new_notebook(cells=[new_code_cell("x", outputs=[output])])


def pixels(content: bytes) -> list[list[tuple[int, int, int]]]:
    picture = Image.open(io.BytesIO(content))
    assert (picture.format, picture.mode, picture.size) == ("PNG", "RGB", (WIDTH, HEIGHT))
    flat = iter(zip(*[iter(picture.tobytes())] * 3, strict=True))
    return [[next(flat) for _ in range(WIDTH)] for _ in range(HEIGHT)]


def test_the_picture_has_the_dots_and_intervals_of_the_strips() -> None:
    content = preview(notebook(screen(strip("l.i1, inserts/s", [CLEAR, EVEN], 4.0))))
    assert content is not None and len(content) < 60_000
    rows = pixels(content)
    found = [(x, y) for y, row in enumerate(rows) for x, pixel in enumerate(row) if pixel == BROWN]
    dot = [(x, y) for x, y in found if 100 < x < 900]
    assert len(dot) > 200, "a filled dot and its interval, in the colour of what is worse"
    assert max(x for x, _ in dot) < 600 < max(x for x, _ in found), "left of 1x; its figure is at the end of the row"
    assert not any(pixel == BLUE for row in rows for pixel in row)


def test_what_is_off_the_axis_is_an_arrow_in_the_picture() -> None:
    """The part of the row between its name and its figure has nothing else in this colour."""
    far = StripRow("far", Ratio(0.002, 0.0019, 0.0021, 3, p=0.001))
    content = preview(notebook(screen(strip("l.i1, inserts/s", [far], 16.0))))
    assert content is not None
    found = [x for row in pixels(content) for x, pixel in enumerate(row) if pixel == BROWN and 60 < x < 900]
    assert len(found) > 50 and max(found) < 400, "at the left end of the axis"


def test_the_picture_has_a_rate_over_time_and_its_dips() -> None:
    post = choose(lake_of(Run("slow", l_i1_s=20, stall=(9, 10, 11))), "demo", steps=["l.i1"])
    drawn = sparklines(post.ask("one_second"), post.ask("steadiness"), post.ask("dips"))
    content = preview(notebook(screen(drawn)))
    assert content is not None and len(content) < 60_000
    rows = pixels(content)
    band = [(x, y) for y, row in enumerate(rows) for x, pixel in enumerate(row) if pixel == BEIGE]
    line = [(x, y) for y, row in enumerate(rows) for x, pixel in enumerate(row) if pixel == LINE]
    left, right = min(x for x, _ in band), max(x for x, _ in band)
    assert 0.4 * WIDTH < left < right < 0.7 * WIDTH, "10 to 12 s of 20"
    within, before = ([y for x, y in line if start < x < end] for start, end in ((left, right), (0, left)))
    assert max(within) > max(before), "the line falls where the band is"


@pytest.mark.parametrize("number", [1, 2, 7, 15, 40])
def test_any_number_of_rows_and_strips_stays_within_the_picture(number: int) -> None:
    named = [StripRow(f"configuration-with-a-long-name-{n}", CLEAR.found) for n in range(number)]
    for strips in range(1, MOST_PICTURES + 2):
        content = preview(notebook(screen(*[strip(f"s{n} é <&>", named, 16.0) for n in range(strips)])))
        assert content is not None
        rows = pixels(content)
        assert all(pixel == WHITE for row in (*rows[:20], *rows[-10:]) for pixel in row), "the margins stay free"


def test_the_description_is_what_the_headline_says() -> None:
    assert description(notebook(screen())) == "Two builds. l.i1: <slower> & worse."
    long = description(notebook(screen(said="word " * 200)))
    assert len(long) <= 300 and long.endswith("word…")


def test_without_a_headline_there_is_neither() -> None:
    other = notebook(Html("<p>nothing</p>", Sentence("An item.")))
    assert description(other) == "" and preview(other) is None
    assert preview(notebook(first_screen("One."))) is None


def test_a_page_names_its_title_description_and_picture(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    made = json.loads(json.dumps(screen(strip('"<s>"', [CLEAR], 2.0)).bundle))
    source = f"from IPython.display import display\ndisplay({made!r}, raw=True)"
    monkeypatch.setenv("IBENCH_SITE_URL", "https://bench.example/posts")
    path = build_post(tiny_post(workspace, "told", source, title='A "title" & more'), workspace)
    assert pixels(path.with_name(PREVIEW_NAME).read_bytes())
    tags = dict(re.findall(r'<meta (?:property|name)="([^"]+)" content="([^"]*)">', path.read_text()))
    assert tags["og:title"] == "A &#34;title&#34; &amp; more"
    assert tags["description"] == tags["og:description"] == "Two builds. l.i1: &lt;slower&gt; &amp; worse."
    assert tags["og:image"] == "https://bench.example/posts/told/preview.png"
    assert tags["og:url"] == "https://bench.example/posts/told/index.html"
    assert tags["twitter:card"] == "summary_large_image" and tags["og:type"] == "article"

    monkeypatch.delenv("IBENCH_SITE_URL")
    build_post(tiny_post(workspace, "told", source, tldr="**Bold** & <b>"), workspace)
    again = path.read_text()
    assert 'og:image" content="preview.png"' in again and "og:url" not in again

    build_post(tiny_post(workspace, "told", tldr="**Bold** & <b>"), workspace)
    assert not path.with_name(PREVIEW_NAME).exists(), "a picture of an earlier page"
    assert 'og:description" content="Bold &amp; &lt;b&gt;"' in path.read_text()
    assert "og:image" not in path.read_text()


def test_an_address_that_is_none_is_refused_before_anything_runs(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IBENCH_SITE_URL", "bench.example")
    with pytest.raises(UsageError, match="not the address of a site"):
        build_post(tiny_post(workspace, "told"), workspace)
    assert not (Path(workspace.posts) / "told").exists()
