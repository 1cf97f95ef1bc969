"""The build itself says which options it has, and what it refuses."""

from __future__ import annotations

import pytest

from ibench_lib.configs.resolve import resolve
from ibench_lib.errors import ConfigError
from ibench_lib.families.postgres import options
from ibench_lib.servers.accepts import check
from ibench_lib.servers.build import Build
from ibench_lib.servers.flavours.flavour import rules_of


@pytest.mark.slow
def test_a_build_lists_its_options_with_their_defaults(postgres: Build) -> None:
    known = options.known_options(postgres)
    assert {"shared_buffers", "max_wal_size", "autovacuum_naptime"} <= known.names
    assert (known.defaults["max_connections"], known.defaults["checkpoint_timeout"]) == ("100", "5min")


@pytest.mark.slow
def test_a_build_refuses_what_it_would_not_start_with(postgres: Build) -> None:
    assert options.refusal(postgres, "shared_buffers = 24MB\n") is None
    said = options.refusal(postgres, "shared_buffers = 24MB\nmax_wal_size = many\n")
    assert (
        said is not None
        and 'invalid value for parameter "max_wal_size": "many"' in said
        and "postgresql.conf" not in said
    )


@pytest.mark.slow
def test_a_configuration_shrinks_with_its_scale_and_is_checked_before_anything_starts(
    postgres: Build, tmp_path
) -> None:
    rules = rules_of(postgres)
    config = resolve(["cx10a"], rules, 0.01)
    assert config.value("shared_buffers") == str(235 << 20)
    assert "shared_buffers = 240640kB " in config.render() and "scaled from 23GB" in config.render()
    assert check(postgres, config) == [] and config.value("wal_sync_method") == "fdatasync"
    (tmp_path / "wrong.postgres.conf").write_text("shared_bufers = 24MB\n")
    with pytest.raises(ConfigError) as caught:
        check(postgres, resolve(["wrong"], rules, 1.0, tmp_path))
    assert "did you mean shared_buffers?" in (caught.value.detail or "")
    (tmp_path / "outside.postgres.conf").write_text("archive_command = 'rm -rf /'\n")
    with pytest.raises(ConfigError, match="runs or loads code"):
        resolve(["outside"], rules, 1.0, tmp_path)
    (tmp_path / "network.postgres.conf").write_text("listen_addresses = '*'\n")
    with pytest.raises(ConfigError, match="set by the sandbox"):
        resolve(["network"], rules, 1.0, tmp_path)
