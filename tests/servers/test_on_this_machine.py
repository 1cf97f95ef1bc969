import os
from collections.abc import Callable
from pathlib import Path

import pytest

from ibench_lib.errors import BuildNotFound, ServerStartError
from ibench_lib.servers import on_this_machine


def test_a_bare_machine_has_no_build(bare_machine: pytest.MonkeyPatch) -> None:
    assert on_this_machine.system_build() is None
    with pytest.raises(BuildNotFound):
        on_this_machine.packaged_build()


def test_the_first_server_on_path_is_taken(
    bare_machine: pytest.MonkeyPatch, fake_server: Callable[..., Path], tmp_path: Path
) -> None:
    first = fake_server(tmp_path / "a" / "bin" / "mysqld")
    second = fake_server(tmp_path / "b" / "sbin" / "mariadbd", "10.11.5-MariaDB for Linux")
    bare_machine.setenv("PATH", f"{tmp_path / 'none'}:{first.parent}:{second.parent}")
    build = on_this_machine.system_build()
    assert build is not None
    assert (build.label, build.flavour, build.version) == ("system", "mysql", "8.0.36")
    assert (build.basedir, build.command) == (tmp_path / "a", (str(first),))
    bare_machine.setenv("PATH", f"{second.parent}:{first.parent}")
    build = on_this_machine.system_build()
    assert build is not None
    assert (build.flavour, build.version, build.basedir) == ("mariadb", "10.11.5-MariaDB", tmp_path / "b")


def test_the_systems_folders_count_when_path_lacks_them(
    bare_machine: pytest.MonkeyPatch, fake_server: Callable[..., Path], tmp_path: Path
) -> None:
    server = fake_server(tmp_path / "usr" / "sbin" / "mysqld")
    bare_machine.setattr("ibench_lib.servers.on_this_machine._SYSTEM_FOLDERS", (str(server.parent),))
    bare_machine.setenv("PATH", "/nonexistent")
    assert on_this_machine.system_build() == on_this_machine.packaged_build()
    assert on_this_machine.packaged_build().command == (str(server),)


def test_a_link_to_the_server_is_followed_to_its_basedir(
    bare_machine: pytest.MonkeyPatch, fake_server: Callable[..., Path], tmp_path: Path
) -> None:
    fake_server(tmp_path / "usr" / "sbin" / "mariadbd", "10.11.5-MariaDB")
    (tmp_path / "sbin").symlink_to(tmp_path / "usr" / "sbin")  # a merged /usr
    bare_machine.setenv("PATH", str(tmp_path / "sbin"))
    build = on_this_machine.system_build()
    assert build is not None
    assert build.basedir == tmp_path / "usr"


def test_the_current_directory_is_never_searched(
    bare_machine: pytest.MonkeyPatch, fake_server: Callable[..., Path], tmp_path: Path
) -> None:
    fake_server(tmp_path / "mysqld")
    bare_machine.chdir(tmp_path)
    bare_machine.setenv("PATH", os.pathsep.join(["", "."]))
    assert on_this_machine.system_build() is None


def test_a_named_basedir_wins_over_path(
    bare_machine: pytest.MonkeyPatch, fake_server: Callable[..., Path], tmp_path: Path
) -> None:
    on_path = fake_server(tmp_path / "a" / "bin" / "mysqld")
    for folder in ("bin", "sbin", "libexec"):
        named = fake_server(tmp_path / folder / "base" / folder / "mysqld", "9.7.0")
        bare_machine.setenv("PATH", str(on_path.parent))
        bare_machine.setenv("IBENCH_BASEDIR", str(tmp_path / folder / "base"))
        build = on_this_machine.system_build()
        assert build is not None
        assert (build.version, build.command) == ("9.7.0", (str(named),))


def test_a_named_basedir_without_a_server_is_an_error_and_not_passed_over(
    bare_machine: pytest.MonkeyPatch, fake_server: Callable[..., Path], tmp_path: Path
) -> None:
    bare_machine.setenv("PATH", str(fake_server(tmp_path / "a" / "bin" / "mysqld").parent))
    bare_machine.setenv("IBENCH_BASEDIR", str(tmp_path / "b"))
    with pytest.raises(BuildNotFound, match=r"IBENCH_BASEDIR is .*/b, "):
        on_this_machine.system_build()


def test_a_server_that_cannot_run_is_an_error_and_not_passed_over(
    bare_machine: pytest.MonkeyPatch, fake_server: Callable[..., Path], tmp_path: Path
) -> None:
    broken = fake_server(tmp_path / "a" / "bin" / "mysqld")
    broken.write_text("#!/bin/sh\necho 'libaio.so.1: cannot open shared object file' >&2\nexit 127\n")
    good = fake_server(tmp_path / "b" / "bin" / "mysqld")
    bare_machine.setenv("PATH", f"{broken.parent}:{good.parent}:/usr/bin:/bin")
    with pytest.raises(ServerStartError) as caught:
        on_this_machine.system_build()
    assert "libaio" in (caught.value.detail or "")
