"""``bundle.json``: read it and the files that it names, and check everything in it."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from ..errors import BundleError
from ..system.formats import BUNDLE_SCHEMA

MANIFEST = "bundle.json"
SMALL_FILES = frozenset({"tokenizer.json", "probes.parquet", "templates.json"})
"""Names of the files besides graphs and their weights."""
EMBEDDINGS = "embeddings"
"""The task of a bundle that gives embeddings and is no classifier; see :mod:`.encoder`."""
DATA = ".data"
"""How the name of a file of weights ends."""


def read_manifest(folder: Path) -> tuple[dict[str, Any], str]:
    """The content of ``bundle.json`` and its sha256.

    Raises:
        BundleError: it is not there, not JSON, not a bundle's, or of a newer schema.
    """
    path = folder / "bundle.json"
    try:
        raw = path.read_bytes()
    except OSError as e:
        raise BundleError(
            f"no bundle at {folder}: {path.name} cannot be read ({e.strerror}); give a folder that `scorer export` "
            "wrote, or the word embedded"
        ) from e
    return parse_manifest(raw, str(path)), hashlib.sha256(raw).hexdigest()


def parse_manifest(raw: bytes, path: str) -> dict[str, Any]:
    """The content of ``bundle.json``.

    Args:
        path: path or URI, for messages.

    Raises:
        BundleError: it is not JSON, not a bundle's, or of a newer schema.
    """
    try:
        manifest = json.loads(raw)
    except (ValueError, RecursionError) as e:
        raise BundleError(f"{path} is not JSON ({e}); the bundle is damaged, copy or export it again") from e
    if not isinstance(manifest, dict) or "schema" not in manifest:
        raise BundleError(f"{path} is not a bundle description; give a folder that `scorer export` wrote")
    schema = manifest["schema"]
    if type(schema) is not int or not 1 <= schema <= BUNDLE_SCHEMA:
        raise BundleError(
            f"{path}: schema {schema!r}, but this program reads schemas 1 to {BUNDLE_SCHEMA}; "
            "use a matching release of d2t-scorer, or export the checkpoint again with this one"
        )
    return manifest


def check_file(folder: Path, name: str, expected: str) -> Path:
    """The path of a file of a bundle, whose content is what was exported.

    Raises:
        BundleError: the name leads out of the folder; the file is missing, no regular file, or changed.
    """
    path = folder / name
    if not name or Path(name).name != name:
        raise BundleError(f"{folder}/bundle.json names the file {name!r}, which is not a plain name in its folder")
    try:
        if not path.is_file():
            raise BundleError(
                f"{path} is missing or not a plain file; copy the whole bundle folder, or export it again"
            )
        with path.open("rb") as handle:
            found = hashlib.file_digest(handle, "sha256").hexdigest()
    except (OSError, ValueError) as e:
        reason = getattr(e, "strerror", None) or e
        raise BundleError(f"{path} cannot be read: {reason}; copy the bundle again") from e
    if found != expected:
        raise BundleError(
            f"{path} is not the file that was exported: sha256 {found[:12]}…, but bundle.json says "
            f"{str(expected)[:12]}…; copy the bundle again, or export it again"
        )
    return path


def line(value: Any) -> str:
    """A short string on one line, as all strings of the description that are used."""
    if not isinstance(value, str) or len(value) > 1000 or len(value.splitlines()) != 1 or not is_utf8(value):
        raise TypeError(f"expected a line of text, found {value!r:.80}")
    return value


def whole(value: Any) -> int:
    if type(value) is not int or not 0 <= value < 1 << 31:
        raise TypeError(f"expected a whole number, found {value!r:.80}")
    return value


def short_list(value: Any) -> list[Any]:
    if not isinstance(value, list) or len(value) > 100:
        raise TypeError(f"expected a short list, found {value!r:.80}")
    return value


def is_utf8(value: Path | str) -> bool:
    try:
        str(value).encode()
    except UnicodeEncodeError:
        return False
    return True
