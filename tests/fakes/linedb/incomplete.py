"""A driver that needs a module which is not installed."""

import no_such_module_at_all  # type: ignore[import-not-found]  # noqa: F401
