"""Reading shards: Arrow tables out of Parquet, without this process ever opening the file."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from ...errors import ShardError
from ...system.closing import Closing
from ...system.json_fields import Fields
from ..records import Identity
from .child import Child, EndedError, StalledError

MEMORY_BYTES = 8 << 30
MINIMUM_MEMORY = 2 << 30  # with less address space, Arrow hangs or aborts
TIMEOUT_S = 20.0
_ATTEMPTS = 2


@dataclass(frozen=True)
class ShardInfo:
    """What a shard is: Arrow schema, rows and row groups as its footer says, and by what it is recognised."""

    schema: pa.Schema
    rows: int
    row_groups: int
    identity: Identity


class ShardReader(Closing):
    """Reads shards in a child process of bounded memory, which is replaced when it crashes or stalls.

    A shard is tried twice: a process can also be killed for what another did. Used by one thread at a time;
    :meth:`close` may be called by another, and ends what the first is waiting for.

    Args:
        timeout_s: how long the child may make no progress (no batch decoded, no byte sent).
        memory_bytes: address space of the child; never less than 2 GiB, never more than the caller's own hard limit.
    """

    def __init__(self, *, timeout_s: float = TIMEOUT_S, memory_bytes: int = MEMORY_BYTES) -> None:
        self._timeout_s = timeout_s
        self._memory_bytes = max(memory_bytes, MINIMUM_MEMORY)
        self._child: Child | None = None
        self._talk: _Conversation | None = None  # what the child is in the middle of
        self._ahead: dict[str, Any] | None = None  # what it was asked besides, whose answer is still to come
        self._closed = False
        self._guard = threading.Lock()  # so that no child is started once this is closed
        self._identities: dict[str, Identity] = {}

    def close(self) -> None:
        """End the child process. Iterations still under way raise :class:`ShardError`."""
        with self._guard:
            self._closed = True
        self._drop()

    def probe(self, uri: str, then: str | None = None) -> ShardInfo:
        """Open a shard's footer.

        Args:
            then: the shard that is probed next, if that is known; the child opens it while the caller works.

        Raises:
            ShardError: ``unreadable``, ``crashed`` or ``timeout``.
        """
        ahead = {"op": "probe", "uri": then} if then is not None else None
        header, payload = self._asking(uri, _Conversation({"op": "probe", "uri": uri}, ahead=ahead))
        self._talk = None
        with _arrow_errors(uri):
            schema = pa.ipc.read_schema(payload)
        found = Identity.from_json(Fields.of(header["identity"], uri))
        if found is None:
            raise ShardError(f"{uri}: the reader found no identity")
        info = ShardInfo(schema, header["rows"], header["row_groups"], found)
        self._identities[uri] = info.identity
        return info

    def windows(
        self,
        uri: str,
        *,
        max_rows: int,
        max_bytes: int,
        limit: int | None = None,
        columns: Sequence[str] | None = None,
        identity: Identity | None = None,
    ) -> Iterator[pa.Table]:
        """The rows of a shard in order, cut into windows; see :func:`scorer.storage.reading.windows.cut`.

        Args:
            limit: only so many rows from the start.
            columns: only these, in the order of the file.
            identity: what the file must still be; by default what :meth:`probe` found, if it was asked.

        Yields tables with one chunk a column where Arrow can join them; a shard without rows gives one empty table.
        The child decodes the next window while this one is used, and no more than that.

        Raises:
            ShardError: ``unreadable`` (damaged, changed, or no such column), ``crashed`` or ``timeout``.
        """
        if max_rows < 1 or max_bytes < 1:
            raise ValueError(f"a window needs room for a row: max_rows={max_rows}, max_bytes={max_bytes}")
        if columns is not None and not columns:
            raise ValueError("no column was asked for; rows without columns cannot be carried")
        expected = identity or self._identities.get(uri)
        request = {
            "op": "windows",
            "uri": uri,
            "max_rows": max_rows,
            "max_bytes": max_bytes,
            "limit": limit,
            "columns": list(columns) if columns is not None else None,
            "identity": expected.to_json() if expected is not None else None,
            "skip": 0,
        }
        talk = _Conversation(request)
        try:
            while True:
                header, payload = self._asking(uri, talk)
                if header["type"] != "window":
                    self._talk = None
                    return
                with _arrow_errors(uri):
                    table = pa.ipc.open_stream(payload).read_all()
                    table.validate()
                # A window begins where the one before ended, so a child that takes over cuts in the same places.
                request["skip"] += table.num_rows
                yield table if table.num_rows else table.schema.empty_table()
        finally:
            if self._talk is talk:
                self._drop()  # it would go on sending what nobody reads

    def _asking(self, uri: str, talk: _Conversation) -> tuple[dict[str, Any], pa.Buffer]:
        """The next frame of a conversation, which a new child takes up where the old one failed, once."""
        while True:
            try:
                return self._next(talk)
            except (EndedError, StalledError) as error:
                self._drop()
                talk.failures += 1
                kind = "timeout" if isinstance(error, StalledError) else "crashed"
                if self._closed or talk.failures >= _ATTEMPTS:
                    what = f"{error} from its reader" if kind == "timeout" else f"its reader ended ({error})"
                    raise ShardError(f"{uri}: {'twice, ' if talk.failures > 1 else ''}{what}", kind) from error

    def _next(self, talk: _Conversation) -> tuple[dict[str, Any], pa.Buffer]:
        if self._talk is not talk:
            unasked = self._ahead is not None and self._ahead != talk.request  # nobody will take that answer
            if unasked or self._talk is not None or (self._child is not None and not self._child.alive()):
                self._drop()
            with self._guard:
                if self._closed:
                    raise EndedError("was closed")
                if self._child is None:
                    self._child = Child(self._memory_bytes)
                child = self._child
            if self._ahead is None:
                child.ask(talk.request)
            self._talk, self._ahead = talk, talk.ahead
            if talk.ahead is not None:
                child.ask(talk.ahead)
        elif self._child is not None:
            child = self._child
        else:
            raise EndedError("was closed")
        while True:
            header, payload = child.hear(self._timeout_s)
            if header["type"] == "error":
                self._talk = None
                if header["last"]:
                    self._drop()
                raise ShardError(f"{talk.request['uri']}: {header['message']}", header["kind"])
            if header["type"] != "tick":
                return header, payload

    def _drop(self) -> None:
        child, self._child, self._talk, self._ahead = self._child, None, None, None
        if child is not None:
            child.end()


@contextmanager
def _arrow_errors(uri: str) -> Iterator[None]:
    """What the child could send and this process cannot take (a schema nested too deeply, say) is the shard's fault."""
    try:
        yield
    except (pa.ArrowException, OSError, ValueError) as error:
        raise ShardError(f"{uri}: cannot be taken over from its reader: {' '.join(str(error).split())}") from error


@dataclass
class _Conversation:
    """A request, the one that is asked right behind it, and how often a child failed over it."""

    request: dict[str, Any]
    failures: int = 0
    ahead: dict[str, Any] | None = None
