import os
from pathlib import Path

import pytest

from ibench_lib.base.text_file import NotReadable, read_beginning, read_text


def test_a_text_is_read_as_it_is_without_its_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"\xef\xbb\xbfone\r\ntwo \xc3\xa9")
    assert read_text(path, 100) == "one\r\ntwo é"
    assert read_beginning(path, 6) == b"\xef\xbb\xbfone"


def test_what_is_no_text_file_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "large").write_bytes(b"a" * 1001)
    (tmp_path / "latin").write_bytes(b"caf\xe9")
    for path, why in (
        (Path("/dev/zero"), "a device or a pipe"),
        (tmp_path / "pipe", "a device or a pipe"),
        (tmp_path, "a folder"),
        (tmp_path / "large", "too large"),
        (tmp_path / "latin", "byte 4 is not UTF-8"),
        (tmp_path / "a\0b", "null"),
        (tmp_path / ("a" * 300), "name too long"),
    ):
        with pytest.raises(NotReadable, match=f"(?i){why}"):
            read_text(path, 1000)
    with pytest.raises(FileNotFoundError):
        read_text(tmp_path / "none", 1000)
