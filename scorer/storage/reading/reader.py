"""The child process that opens input files: ``python -m scorer.storage.reading.reader``.

A Parquet file may come from any source, and decoders have crashed on crafted files before. So files are decoded only
here: in a process with bounded memory that has no state of the run, and the run survives its end. It is spawned, never
forked, and ends with its parent (the kernel kills it, and it also exits at the end of its input).
"""

from __future__ import annotations

import fcntl
import json
import os
import queue
import sys
import threading
from contextlib import suppress
from typing import Any

import pyarrow as pa

from ...system import children
from ...system.input_formats import format_of
from .frames import PIPE_BYTES, write_frame
from .opened import RefusedError, describe
from .source import Source
from .text_source import Scan, TextSource
from .windows import cut

MINIMUM_MEMORY = 2 << 30


def main(arguments: list[str]) -> int:
    """Answer requests until the input ends. Arguments: the parent's process id, bytes of memory."""
    parent, memory = int(arguments[0]), int(arguments[1])
    children.die_with(parent)
    replies = children.replies()
    with suppress(OSError, AttributeError):
        fcntl.fcntl(replies, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)
    children.limit_process(memory, MINIMUM_MEMORY)
    requests: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(requests,), daemon=True).start()
    with suppress(BrokenPipeError):
        while _answer(requests.get(), replies):
            pass
    return 0


def _listen(requests: queue.SimpleQueue[dict[str, Any]]) -> None:
    for line in sys.stdin.buffer:
        requests.put(json.loads(line))
    # The parent has ended or needs nothing more. What is being read no longer matters.
    os._exit(0)


def _answer(request: dict[str, Any], replies: int) -> bool:
    """Answer one request; returns whether this process can take another."""
    clean = True
    try:
        source = _open(request, replies)
        expected = request.get("identity")
        if expected is not None and expected != source.identity:
            raise RefusedError("changed since it was first looked at; run again")
        clean = False
        if request["op"] == "probe":
            header = {
                "type": "info",
                "rows": source.rows,
                "row_groups": source.row_groups,
                "identity": source.identity,
                "pieces": [piece.rows for piece in source.pieces(split)] if (split := request["split"]) else [],
            }
            write_frame(replies, header, source.schema.serialize())
        else:
            _send_windows(source, request, replies)
            write_frame(replies, {"type": "end"})
        return True
    except BrokenPipeError:
        raise
    except RefusedError as error:
        message, kind = str(error), "unreadable"
    except MemoryError:
        message, kind, clean = "needs more memory to read than the reader may use", "unreadable", False
    except Exception as error:  # any exception that a library raises for a damaged file concerns the file
        message, kind, clean = f"cannot be read: {describe(error)}", "unreadable", False
    # Decoding a damaged file may have corrupted this process's memory: it reads no further file.
    write_frame(replies, {"type": "error", "kind": kind, "message": message, "last": not clean})
    return clean


_SCANS: dict[Any, Scan] = {}
"""What this process found in the text files that it has scanned."""


_KEPT: dict[tuple[str, str], Source | TextSource] = {}
"""The file that was opened last, by URI and format: of one in pieces, each piece is a request, and the footer of a file
of many row groups is long."""


def _open(request: dict[str, Any], replies: int) -> Source | TextSource:
    uri = request["uri"]
    form = format_of(uri, request.get("format", "auto"))
    kept = _KEPT.pop((uri, form), None)
    if kept is None or request["op"] == "probe" or not kept.is_current():
        for other in (*_KEPT.values(), *([kept] if kept is not None else [])):
            other.close()
        _KEPT.clear()
        if form == "parquet":
            kept = Source(uri)
        else:
            delimiter = request.get("delimiter")
            kept = TextSource(uri, form, delimiter, lambda: write_frame(replies, {"type": "tick"}), _SCANS)
    _KEPT[uri, form] = kept
    return kept


def _send_windows(source: Source | TextSource, request: dict[str, Any], replies: int) -> None:
    skip, limit = int(request["skip"]), request["limit"]
    max_rows, max_bytes = int(request["max_rows"]), int(request["max_bytes"])
    wanted = source.rows if limit is None else min(int(limit), source.rows)
    columns = request["columns"]
    positions, _ = source.select(columns)
    schema = pa.schema([source.schema.field(i) for i in positions], source.schema.metadata)
    if wanted == 0:
        _send(schema.empty_table(), replies)

    def tick() -> None:
        write_frame(replies, {"type": "tick"})

    def rows() -> Any:
        left = wanted - skip
        if left <= 0:
            return
        for batch in source.batches(columns, skip, wanted, max_rows, max_bytes, tick):
            yield batch.slice(0, left) if batch.num_rows > left else batch
            left -= batch.num_rows
            if left <= 0:
                return
        raise pa.ArrowInvalid(f"its footer claims {source.rows} rows, but {left} of them are missing")

    first_rows, begin = request["first_rows"], skip - int(request["first"])
    for table in cut(rows(), schema, max_rows=max_rows, max_bytes=max_bytes, first_rows=first_rows, begin=begin):
        _send(table, replies)
    if source.changed():
        raise RefusedError("was modified while it was read; run again when it is complete")


def _send(table: pa.Table, replies: int) -> None:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    write_frame(replies, {"type": "window", "rows": table.num_rows}, sink.getvalue())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
