"""A prefix of an object store (S3, Google Cloud Storage, Azure) with the methods of a local one, through ``obstore``.
Outputs are written unconditionally, since the same plan gives the same bytes; only the lock is on a condition."""

from __future__ import annotations

import io
import logging
import os
import re
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from ..errors import MissingDependencyError, OutputError, without_user_info
from ..system.waiting import call_interruptibly, without_hang_limit
from .local_files import ABSENT, FileInfo, crash_point, discard, output_errors
from .location import StoreUri

if TYPE_CHECKING:
    from types import ModuleType

SMALL_S, BULK_S = 60, 1800
"""Longest time of a request for a small object, and of an upload or a read, in seconds."""
LARGEST_PUT = 256 << 20
"""Largest file in bytes that is sent by one request, which holds it in memory; larger ones are sent in parts."""
_PART_BYTES, _PARTS_AT_ONCE = 16 << 20, 8
_ATTEMPTS = 6
_READ_AHEAD = 8 << 20
"""Least number of bytes of a request when an object is read as a file; the rest is kept for the next read."""
_SECRET = re.compile(r"KEY|SECRET|TOKEN|PASSWORD|SAS|CREDENTIAL", re.IGNORECASE)
_PUBLIC = re.compile(r"_FILE$|_URI$|_URL|REGION")
_ENDPOINTS = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT", "AZURE_STORAGE_ENDPOINT")
_DENIED = re.compile(r"status code: 40[13]\b")
_LOG = logging.getLogger("scorer")
"""Without a handler, Python writes warnings to stderr."""


class StoreError(OutputError):
    """A store that cannot be reached, or refuses a request."""


class ObjectStore:
    """See :class:`.LocalStore`. Names are keys below the prefix. Threads may share it."""

    is_remote = True

    def __init__(self, location: StoreUri, *, patient: bool = True) -> None:
        self.location = location
        self._obstore = client()
        self._small = connect(location, patient=patient, limit_s=SMALL_S if patient else SMALL_S // 3)
        self._bulk = connect(location, patient=patient, limit_s=BULK_S)

    def uri(self, name: str) -> str:
        return str(self.location.below(name))

    def list(self, prefix: str = "") -> dict[str, FileInfo]:
        skip, key, files = len(self.location.key("x")) - 1, self._key(prefix), {}
        pages = iter(self._obstore.list(self._small, prefix=key or None, chunk_size=1000))
        with suppress(FileNotFoundError):
            while (page := self._request("list", key, lambda: next(pages, None))) is not None:
                files.update({str(meta["path"])[skip:]: _info(meta) for meta in page})
        if not files and prefix:
            with suppress(FileNotFoundError):
                files[prefix] = self._stat(key)
        return dict(sorted(files.items()))

    def read(self, name: str) -> bytes | None:
        stored = self._get(self._key(name))
        return None if stored is None else stored[0]

    def write(self, name: str, content: bytes, *, expect: str | None = None) -> str | None:
        crash_point(name, "synced")
        version = self._put(self._small, self._key(name), content, expect)
        for moment in ("renamed", "published") if version is not None else ():
            crash_point(name, moment)
        return version

    def publish(self, temporary: Path, name: str) -> FileInfo:
        with output_errors("read", temporary):
            size = temporary.stat().st_size
        crash_point("output", "synced")
        parts = {"use_multipart": size > LARGEST_PUT, "chunk_size": _PART_BYTES, "max_concurrency": _PARTS_AT_ONCE}
        with without_hang_limit():
            version = self._put(self._bulk, self._key(name), temporary, None, **parts)
        discard(temporary)
        crash_point("output", "renamed")
        crash_point("output", "published")
        return FileInfo(size, version or "", time.time())

    def delete(self, names: Iterable[str]) -> None:
        keys = [self._key(name) for name in names]
        for start in range(0, len(keys), 1000):
            some = keys[start : start + 1000]
            delete = partial(self._obstore.delete, self._small, some if len(some) > 1 else some[0])
            with suppress(FileNotFoundError):
                self._request("delete", some[0], delete)

    def open(self, name: str, version: str | None = None) -> io.BufferedReader:
        key = self._key(name)
        info = self._stat(key)
        if version is not None and info.version != version:
            raise StoreError(f"{self.uri(name)} was replaced while it was read; run again when it is complete")
        return io.BufferedReader(VersionedFile(partial(self._read_range, key, info.version), info), _READ_AHEAD)

    def _read_range(self, key: str, version: str, start: int, end: int) -> bytes:
        """The bytes from ``start`` to before ``end`` of one version of an object; ``OSError`` where it is replaced."""
        get = partial(self._obstore.get, self._bulk, key, options={"range": (start, end), "if_match": version})
        try:
            content: bytes = self._request("read", key, lambda: bytes(get().bytes()))
        except FileNotFoundError as error:
            raise OSError(f"{self.location.root}/{key} was removed while it was read") from error
        except StoreError as error:
            raise OSError(str(error)) from error
        if len(content) != end - start:
            raise OSError(f"{self.location.root}/{key}: the store sent {len(content)} bytes of {end - start}")
        return content

    def _put(self, bucket: Any, key: str, content: bytes | Path, expect: str | None, **options: Any) -> str | None:
        """Write an object over any version, or over the expected one.

        The acknowledgement of a conditional write can get lost, and the client then repeats a request that has
        succeeded. So after a refusal or an error the object is read: one with the same content was written by this
        call, and where it is as expected (409, another write is under way), the write is repeated.

        Returns:
            The new version; ``None`` if the object has another version than the expected one.
        """
        errors = self._obstore.exceptions
        refusals: tuple[type[Exception], ...] = (errors.AlreadyExistsError,)
        if expect is not None:  # after the last two the request may have arrived nevertheless
            refusals += (errors.PreconditionError, FileNotFoundError, errors.GenericError, TimeoutError)

        def put() -> str:
            mode = "overwrite" if expect is None else self._condition(key, expect)
            return _version(self._obstore.put(bucket, key, content, mode=mode, **{"use_multipart": False, **options}))

        last: Exception | None = None
        for attempt in range(_ATTEMPTS):
            try:
                return str(self._request("write", key, put, refusals))
            except refusals as refused:
                last = refused
            if expect is not None:
                current, version = self._get(key) or (None, ABSENT)
                if current == content:
                    return version
                if version != expect:
                    return None
            time.sleep(0.05 * 2**attempt)
        raise self._error("write", key, last) from last

    def _condition(self, key: str, expect: str) -> str | dict[str, str]:
        if expect == ABSENT:
            return "create"
        if self.location.scheme != "gs":
            return {"e_tag": expect}
        meta = self._obstore.head(self._small, key)  # Google's condition is the generation, which listings lack
        if _version(meta) != expect:
            raise FileNotFoundError
        return {"e_tag": expect, "version": str(meta["version"])}

    def _stat(self, key: str) -> FileInfo:
        try:
            return _info(self._request("look up", key, lambda: self._obstore.head(self._small, key)))
        except FileNotFoundError as error:
            raise FileNotFoundError(f"{self.location.root}/{key} does not exist") from error

    def _get(self, key: str) -> tuple[bytes, str] | None:
        """Content and version of an object; ``None`` if there is none."""

        def get() -> tuple[bytes, str]:
            response = self._obstore.get(self._small, key)
            return bytes(response.bytes()), _version(response.meta)

        with suppress(FileNotFoundError):
            stored: tuple[bytes, str] = self._request("read", key, get)
            return stored
        return None

    def _request(
        self,
        action: str,
        key: str,
        request: Callable[[], Any],
        passed: tuple[type[Exception], ...] = (FileNotFoundError,),
    ) -> Any:
        """Make a request; a signal ends the wait.

        Args:
            action: a verb, as ``write``, for messages.
            key: key of the object.
            request: makes the request.
            passed: classes of errors for the caller to handle; by default that the object does not exist.

        Raises:
            StoreError: any other error.
        """
        late = partial(_LOG.warning, "%s does not answer; waiting", without_user_info(self.location.root))
        try:
            return call_interruptibly(request, late)
        except passed:
            raise
        except Exception as error:
            raise self._error(action, key, error) from error

    def _key(self, name: str) -> str:
        return self.location.key(name) if name else self.location.path

    def _error(self, action: str, key: str, error: BaseException | None) -> StoreError:
        errors, uri = self._obstore.exceptions, f"{self.location.root}/{key}"
        if isinstance(error, errors.PreconditionError):
            return StoreError(f"{uri} was replaced while it was read; run again")
        hint = ""
        if isinstance(error, errors.PermissionDeniedError | errors.UnauthenticatedError) or _DENIED.search(str(error)):
            hint = "; check the credentials and the policy of the bucket (docs/stores.md)"
        return StoreError(f"cannot {action} {uri}: {error_text(error)}{hint}")


class VersionedFile(io.RawIOBase):
    """One version of an object as a file.

    Args:
        read_range: gives the bytes from a start to before an end.
        info: size and version of the object.
    """

    def __init__(self, read_range: Callable[[int, int], bytes], info: FileInfo) -> None:
        self._read_range, self.info, self._at = read_range, info, 0

    def readable(self) -> bool:
        return True

    seekable = readable

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self.info.size}[whence]
        self._at = max(0, base + offset)
        return self._at

    def readinto(self, buffer: Any) -> int:
        start, self._at = self._at, max(self._at, min(self._at + len(buffer), self.info.size))
        if start < self._at:
            buffer[: self._at - start] = self._read_range(start, self._at)
        return self._at - start


def client() -> ModuleType:
    """The package ``obstore``; a :class:`.MissingDependencyError` where it is not installed."""
    try:
        import obstore
    except ImportError as error:
        raise MissingDependencyError(
            "object stores need the package obstore; install it with: pip install 'd2t-scorer[objects]'"
        ) from error
    return cast("ModuleType", obstore)


def connect(location: StoreUri, *, patient: bool = True, limit_s: int = SMALL_S) -> Any:
    """A client of the bucket of a URI, with the credentials, endpoint and region of the environment.

    Args:
        location: location in the bucket.
        patient: repeat a request for four minutes while the store does not answer, instead of ten seconds.
        limit_s: longest time of a request in seconds.
    """
    client()
    from obstore.store import from_url

    retries = {
        "max_retries": 10_000 if patient else 4,  # the time decides: pauses are random, and many are short
        "retry_timeout": timedelta(seconds=240 if patient else 10),
        "backoff": {"init_backoff": timedelta(seconds=0.1), "max_backoff": timedelta(seconds=5), "base": 2},
    }
    options: dict[str, Any] = {"timeout": f"{limit_s}s", "connect_timeout": "10s"}
    if any(os.environ.get(name, "").lower().startswith("http://") for name in _ENDPOINTS):
        options["allow_http"] = True
    try:
        return from_url(location.root, client_options=options, retry_config=retries)
    except Exception as error:  # depending on the store, several classes
        raise StoreError(
            f"{location.root}: the store cannot be opened: {error_text(error)}; see docs/stores.md"
        ) from error


def error_text(error: BaseException | None) -> str:
    """An error of the client on one line of bounded length, without any credential of the environment."""
    text = str(error).split("\n\nDebug source")[0]
    for name, value in os.environ.items():
        if len(value) >= 8 and _SECRET.search(name) and not _PUBLIC.search(name):
            text = text.replace(value, "***")
    text = " ".join(text.split()) or type(error).__name__
    return text if len(text) <= 300 else text[:297] + "..."


def _version(meta: Any) -> str:
    return str(meta.get("e_tag") or meta.get("version") or "")


def _info(meta: Any) -> FileInfo:
    return FileInfo(int(meta["size"]), _version(meta), meta["last_modified"].timestamp())
