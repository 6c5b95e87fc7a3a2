"""Verdicts as the output columns of the contract, and the row key.

The row key identifies a row in a later run, regardless of the file and the format of its facts: BLAKE2b-128 over u32le
number of triples, then each triple's subject, predicate and object, then the text, then the selection if the row has
one; every part is u32le length + UTF-8 bytes, null is length 0xFFFFFFFF. If the triples of a row do not parse, its key
is the hash of the tag 0xFF and their raw bytes. If facts were given as sentences, the tag 0xFE comes first, and each
fact is one part; below 2**24 facts no row of triples has the same bytes.
"""

from __future__ import annotations

from hashlib import blake2b

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ..status import SCORED
from . import ColumnNames
from .checks import KIND_NAMES, Checks
from .facts import NULL, Rows, counted, sized, to_bytes
from .verdict import Verdicts, to_lists

SIZE = 16  # bytes of a row key
_LABEL = pa.dictionary(pa.int8(), pa.string())
_TAG = b"\xff"
_SENTENCES = b"\xfe"
_CLASSES = [("contradiction", pa.float32()), ("neutral", pa.float32()), ("entailment", pa.float32())]

OUTPUT = pa.schema(
    [
        ("fine", _LABEL),
        ("rough", _LABEL),
        ("confidence", pa.float32()),
        ("omitted", pa.list_(pa.int32())),
        ("contradicted", pa.list_(pa.int32())),
        ("fact_entailment", pa.list_(pa.float32())),
        ("text_entailment", pa.float32()),
        ("all_facts_entailment", pa.float32()),
        ("error", pa.string()),
        ("note", pa.string()),
        ("reused", pa.bool_()),
        pa.field("row_key", pa.binary(SIZE), nullable=False),
    ]
)
"""The columns that a run adds, in order."""

WORDED_FACTS = pa.field("worded_facts", pa.list_(pa.string()))
"""The facts of a row as the model reads them, added by ``--details``; null where they cannot be read."""

DETAILS = pa.field("details", pa.list_(pa.struct([("check", pa.string()), ("fact", pa.int32()), *_CLASSES])))
"""The checks of a row with C, N and E, added by ``--details``; null where there are no probabilities."""

SENTENCES = pa.field(
    "sentences", pa.list_(pa.struct([("start", pa.int32()), ("end", pa.int32()), ("entailment", pa.float32())]))
)
"""P(entailment) of facts → each sentence of a text, and its position in code points, added by ``--sentences``. ``[]``
for an empty text, null for a row that was not checked; an entailment is null if the model gave no result."""


MARKS = pa.field("row_info", pa.binary())
"""Marks that are needed to read the facts of a row as the run did: a JSON object with ``nested``, the columns of
attributes that hold an object or a list, and not a text that looks like one. Null for a row that needs none; a shard
without such a row has no such column."""


def to_columns(rows: Rows, verdicts: Verdicts, keys: pa.Array | None = None) -> list[pa.Array]:
    """The arrays of :data:`OUTPUT`, in its order; *Shape:* (rows,) each. ``keys``: the row keys, if computed."""
    reused = pa.array(np.zeros(len(rows), bool))
    return [*verdicts.columns.values(), reused, row_keys(rows) if keys is None else keys]


def to_worded_facts(rows: Rows, checks: Checks) -> pa.Array:
    """The array of :data:`WORDED_FACTS`."""
    triples, offsets = rows.triples, rows.triples.of_rows.offsets
    facts = pa.array([checks.texts[i] for i in checks.facts.tolist()], pa.string())
    return to_lists(facts.take(pa.array(triples.spread(triples.ids))), offsets, np.diff(offsets) > 0)


def to_details(
    rows: Rows, checks: Checks, probabilities: npt.NDArray[np.float32], status: npt.NDArray[np.int8]
) -> pa.Array:
    """The array of :data:`DETAILS`; ``probabilities`` and ``status`` as :func:`.verdict.decide` takes them."""
    order = np.argsort(checks.row, kind="stable")
    unscored = status[order] != SCORED
    values = probabilities[order]
    classes = [pa.array(np.ascontiguousarray(values[:, c]), mask=unscored | np.isnan(values[:, c])) for c in range(3)]
    kinds = pa.DictionaryArray.from_arrays(checks.kind[order], list(KIND_NAMES)).dictionary_decode()
    fact = pa.array(fact_positions(rows, checks)[order].astype(np.int32), mask=checks.fact[order] < 0)
    struct = pa.StructArray.from_arrays([kinds, fact, *classes], fields=list(DETAILS.type.value_type))
    counts = np.bincount(checks.row, minlength=len(rows))
    offsets = np.concatenate([[0], np.cumsum(counts)])
    return to_lists(struct, offsets, np.ones(len(rows), bool))


def fact_positions(rows: Rows, checks: Checks) -> npt.NDArray[np.int64]:
    """The position of each check's fact in its row; for a sentence of several facts, of the first of them. Undefined
    for other checks than omission checks. *Shape:* (checks,)."""
    fact, triples = checks.fact, rows.triples
    if triples.joined_position is not None:
        fact = np.unique(triples.joined_position, return_index=True)[1][fact]
    return np.asarray(fact - triples.of_rows.offsets[checks.row], np.int64)


def to_sentences(rows: Rows, checks: Checks, verdicts: Verdicts) -> pa.Array:
    """The array of :data:`SENTENCES`."""
    sentences = checks.sentences
    if sentences is None:
        return pa.nulls(len(rows), SENTENCES.type)
    columns = [
        pa.array(sentences.starts),
        pa.array(sentences.ends),
        pa.array(verdicts.sentence_entailment, from_pandas=True),
    ]
    struct = pa.StructArray.from_arrays(columns, fields=list(SENTENCES.type.value_type))
    is_checked = np.ones(len(rows), bool)
    is_checked[[*rows.errors, *checks.refused]] = False
    return to_lists(struct, sentences.offsets, is_checked)


def output_schema(names: ColumnNames) -> list[pa.Field]:
    """The columns that a run adds, without the prefix."""
    return [*OUTPUT, *([SENTENCES] if names.sentences else []), *([WORDED_FACTS, DETAILS] if names.details else [])]


def output_names(names: ColumnNames) -> list[str]:
    """The names of all columns that a run may add."""
    return [names.output(column.name) for column in (*output_schema(names), MARKS)]


def row_keys(rows: Rows) -> pa.Array:
    """Keys of all rows: fixed_size_binary(16), *Shape:* (rows,), never null."""
    triples = rows.triples.of_rows
    tag = _SENTENCES if triples.sentences else b""
    parts = [triple[1:2] if triples.sentences else triple for triple in triples.distinct]
    blobs = [b"".join(sized(part.encode()) for part in fact_parts) for fact_parts in parts]
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
        selection = rows.selections.get(r)
        if isinstance(selection, str):
            message += sized(_TAG + to_bytes(selection))
        elif selection is not None:
            message += sized(",".join(map(str, selection)).encode())
        keys += blake2b(message, digest_size=SIZE).digest()
    return pa.FixedSizeBinaryArray.from_buffers(pa.binary(SIZE), len(codes), [None, pa.py_buffer(bytes(keys))])
