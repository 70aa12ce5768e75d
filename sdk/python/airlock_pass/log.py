"""The run's log. `print` writes there too."""

from __future__ import annotations

from wit_world.imports import host as _host


def debug(message: str) -> None:
    """A line for whoever works on the pass."""
    _host.log(_host.Level.DEBUG, message)


def info(message: str) -> None:
    """A line for whoever runs it."""
    _host.log(_host.Level.INFO, message)


def warn(message: str) -> None:
    """Something is likely wrong."""
    _host.log(_host.Level.WARN, message)
