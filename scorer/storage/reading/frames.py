"""The messages between the reader's child process and its parent.

Requests are lines of JSON. Replies are frames: the length of a header as u32le, the header as JSON, then a payload of
as many bytes as the header's ``payload`` says (an Arrow IPC stream, or an IPC schema).

Replies to ``probe``: ``info`` (``rows``, ``row_groups``, ``identity``, ``pieces``: rows of each; payload: the schema).
To ``windows``: a ``window`` (``rows``; payload: the table) for each, then ``end``. To both also ``error`` (``kind``,
``message``, ``last``: whether the child ends now). A ``tick`` reports progress and has no payload.
"""

from __future__ import annotations

import json
import os
import struct
from typing import Any

HEADER = struct.Struct("<I")
HEADER_LIMIT = 1 << 20
PIPE_BYTES = 1 << 20


def write_frame(descriptor: int, header: dict[str, Any], payload: Any = b"") -> None:
    """Write one frame to a pipe; blocks until the other side reads."""
    view = memoryview(payload).cast("B")
    text = json.dumps({**header, "payload": len(view)}).encode("ascii")
    _write(descriptor, memoryview(HEADER.pack(len(text)) + text))
    _write(descriptor, view)


def _write(descriptor: int, view: memoryview) -> None:
    while view:
        view = view[os.write(descriptor, view) :]
