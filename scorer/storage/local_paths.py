"""Local paths given by users: plain paths and ``file://`` URIs; URIs of stores are refused.

Inputs may be URIs of stores (see :mod:`.filesystems`); everything else that a command reads or writes is local. Without
this check ``--out s3://bucket/x`` would make the folders ``s3:``, ``bucket`` and ``x`` right here.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from urllib.parse import unquote_to_bytes

from ..errors import UsageError
from ..system.files import user_path

_FILE = re.compile(r"file:(?://(?P<host>[^/]*)(?=/)|(?!//))(?P<path>/.*)", re.IGNORECASE | re.DOTALL)
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://")
# A `Path` made from a URI has only one slash left, so a scheme looks like a folder name. These are the schemes of
# object stores, Hadoop and the web.
_COLLAPSED = re.compile(
    r"(file|s3[an]?|gs|gcs|r2|az|azure|abfss?|adl|wasbs?|hdfs|viewfs|webhdfs|https?|ftp|sftp|ssh|hf|oss|cos|dbfs|memory):/",
    re.IGNORECASE,
)


def local_path(given: str | Path, what: str = "") -> Path:
    """The local path for a plain path or a ``file://`` URI. A leading ``~`` is the home folder.

    Args:
        given: as the user wrote it. A ``Path`` made from a URI has lost a slash and cannot be read as a URI any more;
            it is refused if its scheme is known.
        what: the option or argument that named it, for the message; empty if the caller adds that itself.

    Raises:
        UsageError: a URI of another scheme, a ``file://`` URI of another machine, an unknown user, or not a path.
    """
    text, before = str(given), f"{what}: " if what else ""
    if not text or "\0" in text:
        raise UsageError(f"{before}{text!r} is not a path; name a file or folder of this machine")
    if isinstance(given, str) and text[:6].lower() == "file:/":
        return Path(path_of_uri(text, what))
    scheme = _SCHEME.match(text) or (_COLLAPSED.match(text) if isinstance(given, Path) else None)
    if scheme is not None:
        raise UsageError(
            f"{before}{text} is a URI ({scheme[1]}://), which is not supported here; write a path of this machine, "
            "plain or as file:///path"
        )
    return expand_home(Path(given), what)


def expand_home(path: Path, what: str = "") -> Path:
    """The path with a leading ``~`` or ``~user`` replaced by that home folder.

    Raises:
        UsageError: there is no such user, or no home folder.
    """
    try:
        return user_path(path)
    except UsageError as error:
        raise UsageError(f"{what}: {error}" if what else str(error)) from error


def path_of_uri(uri: str, what: str = "") -> str:
    """The absolute path in a ``file://`` URI.

    Raises:
        UsageError: it is a path of another machine, or not such a URI.
    """
    before = f"{what}: " if what else ""
    found = _FILE.fullmatch(uri)
    if found is None or (found["host"] or "").lower() not in ("", "localhost"):
        raise UsageError(f"{before}{uri}: a file:// URI is a path of this machine; write three slashes: file:///path")
    # Names may not be UTF-8; Python represents such bytes as surrogates.
    path = os.fsdecode(unquote_to_bytes(os.fsencode(found["path"])))
    if "\0" in path:
        raise UsageError(f"{before}{uri} contains a null character, which no path can have; remove it")
    return path


def is_hidden(name: str) -> bool:
    """Whether a file or folder of this name is skipped."""
    return name.startswith(("_", "."))
