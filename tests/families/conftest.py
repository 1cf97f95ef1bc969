"""The servers of tests/capture, for what watches them."""

from tests.capture.conftest import booted, one_server, running

__all__ = ["booted", "one_server", "running"]
