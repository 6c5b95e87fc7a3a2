"""Where files are: paths of this machine, plain or ``file://``, and URIs of object stores (``s3://bucket/path``)."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, unquote, unquote_to_bytes

from ..errors import UsageError
from ..system.files import user_path

SCHEMES = ("s3", "gs", "abfs", "abfss")
_URI = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]+)://(?P<bucket>[^/]*)(?P<path>/.*)?", re.DOTALL)
_FILE = re.compile(r"file:(?://(?P<host>[^/]*)(?=/)|(?!//))(?P<path>/.*)", re.IGNORECASE | re.DOTALL)
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/")
"""Also of a `Path` made from a URI, which has only one slash left."""
_MOST_NAMED = 3


@dataclass(frozen=True)
class StoreUri:
    """A place in an object store. ``bucket``: bucket or container, with the account where the scheme has one. ``path``:
    the key, or the prefix of keys, without slashes at its ends; empty for the whole bucket."""

    scheme: str
    bucket: str
    path: str

    def __str__(self) -> str:
        return f"{self.root}/{quote(self.path)}"

    @property
    def root(self) -> str:
        return f"{self.scheme}://{self.bucket}"

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2] or self.bucket

    def key(self, relative: str) -> str:
        return f"{self.path}/{relative}" if self.path else relative

    @property
    def parents(self) -> list[StoreUri]:
        """The places above this one, the whole bucket first."""
        parts = self.path.split("/") if self.path else []
        return [StoreUri(self.scheme, self.bucket, "/".join(parts[:i])) for i in range(len(parts))]

    def below(self, relative: str) -> StoreUri:
        return StoreUri(self.scheme, self.bucket, self.key(relative))

    @classmethod
    def parse(cls, given: str) -> StoreUri | None:
        """The place that a URI names; ``None`` for a path, or a URI of another kind. :class:`.UsageError` where it has
        a password or a query, or names no bucket."""
        match = _URI.fullmatch(given)
        if match is None or match["scheme"].lower() not in SCHEMES:
            return None
        scheme, bucket, path = match["scheme"].lower(), match["bucket"], match["path"] or ""
        user, at, host = bucket.rpartition("@")
        parts = [part for part in unquote(path).split("/") if part]
        wrong = {
            "contains credentials, which would be written to plans": ":" in user or (at and scheme in ("s3", "gs")),
            "names no bucket": not bucket or "\0" in given,
            "has a query or a fragment (? and # in names are %3F and %23)": "?" in path or "#" in path,
            "has '.' or '..' as a part": not {".", ".."}.isdisjoint(parts),
        }
        if why := next((why for why, is_so in wrong.items() if is_so), None):
            raise UsageError(
                f"{scheme}://{host}{path.partition('?')[0]}: the URI {why}; write {scheme}://bucket/path, and set "
                "credentials, endpoint and region in the environment (docs/stores.md)"
            )
        return cls(scheme, bucket, "/".join(parts))


Location = Path | StoreUri
"""Where an output is: a local folder, or a prefix in an object store."""


def resolved(place: Location) -> Location:
    """A location, of which two that are one place are equal."""
    return place.resolve() if isinstance(place, Path) else place


def parse_location(given: str) -> Location:
    """The place that an argument names; :class:`.UsageError` if it is none."""
    return StoreUri.parse(given) or local_path(given)


def local_path(given: str | Path, what: str = "") -> Path:
    """The local path for a plain path or a ``file://`` URI. ``what``: the option that named it, for the message.

    Raises:
        UsageError: another URI (``https://host/x`` would be three folders right here), or an unknown user.
    """
    text, before = str(given), f"{what}: " if what else ""
    if isinstance(given, str) and text[:6].lower() == "file:/":
        match = _FILE.fullmatch(text)
        if match is None or (match["host"] or "").lower() not in ("", "localhost"):
            raise UsageError(f"{before}{text}: a file:// URI is a path of this machine; write file:///path")
        # Names may not be UTF-8; Python represents such bytes as surrogates.
        text = os.fsdecode(unquote_to_bytes(os.fsencode(match["path"])))
        given = Path(text)
    if not text or "\0" in text:
        raise UsageError(f"{before}{text!r} is not a path; name a file or folder of this machine")
    if scheme := _SCHEME.match(text):
        raise UsageError(
            f"{before}{text} is a URI ({scheme[1]}://), which is not supported here; write a path of this machine, "
            f"plain or as file:///path (IN, OUT and --reuse may also be in {', '.join(SCHEMES)})"
        )
    try:
        return user_path(given)
    except UsageError as error:
        raise UsageError(f"{before}{error}") from error


def is_hidden(name: str) -> bool:
    """Whether a file or folder of this name is skipped."""
    return name.startswith(("_", "."))


def named(values: Sequence[object]) -> str:
    """The first few of some paths or other values, and how many more there are."""
    shown = ", ".join(str(value).encode("utf-8", "replace").decode() for value in values[:_MOST_NAMED])
    return f"{shown} and {len(values) - _MOST_NAMED} more" if len(values) > _MOST_NAMED else shown
