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
"""Scheme of a URI, also of a `Path` made from a URI, which has only one slash left."""
_MOST_NAMED = 3


@dataclass(frozen=True)
class StoreUri:
    """A location in an object store."""

    scheme: str
    """One of :data:`SCHEMES`."""
    bucket: str
    """Bucket or container, with the account where the scheme has one."""
    path: str
    """Key, or prefix of keys, without slashes at its ends; empty for the whole bucket."""

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
        """The locations above this one, the whole bucket first."""
        parts = self.path.split("/") if self.path else []
        return [StoreUri(self.scheme, self.bucket, "/".join(parts[:i])) for i in range(len(parts))]

    def below(self, relative: str) -> StoreUri:
        return StoreUri(self.scheme, self.bucket, self.key(relative))

    @classmethod
    def parse(cls, argument: str) -> StoreUri | None:
        """The location that a URI names; ``None`` for a path, or a URI of another kind. :class:`.UsageError` where it
        has a password or a query, or names no bucket."""
        match = _URI.fullmatch(argument)
        if match is None or match["scheme"].lower() not in SCHEMES:
            return None
        scheme, bucket, path = match["scheme"].lower(), match["bucket"], match["path"] or ""
        user, at, host = bucket.rpartition("@")
        parts = [part for part in unquote(path).split("/") if part]
        problems = {
            "contains credentials, which would be written to plans": ":" in user or (at and scheme in ("s3", "gs")),
            "names no bucket": not bucket or "\0" in argument,
            "has a query or a fragment (? and # in names are %3F and %23)": "?" in path or "#" in path,
            "has '.' or '..' as a part": not {".", ".."}.isdisjoint(parts),
        }
        if problem := next((problem for problem, applies in problems.items() if applies), None):
            raise UsageError(
                f"{scheme}://{host}{path.partition('?')[0]}: the URI {problem}; write {scheme}://bucket/path, and set "
                "credentials, endpoint and region in the environment (docs/stores.md)"
            )
        return cls(scheme, bucket, "/".join(parts))


Location = Path | StoreUri
"""Location of an output: a local folder, or a prefix in an object store."""


def resolved(location: Location) -> Location:
    """A location in its canonical form, so that two names of one folder are equal."""
    return location.resolve() if isinstance(location, Path) else location


def parse_location(argument: str) -> Location:
    """The location that an argument names; :class:`.UsageError` if it names none."""
    return StoreUri.parse(argument) or local_path(argument)


def local_path(argument: str | Path, option: str = "") -> Path:
    """The local path for a plain path or a ``file://`` URI. ``option``: name of the option, for the message.

    Raises:
        UsageError: another URI (``https://host/x`` would be three folders on this machine), or an unknown user.
    """
    text, before = str(argument), f"{option}: " if option else ""
    if isinstance(argument, str) and text[:6].lower() == "file:/":
        match = _FILE.fullmatch(text)
        if match is None or (match["host"] or "").lower() not in ("", "localhost"):
            raise UsageError(f"{before}{text}: a file:// URI is a path of this machine; write file:///path")
        # Names may not be UTF-8; Python represents such bytes as surrogates.
        text = os.fsdecode(unquote_to_bytes(os.fsencode(match["path"])))
        argument = Path(text)
    if not text or "\0" in text:
        raise UsageError(f"{before}{text!r} is not a path; name a file or folder of this machine")
    if scheme := _SCHEME.match(text):
        raise UsageError(
            f"{before}{text} is a URI ({scheme[1]}://), which is not supported here; write a path of this machine, "
            f"plain or as file:///path (IN, OUT and --reuse may also be in {', '.join(SCHEMES)})"
        )
    try:
        return user_path(argument)
    except UsageError as error:
        raise UsageError(f"{before}{error}") from error


def is_hidden(name: str) -> bool:
    """Whether a file or folder of this name is skipped."""
    return name.startswith(("_", "."))


def named(values: Sequence[object]) -> str:
    """The first few of some paths or other values, and the number of the others."""
    shown = ", ".join(str(value).encode("utf-8", "replace").decode() for value in values[:_MOST_NAMED])
    return f"{shown} and {len(values) - _MOST_NAMED} more" if len(values) > _MOST_NAMED else shown
