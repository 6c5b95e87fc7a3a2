"""The row key: identifies a row in a later run, regardless of the file and the format of its facts.

BLAKE2b-128 over u32le number of triples, then each triple's subject, predicate and object, then the text, then the
selection if the row has one; every part is u32le length + UTF-8 bytes, null is length 0xFFFFFFFF. Keys are computed
after parsing, so that the same facts in another format have the same key. The key of a row whose triples do not parse
is the hash of the tag 0xFF and their raw bytes. Where facts were given as sentences, the tag 0xFE comes first, then
their number, each fact, the text and the selection as above; below 2**24 facts no row of triples has the same bytes.
"""

from __future__ import annotations

from hashlib import blake2b

import pyarrow as pa

from .facts import NULL, Rows, counted, sized, to_bytes

SIZE = 16
_TAG = b"\xff"
_SENTENCES = b"\xfe"


def row_keys(rows: Rows) -> pa.Array:
    """Keys of all rows: fixed_size_binary(16), *Shape:* (rows,), never null."""
    triples = rows.triples
    tag = _SENTENCES if triples.sentences else b""
    parts = [triple[1:2] if triples.sentences else triple for triple in triples.distinct]
    blobs = [b"".join(sized(part.encode()) for part in of_fact) for of_fact in parts]
    texts = [sized(value) for value in rows.text_values]
    offsets, ids, codes = triples.offsets.tolist(), triples.ids.tolist(), rows.text_codes.tolist()
    keys = bytearray()
    for r, code in enumerate(codes):
        raw = triples.raw.get(r)
        if raw is None:
            start, end = offsets[r], offsets[r + 1]
            message = tag + counted(end - start) + b"".join([blobs[i] for i in ids[start:end]])
        else:
            message = _TAG + raw
        message += texts[code] if code >= 0 else NULL
        if (selection := rows.selections.get(r)) is not None:
            message += sized(_selection(selection))
        keys += blake2b(message, digest_size=SIZE).digest()
    return pa.FixedSizeBinaryArray.from_buffers(pa.binary(SIZE), len(codes), [None, pa.py_buffer(bytes(keys))])


def _selection(positions: list[int] | str) -> bytes:
    if isinstance(positions, str):
        return _TAG + to_bytes(positions)
    return ",".join(str(position) for position in positions).encode()
