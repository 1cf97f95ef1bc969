import os
from pathlib import Path

import pytest

from ibench_lib.base.durable import write_atomically


@pytest.mark.fault("F31")
def test_a_write_that_fails_leaves_the_old_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    write_atomically(path, b"old")

    def fail(*_: object) -> None:
        raise OSError("no such luck")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="no such luck"):
        write_atomically(path, b"new")
    assert path.read_bytes() == b"old"
    assert [each.name for each in tmp_path.iterdir()] == ["file"], "no temporary file is left"


def test_the_content_is_synced_before_the_name_and_the_folder_after_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []
    for name in ("fsync", "replace"):
        real = getattr(os, name)
        monkeypatch.setattr(os, name, lambda *given, name=name, real=real: (calls.append(name), real(*given))[1])
    write_atomically(tmp_path / "file", b"new")
    assert calls == ["fsync", "replace", "fsync"]
    assert (tmp_path / "file").read_bytes() == b"new"
