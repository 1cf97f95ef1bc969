"""What a workload is: one folder of `ibench_lib/workloads/`, found by its name, and named by nothing else.

A workload's folder holds `workload.py` with an object `WORKLOAD` that has everything below, the module that its client
processes import, and `results/`: what is asked and said of its runs only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ibench_lib.metrics import Better


@dataclass(frozen=True)
class Operation:
    """What clients count and time under one name.

    Operations of one `family` are added up in rates and charts: range_query and point_query are both a query.
    `counts` says what a rate of it is of: rows that it affects, or operations. `label` is the rate's name in posts.
    """

    name: str
    family: str
    counts: Literal["rows", "ops"]
    label: str
    better: Better = "higher"


@dataclass(frozen=True)
class StepKind:
    """What steps of one kind are about. Their throughput is the rate of the family `main`.

    `equal_work`: each client has the same work, so that the times at which they end tell how fair the server is.
    `of_existing_rows`: the work is done on the rows that are there, as when an index is made: throughput is these rows
    divided by T. `paced`: the families whose rate a step's target is of, `main` where none is named. Where `main` is
    not one of them they are its background, and every step of the kind has a target.
    """

    name: str
    main: str
    equal_work: bool = False
    of_existing_rows: bool = False
    paced: tuple[str, ...] = ()
