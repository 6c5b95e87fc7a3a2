"""Versions of the packages that a score passes through."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import metadata

from .. import __version__


def versions(packages: Mapping[str, str] | None = None) -> dict[str, str]:
    """Versions of what a score passes through. ``packages``: those of the row scorer."""
    own = {name: metadata.version(name) for name in ("numpy", "pyarrow")}
    return {"d2t-scorer": __version__, **own, **(packages or {})}
