from ibench_lib.show.kit.html_ids import html_id


def test_other_characters_become_hyphens() -> None:
    assert html_id("evidence.one_second-2") == "evidence.one_second-2"
    assert html_id("l.i1 of <b>x</b>") == "l.i1-of-b-x-b"
    assert html_id("<>") == html_id("") == "x"
