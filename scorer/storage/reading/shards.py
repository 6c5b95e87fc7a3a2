"""Read shards as Arrow tables; this process itself never opens the Parquet files."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import msgspec
import pyarrow as pa

from ...errors import ShardError
from ...system.closing import Closing
from ...system.input_formats import Format
from ..pieces import Piece
from ..records import Identity
from .child import Child, EndedError, StalledError

MEMORY_BYTES = 8 << 30
MINIMUM_MEMORY = 2 << 30  # with less address space, Arrow hangs or aborts
TIMEOUT_S = 20.0
STORE_TIMEOUT_S = 300.0
"""As the timeout, for a shard in an object store, whose client repeats requests for four minutes."""
_ATTEMPTS = 2


@dataclass(frozen=True)
class ShardInfo:
    """Facts about a shard: Arrow schema, rows and row groups according to its footer, and its identity. ``pieces``:
    those that it is divided into, none if it is not divided."""

    schema: pa.Schema
    rows: int
    row_groups: int
    identity: Identity
    pieces: tuple[Piece, ...] = ()


class ShardReader(Closing):
    """Reads shards in a child process of bounded memory, which is replaced when it crashes or stalls.

    A shard is tried twice, since a process can also be killed because of another one. Used by one thread at a time;
    :meth:`close` may be called by another thread, and ends what the first is waiting for.

    Args:
        timeout_s: longest time without progress of the child (no batch decoded, no byte sent).
        memory_bytes: address space of the child; never less than 2 GiB, never more than the caller's own hard limit.
        form: the format of the files.
        delimiter: what separates the fields of CSV and TSV; found from the header by default.
        split_rows: the rows of a piece at most; ``None`` divides no shard.
    """

    def __init__(
        self,
        *,
        timeout_s: float = TIMEOUT_S,
        memory_bytes: int = MEMORY_BYTES,
        form: Format = "auto",
        delimiter: str | None = None,
        split_rows: int | None = None,
    ) -> None:
        self._form = form
        self._delimiter = delimiter
        self._split_rows = split_rows
        self._timeout_s = timeout_s
        self._memory_bytes = max(memory_bytes, MINIMUM_MEMORY)
        self._child: Child | None = None
        self._talk: _Conversation | None = None  # the request that the child is working on
        self._ahead: dict[str, Any] | None = None  # the next request, already sent and not yet answered
        self._closed = False
        self._guard = threading.Lock()  # so that no child is started once this is closed
        self._identities: dict[str, Identity] = {}
        self._last: tuple[str, ShardInfo] | None = None

    def close(self) -> None:
        """End the child process. Iterations in progress raise :class:`ShardError`."""
        with self._guard:
            self._closed = True
        self._drop()

    def probe(self, uri: str, then: str | None = None, form: Format | None = None) -> ShardInfo:
        """Open a shard's footer.

        Args:
            then: the shard that is probed next, if known; the child opens it while the caller works.
            form: its format, where it is not that of the others.

        Raises:
            ShardError: ``unreadable``, ``crashed`` or ``timeout``.
        """
        ahead = self._probing(then, self._form) if then is not None else None
        request = self._probing(uri, form or self._form)
        header, payload = self._asking(uri, _Conversation(request, ahead=ahead))
        self._talk = None
        with _arrow_errors(uri):
            schema = pa.ipc.read_schema(payload)
        found = msgspec.convert(header["identity"], Identity)
        firsts = accumulate(header["pieces"], initial=0)
        pieces = tuple(Piece(first, rows) for first, rows in zip(firsts, header["pieces"], strict=False))
        info = ShardInfo(schema, header["rows"], header["row_groups"], found, pieces)
        self._identities[uri], self._last = info.identity, (uri, info)
        return info

    def known(self, uri: str) -> ShardInfo:
        """As :meth:`probe`, of which the last answer counts for the same shard: its pieces follow each other, and
        reading one fails if the shard has changed."""
        return self._last[1] if self._last is not None and self._last[0] == uri else self.probe(uri)

    def _probing(self, uri: str, form: Format) -> dict[str, Any]:
        return {"op": "probe", "uri": uri, "format": form, "delimiter": self._delimiter, "split": self._split_rows}

    def windows(
        self,
        uri: str,
        *,
        max_rows: int,
        max_bytes: int,
        first: int = 0,
        limit: int | None = None,
        columns: Sequence[str] | None = None,
        identity: Identity | None = None,
        first_rows: Sequence[int] = (),
    ) -> Iterator[pa.Table]:
        """The rows of a shard in order, cut into windows; see :func:`scorer.storage.reading.windows.cut`.

        Args:
            first: number of the first row to read.
            limit: read only this number of rows from there.
            columns: read only these, in the order of the file.
            identity: the identity that the file must have; by default the one that :meth:`probe` found, if called.
            first_rows: of the first windows, where they are smaller, so that the work on them begins early.

        Yields tables with one chunk per column where Arrow can join them; a shard without rows gives one empty table.
        While a window is used, the child decodes the next one, but no more than that.

        Raises:
            ShardError: ``unreadable`` (damaged, changed, or no such column), ``crashed`` or ``timeout``.
        """
        if max_rows < 1 or max_bytes < 1:
            raise ValueError(f"max_rows={max_rows} and max_bytes={max_bytes} must be at least 1")
        if columns is not None and not columns:
            raise ValueError("columns is empty; name at least one column, since a table without columns has no rows")
        expected = identity or self._identities.get(uri)
        request = {
            "op": "windows",
            "uri": uri,
            "format": self._form,
            "delimiter": self._delimiter,
            "max_rows": max_rows,
            "max_bytes": max_bytes,
            "limit": None if limit is None else first + limit,
            "columns": list(columns) if columns is not None else None,
            "identity": msgspec.to_builtins(expected),
            "skip": first,
            "first": first,
            "first_rows": list(first_rows),
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
                # A window begins where the previous one ended, so another child cuts at the same rows.
                request["skip"] += table.num_rows
                yield table if table.num_rows else table.schema.empty_table()
        finally:
            if self._talk is talk:
                self._drop()  # otherwise it would continue to send windows that are not read

    def _asking(self, uri: str, talk: _Conversation) -> tuple[dict[str, Any], pa.Buffer]:
        """The next frame of a conversation; if the child fails, a new one continues it, once."""
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
            unasked = self._ahead is not None and self._ahead != talk.request  # its answer is not needed
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
        timeout_s = self._timeout_s
        if "://" in talk.request["uri"]:
            timeout_s = max(timeout_s, STORE_TIMEOUT_S)
        while True:
            header, payload = child.hear(timeout_s)
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
    """An error in decoding what the child sent (such as a schema nested too deeply) becomes an error of the shard."""
    try:
        yield
    except (pa.ArrowException, OSError, ValueError) as error:
        raise ShardError(f"{uri}: cannot be taken over from its reader: {' '.join(str(error).split())}") from error


@dataclass
class _Conversation:
    """A request, the one that follows it, and the number of times that a child failed on it."""

    request: dict[str, Any]
    failures: int = 0
    ahead: dict[str, Any] | None = None
