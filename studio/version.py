"""Which Farthing this is."""

from __future__ import annotations


def version() -> str:
    """The installed version."""
    from importlib.metadata import PackageNotFoundError
    from importlib.metadata import version as installed

    try:
        return installed("farthing")
    except PackageNotFoundError:
        return "0"
