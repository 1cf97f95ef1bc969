"""A folder names a dbms if it begins as builds are called, and does not look like the address of a host."""

from __future__ import annotations

import pytest

from ibench_lib.errors import UsageError
from ibench_lib.importers.layout import dbms_of, server_of, setups_of, size_of


@pytest.mark.parametrize(
    ("folders", "dbms"),
    [
        (["my8033.cy10a"], "my8033.cy10a"),
        (["x.my5651_rel_o2nofp.z12a_c8r32.pk1"], "my5651_rel_o2nofp.z12a_c8r32"),
        (["20m.ma1011.cy10a", "l.i0"], "ma1011.cy10a"),
        (["mysql-8.0.21.BP140", "thr1"], "mysql-8.0.21.BP140"),
        (["my8033.cy10a", "my8034.cy10a"], "my8034.cy10a"),
        (["pg153.cx7a.tar.gz"], "pg153.cx7a"),
        (["db7.example"], None),
        (["mysql1.example.com"], None),
        (["my8033"], None),
        ([], None),
    ],
)
def test_the_innermost_such_folder_counts(folders: list[str], dbms: str | None) -> None:
    assert dbms_of(folders) == dbms


@pytest.mark.parametrize(
    ("folders", "name", "dbms"),
    [
        (["logs", "mysql", "8.4.8"], "Tier32G_RW_64th.sysbench.txt", "mysql-8.4.8.Tier32G"),
        (
            ["percona-server", "8.4.8-8"],
            "run1_Tier12G_Concur0_128th.sysbench.txt",
            "percona-server-8.4.8-8.Tier12G_Concur0",
        ),
        (["mariadb", "12.1.2-MariaDB-ubu2404"], "Tier2G.cnf.txt", "mariadb-12.1.2-MariaDB-ubu2404.Tier2G"),
        (["custom-mysql", "9.7.0-er"], "Tier2G_RW_1th.sysbench.txt", "custom-mysql-9.7.0-er.Tier2G"),
        (["custom-db7", "9.7.0"], "Tier2G_RW_1th.sysbench.txt", None),
        (["mysql", "8.4.8"], "run.log", None),
        (["db7", "8.4.8"], "Tier2G_RW_1th.sysbench.txt", None),
        (["mysql", "10.0.0.7.example.com"], "Tier2G_RW_1th.sysbench.txt", None),
        (["8.4.8"], "Tier2G_RW_1th.sysbench.txt", None),
        (["mysql", f"8.0{'_a' * 100}!"], "Tier2G_RW_1th.sysbench.txt", None),  # not tried in every way
    ],
)
def test_a_folder_of_a_version_in_that_of_a_server_names_the_build(
    folders: list[str], name: str, dbms: str | None
) -> None:
    assert server_of(folders, f"{'/'.join(folders)}/{name}") == dbms


def test_a_size_is_in_the_name_of_a_file_or_of_its_folder() -> None:
    assert size_of(["res", "BP80.threads40"], "res/BP80.threads40/results.txt") == "BP80"
    assert size_of(["res"], "res/oltp_read_write.log") is None
    assert size_of([], "BPM.log") is None


def test_a_setup_is_called_after_what_the_user_says_and_what_differs() -> None:
    def refusal(number: int, what: str, hint: str) -> UsageError:
        return UsageError(f"log {number}: {what}", hint=hint)

    marks = {"warehouses": "w", "threads": "c"}
    logs = [{"warehouses": 10, "threads": 4}, {"warehouses": 10, "threads": 8}]
    assert setups_of(None, marks, logs, refusal) == ["10w-4c", "10w-8c"]
    assert setups_of("small", marks, logs, refusal) == ["small-4c", "small-8c"]
    assert setups_of("small", marks, logs[:1], refusal) == ["small"]
    assert setups_of("small", marks, [{}, {}], refusal) == ["small", "small"]
    with pytest.raises(UsageError, match="log 1: this log does not say how many threads it had"):
        setups_of("small", marks, [logs[0], {"warehouses": 10}], refusal)
