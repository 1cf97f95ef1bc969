"""That a check failed in a run which says that it completed."""

from __future__ import annotations

import polars as pl

from ibench_lib.base.wording import count, joined
from ibench_lib.show.kit.statements import asks, attention


@asks("checks")
def failed_check_statements(checks: pl.DataFrame) -> list[str]:
    """Every failed check of a complete run that no defect of a profile explains. ibench ends such a run as failed."""
    wrong = checks.filter(pl.col("unexplained") > 0)
    return [
        attention(
            f"{row['setup']}, {row['step']}: {count(row['unexplained'], 'check')} of {row['rule']} failed "
            f"({joined(row['not_held'])}), but the run says that it completed. It was "
            "changed: do not trust its figures."
        )
        for row in wrong.to_dicts()
    ]
