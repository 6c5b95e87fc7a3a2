"""The model that ships with the program, by the word that ``--bundle`` takes for it.

A word may come to mean another model in a later version; a score's signature names the model itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ..errors import UsageError

_FOLDER = Path(__file__).resolve().parents[1] / "embedded"


@dataclass(frozen=True)
class Shipped:
    """A model in the package. ``model``: its name in signatures. ``note``: what it is good for, for users."""

    model: str
    folder: Path
    note: str


SHIPPED = {
    "embedded": Shipped(
        "embedded-general",
        _FOLDER / "general",
        "the embedded model is small, knows English only, and is often wrong; for production-quality labels, "
        "export a large checkpoint and pass its bundle with --bundle",
    ),
}
DOMAINS = _FOLDER / "domains.parquet"
"""Rows of three domains with gold labels, written for this project; what ``make demo`` scores."""


def folder_of(bundle: Path | str) -> Path:
    """The folder that a word or a path means.

    Raises:
        UsageError: it is the URI of a store.
    """
    shipped = SHIPPED.get(str(bundle))
    if shipped is not None:
        return shipped.folder
    if isinstance(bundle, str) and "://" in bundle:
        raise UsageError(f"{bundle} is a URI, and a bundle must be a folder on this machine: copy it first")
    return Path(bundle)
