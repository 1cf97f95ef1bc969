"""stdout and stderr of a post's kernel."""

from __future__ import annotations

from ipykernel.iostream import OutStream


class Stream(OutStream):
    """ipykernel's stream, for cells that mostly write nothing.

    To flush it is to wait for another thread, and ipykernel does that twice before each output that is displayed.
    """

    _written = True

    def write(self, string: str) -> int:
        """Keep a text until the next flush."""
        self._written = True
        return super().write(string) or 0

    def flush(self) -> None:
        """Publish what was written since the last flush, if anything was."""
        if self._written:
            self._written = False  # first: what another thread writes meanwhile is for the next one
            super().flush()  # type: ignore[no-untyped-call]
