"""``bundle.json``: read it and the files that it names, and check everything in it."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import BundleError
from ..system.cache_folder import bundle_cache
from ..system.files import read_small
from ..system.formats import BUNDLE_SCHEMA
from .graph_check import LARGEST

MANIFEST = "bundle.json"
LARGEST_FILES = {
    MANIFEST: 16 << 20,
    "tokenizer.json": 64 << 20,
    "probes.parquet": 64 << 20,
    "templates.json": 64 << 20,
}
"""Bytes of each file that is read whole; real ones have a tenth of it at most."""
LARGEST_DATA = 1 << 36
"""Bytes of a file of weights outside its graph; the largest encoders in use have some 20 GB in fp32."""
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
        if path.is_symlink() or path.stat().st_size > LARGEST_FILES[path.name]:
            raise BundleError(f"{path} is a link or too large; copy the whole bundle folder, or export it again")
        raw = read_small(path, LARGEST_FILES[path.name])
    except OSError as e:
        raise BundleError(
            f"no bundle at {folder}: {path.name} cannot be read ({e.strerror}); give a folder that `scorer export` "
            "wrote, or one of the words embedded and embedded-e2e"
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


@dataclass(frozen=True)
class ListedFile:
    """A file that ``bundle.json`` lists. ``size``: in bytes, where it is recorded. ``largest``: bytes that it may
    have."""

    sha256: str
    size: int | None
    largest: int


def listed_files(manifest: dict[str, Any], path: str) -> dict[str, ListedFile]:
    """All files of a bundle except ``bundle.json``, by name: what a copy needs.

    Args:
        path: of ``bundle.json``, for messages.

    Raises:
        BundleError: a field is missing or of the wrong form; a name leads out of the folder, or is listed twice.
    """
    found: dict[str, ListedFile] = {}
    try:
        listed = [(name, digest, None) for name, digest in manifest["files"].items()]
        for variant in (manifest.get("variants") or {}).values():
            listed.append((variant["file"], variant["sha256"], variant.get("bytes")))
            listed += [(name, digest, None) for name, digest in (variant.get("external") or {}).items()]
        for name, digest, size in listed:
            if Path(line(name)).name != name or name in ("..", "bundle.json") or "\0" in name:
                raise ValueError(f"{name!r:.80} is not the plain name of a file")
            one = ListedFile(line(digest), None if size is None else whole(size), _largest(name))
            there = found.setdefault(name, one)
            if there.sha256 != one.sha256 or len(found) > 1000:
                raise ValueError(f"{name!r:.80} is listed twice, or too many files are listed")
    except (KeyError, TypeError, ValueError, AttributeError) as e:
        raise BundleError(f"{path}: field missing or of the wrong form ({repr(e)[:200]}); export it again") from e
    return found


def check_file(folder: Path, name: str, expected: str) -> Path:
    """The path of a file of a bundle, whose content is what was exported.

    Raises:
        BundleError: the name leads out of the folder; the file is missing, a link, too large, or changed.
    """
    path = folder / name
    if not name or Path(name).name != name:
        raise BundleError(f"{folder}/bundle.json names the file {name!r}, which is not a plain name in its folder")
    try:
        descriptor = _open_regular(path)
    except (OSError, ValueError) as e:
        reason = getattr(e, "strerror", None) or e
        raise BundleError(
            f"{path} is missing or not a plain file, or cannot be read ({reason}); "
            + _advice(folder, "copy the whole bundle folder, or export it again")
        ) from e
    try:
        with os.fdopen(descriptor, "rb") as handle:
            size = os.fstat(descriptor).st_size
            if size > _largest(name):
                raise BundleError(
                    f"{path} has {size:,} bytes, and such a file may have {_largest(name):,}; `scorer export` did not "
                    "write it"
                )
            found = hashlib.file_digest(handle, "sha256").hexdigest()
    except OSError as e:
        raise BundleError(
            f"{path} cannot be read: {e.strerror or e}; {_advice(folder, 'copy the bundle again')}"
        ) from e
    if found != expected:
        raise BundleError(
            f"{path} is not the file that was exported: sha256 {found[:12]}…, but bundle.json says "
            f"{str(expected)[:12]}…; {_advice(folder, 'copy the bundle again, or export it again')}"
        )
    return path


def _largest(name: str) -> int:
    return LARGEST_DATA if name.endswith(DATA) else LARGEST_FILES.get(name, LARGEST)


def _advice(folder: Path, advice: str) -> str:
    """How to repair a bundle folder: a copy of one in an object store is fetched again."""
    if folder.parent == bundle_cache():
        return f"it is a copy of a bundle in an object store: remove {folder}, and the next start fetches it again"
    return advice


def _open_regular(path: Path) -> int:
    """A descriptor of a regular file that is no link.

    Raises:
        OSError: it is something else, or cannot be opened. ValueError: no file can have this name.
    """
    # Not blocking: to open a FIFO would wait for its writer.
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY)
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    raise OSError(errno.EINVAL, "not a regular file")


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
