"""Documents: source texts whose sentences are the facts, each a string or a list of passages.

Null passages are left out; a document without a sentence gives the error ``no_triples``.
"""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from .splitting import split_document
from .triple_forms import is_list, is_text
from .triples import INVALID_UTF8, NO_TRIPLES, RowTriples, Triple, counted, decode, encode, sized

_PASSAGES = pa.list_(pa.large_binary())


def holds_documents(kind: pa.DataType) -> bool:
    """Whether a column of a type may hold documents."""
    return is_text(kind) or (is_list(kind) and is_text(kind.value_type))


def from_documents(column: pa.Array) -> RowTriples:
    """Parse a column of strings, or of lists of strings in any layout.

    A string of a JSON list of strings and nulls is a list too: CSV has no other, and JSON Lines with lists and strings
    in one column are read as such.

    Returns rows with the errors ``no_triples`` or ``invalid_utf8``.
    """
    if is_text(column.type):
        codes, values = encode(column)
        lists = {code: found for code, value in enumerate(values) if (found := _passages(value)) is not None}
        if lists:
            given = [lists.get(code, [values[code]]) if code >= 0 else None for code in codes.tolist()]
            return from_documents(pa.array(given, _PASSAGES))
        owner = np.arange(len(column))
    else:
        lengths = pc.fill_null(pc.list_value_length(column), 0).to_numpy(zero_copy_only=False)
        codes, values = encode(pc.list_flatten(column))
        owner = np.repeat(np.arange(len(column)), lengths)
    codes, owner = codes[codes >= 0], owner[codes >= 0]
    texts = [decode(value) for value in values]
    interner: dict[Triple, int] = {}
    parts = [
        np.array([interner.setdefault(Triple("", one, ""), len(interner)) for one in split_document(text or "")], int)
        for text in texts
    ]
    n = len(column)
    broken = np.bincount(owner, np.array([text is None for text in texts], bool)[codes], minlength=n) > 0
    sizes = np.array([len(part) for part in parts], np.int64)[codes]
    counts = np.bincount(owner, sizes, minlength=n).astype(np.int64)
    errors = {
        row: INVALID_UTF8 if broken[row] else NO_TRIPLES for row in np.flatnonzero(broken | (counts == 0)).tolist()
    }
    ends = np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=n))]).tolist()
    raw = {
        row: counted(ends[row + 1] - ends[row]) + b"".join(sized(values[i]) for i in codes[ends[row] : ends[row + 1]])
        for row in errors
    }
    counts[broken] = 0
    ids = [parts[code] for code, row in zip(codes.tolist(), owner.tolist(), strict=True) if not broken[row]]
    return RowTriples(
        list(interner),
        np.concatenate([[0], np.cumsum(counts)]),
        np.concatenate([np.empty(0, int), *ids]).astype(np.int32),
        errors,
        raw,
        sentences=True,
    )


def _passages(value: bytes) -> list[bytes | None] | None:
    """The passages of a JSON list of strings and nulls; ``None`` for any other text."""
    text = decode(value) if value.lstrip()[:1] == b"[" and value.rstrip()[-1:] == b"]" else None
    try:
        found = json.loads(text) if text is not None else None
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, list) or not all(isinstance(one, str | None) for one in found):
        return None
    return [None if one is None else one.encode("utf-8", "surrogatepass") for one in found]
