"""Columns of documents: the source texts that texts are checked against, each a string or a list of passages.

A passage is kept as it was given, as the predicate of a triple without subject and object. Null passages are left out;
a document that has nothing but blank ones gives the error ``no_document``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..system.arguments import described
from .triple_forms import is_list, is_text
from .triples import INVALID_UTF8, RowTriples, Triple, counted, decode, encode, sized, to_bytes

NO_DOCUMENT = "no_document"


def holds_documents(kind: pa.DataType) -> bool:
    """Whether a column of a type may hold documents."""
    return is_text(kind) or (is_list(kind) and is_text(kind.value_type))


def from_documents(column: pa.Array) -> RowTriples:
    """Parse a column of strings, or of lists of strings in any layout.

    A string of a JSON list of strings and nulls is a list too: CSV has no other, and JSON Lines with lists and strings
    in one column are read as such.

    Returns rows with the errors ``no_document`` or ``invalid_utf8``.
    """
    if is_text(column.type):
        codes, values = encode(column)
        owner = np.arange(len(column))
        lists = {code: found for code, value in enumerate(values) if (found := _listed(value)) is not None}
        if lists:
            given = [lists.get(code, [values[code]]) if code >= 0 else None for code in codes.tolist()]
            return from_documents(pa.array(given, _PASSAGES))
    else:
        lengths = pc.fill_null(pc.list_value_length(column), 0).to_numpy(zero_copy_only=False)
        codes, values = encode(pc.list_flatten(column))
        owner = np.repeat(np.arange(len(column)), lengths)
    codes, owner = codes[codes >= 0], owner[codes >= 0]
    passages = [decode(value) for value in values]
    broken = np.array([passage is None for passage in passages], bool)[codes]
    said = np.array([passage is not None and bool(passage.strip()) for passage in passages], bool)[codes]
    n = len(column)
    invalid = np.bincount(owner[broken], minlength=n) > 0
    good = ~invalid & (np.bincount(owner[said], minlength=n) > 0)
    errors = {row: INVALID_UTF8 if invalid[row] else NO_DOCUMENT for row in np.flatnonzero(~good).tolist()}
    ends = np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=n))]).tolist()
    given = codes.tolist()
    raw = {
        row: counted(ends[row + 1] - ends[row]) + b"".join(sized(values[i]) for i in given[ends[row] : ends[row + 1]])
        for row in errors
    }
    kept = good[owner]
    used, ids = np.unique(codes[kept], return_inverse=True)
    return RowTriples(
        [Triple("", passages[i] or "", "") for i in used.tolist()],
        np.concatenate([[0], np.cumsum(np.bincount(owner[kept], minlength=n))]).astype(np.int64),
        ids.astype(np.int32).reshape(-1),
        errors,
        raw,
        documents=True,
    )


def from_python_documents(rows: Iterable[str | Sequence[str | None] | None]) -> RowTriples:
    """Documents given as Python objects; see :func:`from_documents`.

    Raises:
        TypeError: neither a string nor a list of strings; names the position.
    """
    return from_documents(pa.array([_passages(row) for row in rows], pa.list_(pa.binary())).cast(_PASSAGES))


_PASSAGES = pa.list_(pa.large_binary())


def _listed(value: bytes) -> list[bytes | None] | None:
    """The passages of a JSON list of strings and nulls; ``None`` for any other text."""
    text = decode(value) if value.lstrip()[:1] == b"[" and value.rstrip()[-1:] == b"]" else None
    try:
        found = json.loads(text) if text is not None else None
    except (ValueError, RecursionError):
        return None
    return _passages(found) if isinstance(found, list) and all(isinstance(one, str | None) for one in found) else None


def _passages(document: str | Sequence[str | None] | None) -> list[bytes | None] | None:
    if document is None or isinstance(document, str):
        return None if document is None else [to_bytes(document)]
    if not isinstance(document, list | tuple):
        raise TypeError(f"document is {described(document)}; give a string, or a list of passages")
    found: list[bytes | None] = []
    for position, passage in enumerate(document):
        if not (passage is None or isinstance(passage, str)):
            raise TypeError(f"document[{position}] is {described(passage)}; give a string")
        found.append(None if passage is None else to_bytes(passage))
    return found
