"""Every chart that a test asks for is one that plotly knows all of."""

from tests.show.traces import checked_drawings

__all__ = ["checked_drawings"]
