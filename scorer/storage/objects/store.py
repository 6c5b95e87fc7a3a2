"""One bucket of an object store: objects are read with their version, and written under a condition.

Every write names what it expects: that there is no object, or that one version of it is there. Of two writers, one
succeeds. An acknowledgement can get lost: the client then repeats a request that has succeeded, and the store refuses
the repetition. So each write has a token of its own, which is stored with the object; after a refusal or an error, the
object is looked at, and one with the same token was written by this call. A refusal for concurrency (409) looks the
same as one for a condition (412); where the object turns out to be as expected, the write is repeated.
"""

from __future__ import annotations

import logging
import os
import re
import secrets
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from ...errors import MissingDependencyError, OutputError, without_user_info
from ...system.progress import limited
from ...system.waiting import interruptible
from .uri import StoreUri

if TYPE_CHECKING:
    from types import ModuleType

TOKEN, SHA256 = "d2t-token", "d2t-sha256"
"""Names of the metadata of an object: who wrote it, and the SHA-256 of its content where that is known."""
LARGEST_PUT = 5 << 30
"""Largest object in bytes that one conditional request can write, in S3 and those that follow it."""
SMALL_BYTES = 1 << 20
SMALL_S, BULK_S = 60, 1800
"""Longest time of a request that moves at most :data:`SMALL_BYTES`, or a plan, and of any other, in seconds."""
_ATTEMPTS = 6
_SECRET = re.compile(r"KEY|SECRET|TOKEN|PASSWORD|SAS|CREDENTIAL", re.IGNORECASE)
_PUBLIC = re.compile(r"_FILE$|_URI$|_URL|REGION")
_DENIED = re.compile(r"status code: 40[13]\b")
_INSECURE = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT", "AZURE_STORAGE_ENDPOINT")


_LOG = logging.getLogger("scorer")
"""Without a handler, Python writes warnings to stderr."""


class StoreError(OutputError):
    """The store cannot be reached, or refuses a request."""


@dataclass(frozen=True)
class Stored:
    """An object. ``key``: its full key. ``size`` in bytes. ``e_tag``: its version. ``modified``: seconds since 1970 on
    the store's clock."""

    key: str
    size: int
    e_tag: str
    modified: float


@dataclass(frozen=True)
class Seen:
    """The version of an object with its metadata."""

    e_tag: str
    token: str
    sha256: str


def client() -> ModuleType:
    """The package ``obstore``.

    Raises:
        MissingDependencyError: it is not installed.
    """
    try:
        import obstore
    except ImportError as error:
        raise MissingDependencyError(
            "object stores need the package obstore; install it with: pip install 'd2t-scorer[objects]'"
        ) from error
    module: ModuleType = obstore
    return module


def connect(uri: StoreUri, *, patient: bool = True, limit_s: int = 60) -> Any:
    """A client of the bucket of a URI; credentials, endpoint and region are those of the environment.

    Args:
        patient: repeat requests for four minutes while the store does not answer, instead of a few seconds.
        limit_s: longest time of a request.

    Raises:
        MissingDependencyError: ``obstore`` is not installed. StoreError: the configuration is wrong.
    """
    client()
    from obstore.store import from_url

    insecure = any(os.environ.get(name, "").lower().startswith("http://") for name in _INSECURE)
    retries = {
        "max_retries": 10_000 if patient else 4,  # the time decides: pauses are random, and many are short
        "retry_timeout": timedelta(seconds=240 if patient else 10),
        "backoff": {
            "init_backoff": timedelta(milliseconds=100),
            "max_backoff": timedelta(seconds=5),
            "base": 2,
        },
    }
    options: dict[str, Any] = {"timeout": f"{limit_s}s", "connect_timeout": "10s"}
    if insecure:
        options["allow_http"] = True
    try:
        return from_url(uri.root, client_options=options, retry_config=retries)
    except Exception as error:  # depending on the store, several classes
        raise StoreError(f"{uri.root}: the store cannot be opened: {words(error)}; see docs/stores.md") from error


class ObjectStore:
    """Objects of one bucket. Threads may share it.

    Args:
        uri: for messages.
        bucket: a store of ``obstore``, for requests that move little.
        bulk: the same for all others.
    """

    def __init__(self, uri: StoreUri, bucket: Any, bulk: Any = None) -> None:
        self.uri = uri
        self._ob = client()
        self._bucket = bucket
        self._bulk = bulk if bulk is not None else bucket

    @classmethod
    def open(cls, uri: StoreUri, *, patient: bool = True) -> ObjectStore:
        """See :func:`connect`."""
        small = connect(uri, patient=patient, limit_s=SMALL_S if patient else SMALL_S // 3)
        return cls(uri, small, connect(uri, patient=patient, limit_s=BULK_S))

    def put_new(self, key: str, content: bytes, *, sha256: str = "") -> str | None:
        """Write an object where there is none; its version, or ``None`` if there is one.

        Raises:
            StoreError: it cannot be written.
        """
        return self._put(key, content, "create", sha256)

    def put_over(self, key: str, content: bytes, e_tag: str, *, sha256: str = "") -> str | None:
        """Replace one version of an object; the new version, or ``None`` if that version is not there any more.

        Raises:
            StoreError: it cannot be written.
        """
        version: dict[str, str] = {"e_tag": e_tag}
        if self.uri.scheme == "gs":  # whose condition is the generation, which listings do not show
            found = self._ask("look at", key, lambda: self._ob.head(self._bucket, key))
            if found is None or _version(found) != e_tag:
                return None
            version["version"] = str(found.get("version") or "")
        return self._put(key, content, version, sha256)

    def publish(self, key: str, content: bytes, *, sha256: str = "") -> str:
        """Write an object where there is none, or else over the version that is there; returns the new version. An
        object with the same SHA-256 is not replaced, but counts as written.

        Raises:
            StoreError: it cannot be written.
        """
        written = self.put_new(key, content, sha256=sha256)
        for _ in range(_ATTEMPTS):
            if written is not None:
                return written
            there = self.look(key)
            if there is not None and sha256 and there.sha256 == sha256:
                return there.e_tag
            if there is None:
                written = self.put_new(key, content, sha256=sha256)
            else:
                written = self.put_over(key, content, there.e_tag, sha256=sha256)
        raise StoreError(f"cannot write {self._name(key)}: other processes replace it again and again; run again")

    def _put(self, key: str, content: bytes, mode: Any, sha256: str) -> str | None:
        if len(content) > LARGEST_PUT:
            raise StoreError(
                f"cannot write {self._name(key)}: it has {len(content):,} bytes, and one conditional request can write "
                f"{LARGEST_PUT:,}; write the input in several smaller files"
            )
        errors, token = self._ob.exceptions, secrets.token_hex(8)
        attributes = {TOKEN: token, **({SHA256: sha256} if sha256 else {})}
        bucket = self._bucket if len(content) <= SMALL_BYTES else self._bulk
        last: BaseException | None = None
        for attempt in range(_ATTEMPTS):
            try:
                put = partial(self._ob.put, bucket, key, content, attributes=attributes, mode=mode, use_multipart=False)
                with limited():
                    return _version(self._await(put))
            except (errors.AlreadyExistsError, errors.PreconditionError, FileNotFoundError) as refused:
                last = refused
            except (errors.GenericError, TimeoutError) as failed:  # the request may have arrived all the same
                last = failed
            except Exception as error:
                raise self._error("write", key, error) from error
            there = self.look(key)
            if there is not None and there.token == token:
                return there.e_tag
            expected = None if mode == "create" else mode["e_tag"]
            if (there.e_tag if there is not None else None) != expected:
                return None
            time.sleep(0.05 * 2**attempt)
        assert last is not None
        raise self._error("write", key, last) from last

    def look(self, key: str) -> Seen | None:
        """The version and the metadata of an object; ``None`` if there is none.

        Raises:
            StoreError: it cannot be read.
        """
        # Not a first byte: an empty object has none.
        found = self._ask("read", key, lambda: self._ob.get(self._bucket, key, options={"head": True}))
        if found is None:
            return None
        attributes = {str(name).lower(): str(value) for name, value in dict(found.attributes).items()}
        return Seen(_version(found.meta), attributes.get(TOKEN, ""), attributes.get(SHA256, ""))

    def read(self, key: str, e_tag: str | None = None) -> tuple[bytes, str] | None:
        """The content and the version of an object; ``None`` if there is none.

        Args:
            e_tag: the version that it must have.

        Raises:
            StoreError: it cannot be read, or has another version.
        """
        options = {"if_match": e_tag} if e_tag else {}

        def get() -> tuple[bytes, str]:
            found = self._ob.get(self._bucket, key, options=options)
            return bytes(found.bytes()), _version(found.meta)

        return self._ask("read", key, get)

    def read_range(self, key: str, start: int, end: int, e_tag: str) -> bytes:
        """The bytes from ``start`` to before ``end`` of one version of an object.

        Raises:
            StoreError: it cannot be read, or has another version.
        """
        options = {"range": (start, end), "if_match": e_tag}
        found = self._ask("read", key, lambda: bytes(self._ob.get(self._bulk, key, options=options).bytes()))
        if found is None:
            raise StoreError(f"{self._name(key)} was removed while it was read")
        return found

    def head(self, key: str) -> Stored | None:
        """What is known of an object; ``None`` if there is none.

        Raises:
            StoreError: the store refuses.
        """
        found = self._ask("look at", key, lambda: self._ob.head(self._bucket, key))
        return None if found is None else _stored(found)

    def below(self, prefix: str) -> Iterator[Stored]:
        """All objects whose key begins with the parts of a prefix, in the order of the store.

        Raises:
            StoreError: the store refuses.
        """
        try:
            pages = iter(self._ob.list(self._bucket, prefix=prefix or None, chunk_size=1000))
            while (found := self._await(lambda: next(pages, None))) is not None:
                yield from map(_stored, found)
        except FileNotFoundError:
            return
        except Exception as error:
            raise self._error("list", prefix, error) from error

    def entries(self, prefix: str) -> tuple[list[str], list[str]]:
        """The keys of the objects directly below a prefix, and the prefixes below it.

        Raises:
            StoreError: the store refuses.
        """
        found = self._ask("list", prefix, lambda: self._ob.list_with_delimiter(self._bucket, prefix=prefix or None))
        if found is None:
            return [], []
        return [str(one["path"]) for one in found["objects"]], [str(one) for one in found["common_prefixes"]]

    def delete(self, keys: Iterable[str]) -> None:
        """Delete objects; those that are not there are passed over.

        Raises:
            StoreError: the store refuses.
        """
        names = list(keys)
        for start in range(0, len(names), 1000):
            some = names[start : start + 1000]
            self._ask("delete", some[0], partial(self._ob.delete, self._bucket, some if len(some) > 1 else some[0]))

    def _ask(self, what: str, key: str, question: Callable[[], Any]) -> Any:
        try:
            return self._await(question)
        except FileNotFoundError:
            return None
        except self._ob.exceptions.PreconditionError as error:
            raise StoreError(f"{self._name(key)} was replaced while it was read; run again") from error
        except Exception as error:
            raise self._error(what, key, error) from error

    def _await(self, call: Callable[[], Any]) -> Any:
        return interruptible(call, self._late)

    def _late(self) -> None:
        _LOG.warning("%s does not answer; waiting", without_user_info(self.uri.root))

    def _name(self, key: str) -> str:
        return f"{self.uri.root}/{key}"

    def _error(self, what: str, key: str, error: BaseException) -> StoreError:
        refused = (self._ob.exceptions.PermissionDeniedError, self._ob.exceptions.UnauthenticatedError)
        hint = ""
        if isinstance(error, refused) or _DENIED.search(str(error)):
            hint = "; check the credentials and the policy of the bucket (docs/stores.md)"
        return StoreError(f"cannot {what} {self._name(key)}: {words(error)}{hint}")


def words(error: BaseException) -> str:
    """An error of the client on one line of bounded length, without any credential of the environment."""
    text = str(error).split("\n\nDebug source")[0]
    for name, value in os.environ.items():
        if len(value) >= 8 and _SECRET.search(name) and not _PUBLIC.search(name):
            text = text.replace(value, "***")
    text = " ".join(text.split()) or type(error).__name__
    return text if len(text) <= 300 else text[:297] + "..."


def _version(found: Any) -> str:
    return str(found.get("e_tag") or found.get("version") or "")


def _stored(found: Any) -> Stored:
    return Stored(str(found["path"]), int(found["size"]), _version(found), found["last_modified"].timestamp())
