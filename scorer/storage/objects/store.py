"""A prefix in an object store: objects are read with their version, and every write is conditional.

Every write names what it expects: that there is no object, or that one version of it is there. Of two writers, one
succeeds. An acknowledgement can get lost: the client then repeats a request that has succeeded, and the store refuses
the repetition. So each write has a token of its own, which is stored with the object; after a refusal or an error, the
object is looked at, and one with the same token was written by this call. A refusal for concurrency (409) looks the
same as one for a condition (412); where the object turns out to be as expected, the write is repeated.
"""

from __future__ import annotations

import io
import logging
import os
import re
import secrets
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, cast

from ...errors import without_user_info
from ...system.progress import limited
from ...system.waiting import interruptible
from ..durable import crash_point, discard, output_errors
from ..location import StoreUri
from ..store_old import ABSENT, ANY, Entry
from .client import StoreError, client, connect, words

TOKEN, SHA256 = "d2t-token", "d2t-sha256"
"""Names of the metadata of an object: who wrote it, and the SHA-256 of its content where that is known."""
LARGEST_PUT = 5 << 30
"""Largest object in bytes that one conditional request can write, in S3 and those that follow it."""
SMALL_BYTES = 1 << 20
SMALL_S, BULK_S = 60, 1800
"""Longest time of a request that moves at most :data:`SMALL_BYTES`, or a plan, and of any other, in seconds."""
PROBE = "_probe-"
"""Begin of the names of the objects with which :meth:`BucketStore.require_conditions` tests a store."""
_ATTEMPTS = 6
_AHEAD = 8 << 20
"""Bytes of a request at least when an object is read as a file; the rest is kept for the next read."""
_DENIED = re.compile(r"status code: 40[13]\b")
_LOG = logging.getLogger("scorer")
"""Without a handler, Python writes warnings to stderr."""


@dataclass(frozen=True)
class _Seen:
    """An object with its metadata. ``generation``: a second version, where conditions are on that."""

    entry: Entry
    generation: str
    token: str
    sha256: str


class BucketStore:
    """See :class:`scorer.storage.store.Store`. Names are keys below the prefix. Threads may share it.

    Args:
        patient: repeat requests for minutes while the store does not answer, as a run does; otherwise for seconds.

    Raises:
        MissingDependencyError: ``obstore`` is not installed. StoreError: the configuration is wrong.
    """

    is_remote = True

    def __init__(self, place: StoreUri, *, patient: bool = True) -> None:
        self.place = place
        self._ob = client()
        self._small = connect(place, patient=patient, limit_s=SMALL_S if patient else SMALL_S // 3)
        self._bulk = connect(place, patient=patient, limit_s=BULK_S)

    def list(self, prefix: str = "") -> dict[str, Entry]:
        skip, key, found = len(self._key("x")) - 1, self._key(prefix), {}
        try:
            pages = iter(self._ob.list(self._small, prefix=key or None, chunk_size=1000))
            while (page := self._await(lambda: next(pages, None))) is not None:
                found.update({str(one["path"])[skip:]: _entry(one) for one in page})
        except FileNotFoundError:
            pass
        except Exception as error:
            raise self._error("list", key, error) from error
        return dict(sorted(found.items()))

    def list_top(self) -> Sequence[str]:
        return [name for name, _ in self.children()]

    def children(self, name: str = "") -> Sequence[tuple[str, bool]]:
        """Names directly below a prefix, sorted, and whether each is itself a prefix."""
        key = self._key(name)
        found = self._ask("list", key, lambda: self._ob.list_with_delimiter(self._small, prefix=key or None))
        if found is None:
            return []
        names = [(str(one["path"]), False) for one in found["objects"]]
        names += [(str(one).rstrip("/"), True) for one in found["common_prefixes"]]
        return sorted((last, is_prefix) for one, is_prefix in names if (last := one.rpartition("/")[2]))

    def look(self, name: str) -> Entry | None:
        found = self._seen(self._key(name))
        return None if found is None else found.entry

    def read(self, name: str) -> tuple[bytes, str] | None:
        key = self._key(name)

        def get() -> tuple[bytes, str]:
            found = self._ob.get(self._small, key)
            return bytes(found.bytes()), _version(found.meta)

        found: tuple[bytes, str] | None = self._ask("read", key, get)
        return found

    def read_range(self, name: str, start: int, end: int, version: str) -> bytes:
        """The bytes from ``start`` to before ``end`` of one version of an object.

        Raises:
            StoreError: it cannot be read, or has another version.
        """
        key, options = self._key(name), {"range": (start, end), "if_match": version}
        found = self._ask("read", key, lambda: bytes(self._ob.get(self._bulk, key, options=options).bytes()))
        if found is None:
            raise StoreError(f"{self._named(key)} was removed while it was read")
        return bytes(found)

    def open(self, name: str, entry: Entry) -> BinaryIO:
        return cast("BinaryIO", VersionedFile(self, name, entry))

    def put(self, name: str, data: bytes, expect: str = ANY, *, label: str = "file") -> str | None:
        crash_point(f"{label}.synced")
        version = self._put(name, data, expect)
        if version is not None:
            crash_point(f"{label}.renamed")
            crash_point(f"{label}.published")
        return version

    def upload(self, name: str, path: Path, sha256: str, expect: str = ANY) -> str | None:
        """See :class:`scorer.storage.store.Store`. An object with the same SHA-256 is not replaced: another worker
        with the same plan wrote it."""
        with output_errors("read", path):
            content = path.read_bytes()
        version = self._put(name, content, expect, sha256)
        if version is not None:
            discard(path)
            crash_point("output.renamed")
            crash_point("output.published")
        return version

    def delete(self, names: Iterable[str]) -> None:
        keys = [self._key(name) for name in names]
        for start in range(0, len(keys), 1000):
            some = keys[start : start + 1000]
            self._ask("delete", some[0], partial(self._ob.delete, self._small, some if len(some) > 1 else some[0]))

    def uri(self, name: str) -> str:
        return str(self.place.below(name))

    def require_conditions(self) -> None:
        """Make sure that the store refuses writes whose condition does not hold, by writing a small object.

        Raises:
            StoreError: it writes them all the same, or cannot be reached or written to.
        """
        name = f"{PROBE}{secrets.token_hex(8)}"
        first = second = again = stale = None
        try:
            first = self._put(name, b"first", ABSENT)
            again = self._put(name, b"again", ABSENT)
            second = self._put(name, b"second", first) if first is not None else None
            stale = self._put(name, b"stale", first) if first is not None else None
        finally:
            with suppress(StoreError):
                self.delete([name])
        if first is None or second is None or again is not None or stale is not None:
            raise StoreError(
                f"{self.place.root}: the store does not support conditional writes (If-None-Match and If-Match), "
                "without which two runs could overwrite each other's outputs; use a store that has them "
                "(docs/stores.md), or a local --out"
            )

    def _put(self, name: str, content: bytes, expect: str, sha256: str = "") -> str | None:
        """Write an object over what is expected; the new version, or ``None`` if something else is there.

        Raises:
            StoreError: it cannot be written.
        """
        key = self._key(name)
        if len(content) > LARGEST_PUT:
            raise StoreError(
                f"cannot write {self._named(key)}: it has {len(content):,} bytes, and one conditional request can "
                f"write {LARGEST_PUT:,}; write the input in several smaller files"
            )
        errors, token = self._ob.exceptions, secrets.token_hex(8)
        attributes = {TOKEN: token, **({SHA256: sha256} if sha256 else {})}
        bucket = self._small if len(content) <= SMALL_BYTES else self._bulk
        expected = ABSENT if expect == ANY else expect
        last: BaseException | None = None
        for attempt in range(_ATTEMPTS):
            try:
                mode = self._condition(key, expected)
                put = partial(self._ob.put, bucket, key, content, attributes=attributes, mode=mode, use_multipart=False)
                with limited():
                    return _version(self._await(put))
            except (errors.AlreadyExistsError, errors.PreconditionError, FileNotFoundError) as refused:
                last = refused
            except (errors.GenericError, TimeoutError) as failed:  # the request may have arrived all the same
                last = failed
            except Exception as error:
                raise self._error("write", key, error) from error
            there = self._seen(key)
            if there is not None and (there.token == token or (sha256 and there.sha256 == sha256)):
                return there.entry.version
            now = there.entry.version if there is not None else ABSENT
            if now == expected:
                time.sleep(0.05 * 2**attempt)
            elif expect != ANY:
                return None
            expected = now
        assert last is not None
        raise self._error("write", key, last) from last

    def _condition(self, key: str, expected: str) -> Any:
        """The condition of a write as ``obstore`` takes it."""
        if expected == ABSENT:
            return "create"
        if self.place.scheme != "gs":
            return {"e_tag": expected}
        # Whose condition is the generation, which listings do not show.
        found = self._seen(key)
        if found is None or found.entry.version != expected:
            raise FileNotFoundError
        return {"e_tag": expected, "version": found.generation}

    def _seen(self, key: str) -> _Seen | None:
        # Not a first byte: an empty object has none.
        found = self._ask("look at", key, lambda: self._ob.get(self._small, key, options={"head": True}))
        if found is None:
            return None
        attributes = {str(name).lower(): str(value) for name, value in dict(found.attributes).items()}
        generation = str(found.meta.get("version") or "")
        return _Seen(_entry(found.meta), generation, attributes.get(TOKEN, ""), attributes.get(SHA256, ""))

    def _ask(self, what: str, key: str, question: Callable[[], Any]) -> Any:
        try:
            return self._await(question)
        except FileNotFoundError:
            return None
        except self._ob.exceptions.PreconditionError as error:
            raise StoreError(f"{self._named(key)} was replaced while it was read; run again") from error
        except Exception as error:
            raise self._error(what, key, error) from error

    def _await(self, call: Callable[[], Any]) -> Any:
        return interruptible(call, self._late)

    def _late(self) -> None:
        _LOG.warning("%s does not answer; waiting", without_user_info(self.place.root))

    def _key(self, name: str) -> str:
        return self.place.key(name) if name else self.place.path

    def _named(self, key: str) -> str:
        return f"{self.place.root}/{key}"

    def _error(self, what: str, key: str, error: BaseException) -> StoreError:
        refused = (self._ob.exceptions.PermissionDeniedError, self._ob.exceptions.UnauthenticatedError)
        hint = ""
        if isinstance(error, refused) or _DENIED.search(str(error)):
            hint = "; check the credentials and the policy of the bucket (docs/stores.md)"
        return StoreError(f"cannot {what} {self._named(key)}: {words(error)}{hint}")


class VersionedFile(io.RawIOBase):
    """One version of an object as a file: if the object is replaced while it is read, reading fails."""

    def __init__(self, store: BucketStore, name: str, entry: Entry) -> None:
        super().__init__()
        self._store, self._name, self._entry = store, name, entry
        self._at = self._start = 0
        self._ahead = b""

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._entry.size}[whence]
        self._at = max(0, base + offset)
        return self._at

    def read(self, size: int | None = -1) -> bytes:
        """Bytes from the present place on.

        Raises:
            OSError: the store refuses, or the object was replaced.
        """
        left = max(0, self._entry.size - self._at)
        wanted = left if size is None or size < 0 else min(size, left)
        end = self._at + wanted
        if wanted and not (self._start <= self._at and end <= self._start + len(self._ahead)):
            last = min(self._entry.size, max(end, self._at + _AHEAD))
            try:
                self._ahead = self._store.read_range(self._name, self._at, last, self._entry.version)
            except StoreError as error:
                raise OSError(str(error)) from error
            self._start = self._at
            if len(self._ahead) != last - self._at:
                raise OSError(f"the store sent {len(self._ahead)} bytes of {last - self._at}")
        offset = self._at - self._start
        self._at = end
        return self._ahead[offset : offset + wanted]

    def readall(self) -> bytes:
        return self.read(-1)


def _version(found: Any) -> str:
    return str(found.get("e_tag") or found.get("version") or "")


def _entry(found: Any) -> Entry:
    return Entry(int(found["size"]), _version(found), found["last_modified"].timestamp())
