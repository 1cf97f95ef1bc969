"""Which collectors an experiment's options turn on and off."""

from ibench_lib.capture.options import CaptureOptions, Profile
from ibench_lib.capture.session import _wanted, collectors


def test_what_costs_runs_only_when_asked_for() -> None:
    def wanted(options: CaptureOptions) -> set[str]:
        return {name for name, kind in collectors().items() if _wanted(kind, options)}

    always = wanted(CaptureOptions())
    assert {"waits", "profile"}.isdisjoint(always)
    assert wanted(CaptureOptions(waits=True, profile=Profile())) == always | {"waits", "profile"}
    assert wanted(CaptureOptions(off=["sizes", "host"])) == always - {"sizes", "host"}
