import fcntl
from pathlib import Path

from ibench_lib.base.locks import is_locked


def test_a_file_is_locked_as_long_as_somebody_holds_it(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    assert not is_locked(path)
    with open(path, "w") as holder:
        assert not is_locked(path)
        fcntl.flock(holder, fcntl.LOCK_EX)
        assert is_locked(path)
        assert is_locked(path), "to look is not to take"
    assert not is_locked(path)
