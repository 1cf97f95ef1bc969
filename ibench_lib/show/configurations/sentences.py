"""What configurations warn of themselves, and what they have in common."""

from __future__ import annotations

import polars as pl

from ibench_lib.base.wording import joined, shortened
from ibench_lib.show.kit.statements import asks, attention
from ibench_lib.show.kit.wording import comment

_CAUTION = "# Caution:"


@asks("fragments")
def caution_statements(fragments: pl.DataFrame) -> list[str]:
    """Every comment line `# Caution: ...` of a configuration's fragments, with the results that it is about."""
    return [
        attention(f"{row['fragment']} ({shortened(row['dbms'], ', ')}): {line.removeprefix(_CAUTION).strip()}")
        for row in fragments.to_dicts()
        for line in row["text"].splitlines()
        if line.startswith(_CAUTION)
    ]


@asks("same_servers")
def same_server_statements(same_servers: pl.DataFrame) -> list[str]:
    """Which configurations the server ran alike although their option files differ, which nobody should overlook."""
    builds: dict[str, dict[str, list[str]]] = {}
    for row in same_servers.to_dicts():
        first, *others = [name.removeprefix(f"{row['build']}.") for name in row["dbms"]]
        builds.setdefault(row["build"], {}).setdefault(f"{joined(others)} as {first}", []).append(row["setup"])
    several = same_servers["setup"].n_unique() > 1
    sentences: list[str] = []
    for build, groups in builds.items():
        alike = [f"{names}{f' in {joined(setups)}' if several else ''}" for names, setups in groups.items()]
        sentences.append(
            attention(
                f"{build} ran {joined(alike)}: it reported the same variables, though option files differ. "
                "A difference between them is noise, or comes from an option that is not a variable."
            )
        )
    return sentences


@asks("fragments")
def shared_statements(fragments: pl.DataFrame) -> list[str]:
    """What all configurations have on top of the base file, so none differs in it: each such fragment, in its words."""
    results = {name for names in fragments["dbms"] for name in names}
    shared = [row for row in fragments.to_dicts() if row["position"] and {*row["dbms"]} == results]
    return [
        f"All {len(results)} configurations include {row['fragment']}: “{comment(row['text'])}”"
        for row in shared
        if len(results) > 1 and comment(row["text"])
    ]
