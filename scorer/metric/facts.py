"""The facts of a window of rows, and the rows: columns of small integers over distinct triples and texts.

A window repeats the same triples many times (one input, twenty systems), so triples are interned: each distinct one is
a Python object once, and a row is a slice of an integer array. A fact that is a sentence, which needs no template, is
the predicate of a triple without subject and object, so that counts by predicate are counts by fact.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ..status import RowError

NO_TRIPLES = "no_triples"
MALFORMED = "malformed_triples"
INVALID_UTF8 = "invalid_utf8"
NULL_TEXT = "null_text"
INVALID_SELECTION = "invalid_selection"
NAME = "name"
"""The slot, or the attribute, that names the subject of the others."""
NULL = b"\xff\xff\xff\xff"
counted = struct.Struct("<I").pack
"""Row keys have the number of parts as four bytes, and the length of each; the length of null is :data:`NULL`."""


class Triple(NamedTuple):
    """One fact of the input. Each part is without outer blanks and never empty; a fact that was given as a sentence
    has a predicate alone."""

    subject: str
    predicate: str
    object: str

    @property
    def sentence(self) -> str | None:
        """The fact as it was given, if it was a sentence."""
        return None if self.subject else self.predicate


@dataclass
class FactTable:
    """The triples of a window of rows. A row with an error has none.

    Where sentences say several facts together (:mod:`.joining`), a sentence is one fact here.
    """

    distinct: list[Triple]
    """Every triple that occurs, once."""
    offsets: npt.NDArray[np.int64]
    """*Shape:* (rows + 1,); row *r* owns ``ids[offsets[r]:offsets[r + 1]]``."""
    ids: npt.NDArray[np.int32]
    """Positions in ``distinct``, *Shape:* (facts,)."""
    errors: dict[int, str] = field(default_factory=dict)
    """The kind of error, by row."""
    raw: dict[int, bytes] = field(default_factory=dict)
    """The bytes that identify the value of a row with an error, by row."""
    reasons: dict[int, str] = field(default_factory=dict)
    """The reason why the value of a row cannot be read, by row."""
    sentences: bool = False
    """Whether the facts are sentences."""
    skipped: int = 0
    """Number of attributes that are null."""
    source: FactTable | None = None
    """The facts as the rows have them, if sentences say several together."""
    joined_position: npt.NDArray[np.int64] | None = None
    """The position in ``ids`` that says each fact of ``source``, *Shape:* (facts of ``source``,)."""

    @property
    def of_rows(self) -> FactTable:
        """The facts as the rows have them."""
        return self if self.source is None else self.source

    def spread(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Values of the facts of this table, for each fact of the rows. *Shape:* (facts,) → (facts of rows,)."""
        return values if self.joined_position is None else values[self.joined_position]

    @property
    def lengths(self) -> npt.NDArray[np.int64]:
        """Number of facts of each row. int64, *Shape:* (rows,)."""
        return np.diff(self.offsets)


@dataclass
class Rows:
    """A window, as columns."""

    triples: FactTable
    text_codes: npt.NDArray[np.int64]
    """Positions in ``text_values``, -1 for null, *Shape:* (rows,)."""
    text_values: list[bytes]
    """The distinct texts as bytes."""
    used: npt.NDArray[np.bool_] | None = None
    """Whether a fact is in its row's selection, *Shape:* (facts,); ``None`` without selections."""
    selections: dict[int, list[int] | str] = field(default_factory=dict)
    """The selection as given, by row, of rows that have one."""
    errors: dict[int, RowError] = field(default_factory=dict)
    """Why a row has no label, by row."""
    texts: list[str | None] = field(init=False)
    """``text_values`` decoded, ``None`` for one that is not UTF-8, and a last ``None`` for null."""

    def __post_init__(self) -> None:
        lengths = self.triples.lengths
        self.texts = [*map(decode, self.text_values), None]
        broken = np.array([text is None for text in self.texts])
        # Later lines take precedence: an error of the text is simpler to explain than one of the facts.
        if self.used is not None:
            lengths = np.diff(np.append(0, np.cumsum(self.used))[self.triples.offsets])
        errors = dict.fromkeys(np.flatnonzero(lengths == 0).tolist(), RowError(NO_TRIPLES))
        errors.update(self.errors)
        errors.update({row: RowError(kind) for row, kind in self.triples.errors.items()})
        errors.update(dict.fromkeys(np.flatnonzero(broken[self.text_codes]).tolist(), RowError(INVALID_UTF8)))
        errors.update(dict.fromkeys(np.flatnonzero(self.text_codes < 0).tolist(), RowError(NULL_TEXT)))
        self.errors = errors

    def __len__(self) -> int:
        return len(self.text_codes)


Selection = list[int] | None | str
"""The positions that a row selects; ``None`` for all of its facts, and a string for a value without positions."""


def from_arrow(triples: FactTable, text: pa.Array, selected: Sequence[Selection] | None = None) -> Rows:
    """Combine parsed triples, a string-like text column and the selections of rows; a position that a row does not have
    is the error ``invalid_selection``."""
    codes, values = encode(text)
    if selected is None:
        return Rows(triples, codes, values)
    lengths, starts = triples.lengths.tolist(), triples.offsets.tolist()
    used = np.repeat(np.array([selection is None for selection in selected], bool), triples.lengths)
    selections = {row: positions for row, positions in enumerate(selected) if positions is not None}
    errors: dict[int, RowError] = {}
    for row, positions in selections.items():
        valid_positions = [
            position for position in positions if isinstance(position, int) and 0 <= position < lengths[row]
        ]
        used[[starts[row] + position for position in valid_positions]] = True
        if isinstance(positions, str) or (len(valid_positions) < len(positions) and row not in triples.errors):
            errors[row] = RowError(INVALID_SELECTION)
    return Rows(triples, codes, values, used, selections, errors)


class FactError(ValueError):
    """A value holds no facts; the message gives the reason.

    Args:
        kind: the error of the row.
    """

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


Parsed = list[Triple] | FactError


def attempt(parse: Callable[[Any], list[Triple]], value: Any) -> Parsed:
    """The facts that a parser finds in a value, or its error, without the frames of the parser."""
    if isinstance(value, str) and not is_utf8(value):
        return FactError(INVALID_UTF8, "is not UTF-8")
    try:
        return parse(value)
    except ValueError as error:
        return FactError(error.kind if isinstance(error, FactError) else MALFORMED, str(error))


def check_utf8(facts: list[Triple]) -> list[Triple]:
    """The same facts; raises :class:`FactError` for half of a surrogate pair, which JSON can encode but no text has."""
    if all(is_utf8(part) for fact in facts for part in fact):
        return facts
    raise FactError(INVALID_UTF8, "is not UTF-8")


def build_facts(
    codes: npt.NDArray[np.int64],
    parsed: Sequence[Parsed],
    raw: Callable[[int], bytes],
    lengths: npt.NDArray[np.int64] | None = None,
) -> FactTable:
    """The facts of rows, each of one value or of a list of values; a row with a bad value has none.

    Args:
        codes: int64, *Shape:* (values of all rows,), positions in ``parsed``; -1 for a row that is null.
        parsed: the facts of each distinct value.
        raw: the bytes that identify a value, by its code.
        lengths: of rows of lists: int64, *Shape:* (rows,), the number of values of each, -1 for null.
    """
    has_lists = lengths is not None
    if lengths is None:
        lengths, codes = np.where(codes < 0, -1, 1), codes[codes >= 0]
    interner: dict[Triple, int] = {}
    ids_of_values = [
        [interner.setdefault(fact, len(interner)) for fact in facts] if isinstance(facts, list) else []
        for facts in parsed
    ]
    ids = np.array([number for numbers in ids_of_values for number in numbers], np.int32)
    values = FactTable(list(interner), np.append(0, np.cumsum(np.array([*map(len, ids_of_values)], np.int64))), ids)

    nulls = np.flatnonzero(lengths < 0).tolist()
    errors, raws, reasons = dict.fromkeys(nulls, NO_TRIPLES), dict.fromkeys(nulls, NULL), dict[int, str]()
    offsets = np.append(0, np.cumsum(np.maximum(lengths, 0)))
    owner = np.repeat(np.arange(len(lengths)), np.diff(offsets))
    failed = np.array([isinstance(result, FactError) for result in parsed], bool)[codes]
    for row in np.unique(owner[failed]).tolist():
        codes_of_row = codes[offsets[row] : offsets[row + 1]].tolist()
        failures = [
            (position, error)
            for position, code in enumerate(codes_of_row)
            if isinstance(error := parsed[code], FactError)
        ]
        position, error = next((failure for failure in failures if failure[1].kind == INVALID_UTF8), failures[0])
        errors[row], reasons[row] = error.kind, f"item {position} {error}" if has_lists else str(error)
        raws[row] = (counted(len(codes_of_row)) if has_lists else b"") + b"".join(map(raw, codes_of_row))
    is_good = ~np.isin(owner, list(reasons))
    facts_before = np.append(0, np.cumsum(np.where(is_good, values.lengths[codes], 0)))
    facts = _facts(values, codes[is_good])
    return FactTable(values.distinct, facts_before[offsets], values.ids[facts], errors, raws, reasons)


def take(rows: Rows, positions: npt.NDArray[np.int64]) -> Rows:
    """The rows at some positions, in the order of these, with their triples. A position may repeat. int64, *Shape:*
    (n,) → n rows."""
    triples, facts, old_rows = rows.triples, _facts(rows.triples, positions), positions.tolist()
    distinct, ids = np.unique(triples.ids[facts], return_inverse=True)
    table = FactTable(
        [triples.distinct[i] for i in distinct.tolist()],
        np.append(0, np.cumsum(triples.lengths[positions])),
        ids.astype(np.int32).reshape(-1),
        {new_row: triples.errors[old_row] for new_row, old_row in enumerate(old_rows) if old_row in triples.errors},
        {new_row: triples.raw[old_row] for new_row, old_row in enumerate(old_rows) if old_row in triples.raw},
        sentences=triples.sentences,
    )
    return Rows(
        table,
        rows.text_codes[positions],
        rows.text_values,
        None if rows.used is None else rows.used[facts],
        {new_row: rows.selections[old_row] for new_row, old_row in enumerate(old_rows) if old_row in rows.selections},
        {new_row: rows.errors[old_row] for new_row, old_row in enumerate(old_rows) if old_row in rows.errors},
    )


def _facts(triples: FactTable, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Positions in ``triples.ids`` of every fact of some rows. int64, *Shape:* (their facts,)."""
    starts, lengths = triples.offsets[rows], triples.lengths[rows]
    offsets = np.append(0, np.cumsum(lengths))
    return np.asarray(np.arange(offsets[-1]) - np.repeat(offsets[:-1] - starts, lengths), np.int64)


def encode(column: pa.Array) -> tuple[npt.NDArray[np.int64], list[bytes]]:
    """Dictionary-encode a string-like column as bytes: codes (int64, -1 for null) and the distinct values.

    Bytes, because strings are not validated when Parquet is read: an invalid one must fail its row, not the run.
    """
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_null(column.type):
        return np.full(len(column), -1, np.int64), []
    encoded = pc.dictionary_encode(column.cast(pa.large_binary()))
    codes = pc.fill_null(encoded.indices, -1).to_numpy(zero_copy_only=False).astype(np.int64)
    return codes, encoded.dictionary.to_pylist()


def to_bytes(text: str) -> bytes:
    """UTF-8; halves of surrogate pairs, which Python's strings may hold, give bytes that are not UTF-8."""
    return text.encode("utf-8", "surrogatepass")


def decode(value: bytes) -> str | None:
    """UTF-8 to text; ``None`` when it is not UTF-8."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        return None


def is_utf8(text: str) -> bool:
    """Whether a text can be written as UTF-8."""
    return text.isascii() or decode(to_bytes(text)) is not None


def sized(value: bytes | None) -> bytes:
    """Bytes after their length."""
    return NULL if value is None else counted(len(value)) + value
