"""The specification that a client process gets as JSON."""

import json
from dataclasses import asdict

from ibench_lib.client.spec import Spec


def test_it_is_the_same_after_its_way_as_json() -> None:
    spec = Spec(
        module="ibench_lib.workloads.tpcc.client", role="terminal", client=2, number=3,
        operations=("new_order", "payment"), statements=None, seconds=2.5, tick_ns=10**7, timeout_s=30.0, seed=5,
        probes=True, connections=4, terminal=8, details={"warehouses": 3, "names": ["a"]},
    )  # fmt: skip
    assert Spec.of(json.loads(json.dumps(asdict(spec)))) == spec
