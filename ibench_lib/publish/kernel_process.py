"""The process of a kernel: `python -m ibench_lib.publish.kernel_process -f <connection file>`.

It imports what notebooks use before the first cell asks for it: nobody waits for that if it is started early.
"""

from __future__ import annotations

import contextlib
import importlib
import sys

from ibench_lib.base.garbage import no_garbage

_USED = ("ask.selection", "show.headline", "show.sections", "show.throughput.charts", "publish.evidence")


def main() -> None:
    """Run a kernel that has imported what notebooks use before it is asked for a cell."""
    with no_garbage():
        from ipykernel.kernelapp import IPKernelApp

        app = IPKernelApp.instance(outstream_class="ibench_lib.publish.kernel_stream.Stream")
        app.initialize(sys.argv[1:])  # type: ignore[no-untyped-call]
        for name in _USED:
            with contextlib.suppress(ImportError):  # the notebook says what is missing
                importlib.import_module(f"ibench_lib.{name}")
    sys.stdin.read()  # ends when the lake may be opened
    with contextlib.suppress(ImportError):
        importlib.import_module("ibench_lib.store.reader").open_ahead()
    dir(sys.modules["ibench_lib"])  # finds what is public
    app.start()  # type: ignore[no-untyped-call]


if __name__ == "__main__":
    main()
