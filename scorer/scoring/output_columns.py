"""Columns as numpy arrays: labels as small integers, scores as floats, groups as codes."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from ..errors import ColumnError
from ..metric.facts import encode
from ..metric.values import is_part, is_text, spell, stored_values
from ..metric.verdict import FINE, ROUGH

NOT_OK = 1
NO_LABEL = -1
_SPELLINGS = {"hallucination+omission": "omission+hallucination", "not OK": "not_OK"}  # of the papers' own code


def label_codes(column: pa.Array, names: Sequence[str], column_name: str) -> npt.NDArray[np.int8]:
    """Positions of labels in ``names``; -1 for null. int8, *Shape:* (rows,).

    Args:
        names: the labels; the spellings of the papers' own code are read, too.
        column_name: name of the column for messages.

    Raises:
        ColumnError: another label, or a column that is not one of strings.
    """
    try:
        text = column.cast(pa.string())
    except pa.ArrowException as e:
        raise ColumnError(f"column {column_name!r} is {column.type}, but labels are strings: {', '.join(names)}") from e
    spellings = pa.array([*names, *_SPELLINGS])
    codes_of_spellings = [
        *range(len(names)),
        *(names.index(label) if label in names else NO_LABEL for label in _SPELLINGS.values()),
        NO_LABEL,
    ]
    null_position = len(codes_of_spellings) - 1
    positions = pc.fill_null(pc.index_in(text, value_set=spellings), null_position).to_numpy(zero_copy_only=False)
    codes = np.array(codes_of_spellings, np.int8)[positions]
    unknown = (codes == NO_LABEL) & pc.is_valid(text).to_numpy(zero_copy_only=False)
    if unknown.any():
        row = int(np.flatnonzero(unknown)[0])
        raise ColumnError(
            f"column {column_name!r} has the label {text[row].as_py()!r} in row {row}; "
            f"it may be {', '.join(names)} or null"
        )
    return codes


def fine_codes(column: pa.Array, column_name: str) -> npt.NDArray[np.int8]:
    """Positions in :data:`scorer.metric.verdict.FINE`, bit 1 omission, bit 2 hallucination; -1 for null."""
    return label_codes(column, FINE, column_name)


def rough_codes(column: pa.Array, column_name: str) -> npt.NDArray[np.int8]:
    """Positions in :data:`scorer.metric.verdict.ROUGH`; -1 for null."""
    return label_codes(column, ROUGH, column_name)


def rough_of(fine: npt.NDArray[np.int8]) -> npt.NDArray[np.int8]:
    """ROUGH of FINE; -1 stays."""
    return np.minimum(fine, np.int8(NOT_OK))


def from_scores(scores: npt.NDArray[np.float64], threshold: float) -> npt.NDArray[np.int8]:
    """ROUGH from a human score: OK from the threshold on; NaN gives -1."""
    return np.where(np.isnan(scores), NO_LABEL, scores < threshold).astype(np.int8)


def numbers(column: pa.Array, column_name: str) -> npt.NDArray[np.float64]:
    """A column of numbers or Booleans, or their texts; NaN for null. float64, *Shape:* (rows,).

    Raises:
        ColumnError: not numeric, or an integer that float64 does not hold; shows the first such value.
    """
    if pa.types.is_string(column.type):  # of a CSV or of JSON Lines, whose values stay as they are written
        text = pc.if_else(pc.equal(column, ""), None, column)
        is_boolean = pc.is_in(text, pa.array(["true", "false"]))
        if len(column) - text.null_count == pc.sum(is_boolean).as_py() > 0:
            column = pc.equal(text, "true")
        else:
            for number_type in (pa.int64(), pa.float64()):
                with suppress(pa.ArrowInvalid):
                    column = text.cast(number_type)
                    break
    kind = column.type
    tests = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_null)
    if not any(test(kind) for test in tests):
        example = next((f" ({value!r})" for value in column.slice(0, 1000).to_pylist() if value not in (None, "")), "")
        raise ColumnError(f"column {column_name!r} is {kind}{example[:80]}, but a score must be one number a row")
    if pa.types.is_boolean(kind):
        column = column.cast(pa.int8())
    if pa.types.is_integer(kind):
        for value in pc.unique(column.drop_null()).to_pylist() if kind.bit_width == 64 else ():
            if float(value) != value:
                raise ColumnError(
                    f"column {column_name!r} has {value}, which a 64-bit float does not hold exactly; scale it"
                )
    return np.asarray(column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False), np.float64)


def list_reduced(column: pa.Array, reduction: str) -> npt.NDArray[np.float64]:
    """Minimum or mean of each list of numbers, nulls skipped; NaN for null and empty lists. *Shape:* (rows,)."""
    lengths = pc.fill_null(pc.list_value_length(column), 0).to_numpy(zero_copy_only=False)
    values = np.asarray(pc.list_flatten(column).cast(pa.float64()).to_numpy(zero_copy_only=False), np.float64)
    rows = np.repeat(np.arange(len(column)), lengths)
    is_number = ~np.isnan(values)
    rows, values = rows[is_number], values[is_number]
    counts = np.bincount(rows, minlength=len(column))
    if reduction == "min":
        result = np.full(len(column), np.inf)
        np.minimum.at(result, rows, values)
    else:
        result = np.bincount(rows, weights=values, minlength=len(column)) / np.maximum(counts, 1)
    return np.where(counts > 0, result, np.nan)


def omitted_facts(column: pa.Array, offsets: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    """Facts that the column ``omitted`` lists. Positions that a row does not have are ignored.

    Args:
        column: lists of positions among a row's facts; null for none.
        offsets: *Shape:* (rows + 1,), number of the first fact of each row.

    Returns:
        bool, *Shape:* (facts,), for the facts of all rows in order.
    """
    counts = pc.fill_null(pc.list_value_length(column), 0).to_numpy(zero_copy_only=False)
    positions = np.asarray(pc.list_flatten(column).to_numpy(zero_copy_only=False), np.int64)
    owner = np.repeat(np.arange(len(counts)), counts)
    is_valid = (positions >= 0) & (positions < np.diff(offsets)[owner])
    omitted = np.zeros(int(offsets[-1]), bool)
    omitted[offsets[owner[is_valid]] + positions[is_valid]] = True
    return omitted


def group_codes(column: pa.Array, column_name: str) -> tuple[npt.NDArray[np.int64], list[Any]]:
    """Positions of each row's value among the distinct values in order, and these values as JSON can hold them.

    Numbers and booleans stay such, anything else becomes a string. Null comes last, as ``None``; NaN is null.

    Raises:
        ColumnError: lists, structs and maps have no order and no name.
    """
    if pa.types.is_nested(column.type):
        raise ColumnError(f"column {column_name!r} is {column.type} and cannot group rows; name one of single values")
    if pa.types.is_null(column.type):
        return np.zeros(len(column), np.int64), [None]
    if pa.types.is_dictionary(column.type):  # whose dictionary may hold a value twice, or a null
        column = column.dictionary_decode()
    plain = (pa.types.is_string, pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_binary)
    if not any(is_plain(column.type) for is_plain in plain):  # dates, times and the like, which Python may not hold
        text_codes, texts = encode_names(column, "")
        column = pa.array(texts, pa.string()).take(pa.array(text_codes))
    if pa.types.is_string(column.type):
        codes, values = encode(column)
        names: list[Any] = [value.decode(errors="replace") for value in values]
    else:
        if pa.types.is_floating(column.type):
            column = pc.if_else(pc.is_nan(column), None, column)
        encoded = column.dictionary_encode()
        codes = pc.fill_null(encoded.indices.cast(pa.int64()), -1).to_numpy(zero_copy_only=False)
        names = encoded.dictionary.to_pylist()
    order = sorted(range(len(names)), key=lambda i: names[i])
    rank = np.empty(len(names) + 1, np.int64)
    rank[order] = np.arange(len(names))
    rank[-1] = len(names)  # where code -1, null, points
    ordered = [_plain(names[i]) for i in order]
    return rank[codes], [*ordered, None] if (codes < 0).any() else ordered


def _plain(value: Any) -> Any:
    """A value as JSON can hold it."""
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    finite = not isinstance(value, float) or math.isfinite(value)
    return value if isinstance(value, str | int | float) and finite else str(value)


# --- values as names of groups ---

Names = list[str | None]
_WHOLE = re.compile(r"(-?[0-9]+)\.0+")
_BINARIES = (types.is_binary, types.is_large_binary, types.is_binary_view, types.is_fixed_size_binary)


def value_name(value: Any, write: Callable[[Any], str | None] = spell) -> str | None:
    """The name of a group by its value: as :func:`spell` writes it, otherwise as Python does, such as ``nan``."""
    try:
        text = write(value)
    except (ValueError, OverflowError):  # a year or a time zone that Python does not have: the number that is stored
        text = None
    return text if text is not None or value is None else str(value)


def by_value(name: str | None) -> str | None:
    """One key for the names of equal values: spreadsheets and data frames turn a 7 into 7.0."""
    match = _WHOLE.fullmatch(name) if name is not None else None
    return name if match is None else match[1]


def spelled(value: str | None) -> str:
    """A group value as messages, gates and files of metrics write it: null is ``null``, a text of that name ``"null"``.

    Distinct values stay distinct: a text that looks like a null or like a quoted text is quoted.
    """
    if value is None:
        return "null"
    return json.dumps(value, ensure_ascii=False) if value == "null" or value.startswith('"') else value


def encode_names(column: pa.Array, name: str) -> tuple[npt.NDArray[np.int64], Names]:
    """A column as codes of texts.

    Args:
        name: name of the column for messages.

    Returns:
        Codes, int64, *Shape:* (rows,), and the distinct texts that they are positions in. A string that is not UTF-8
        has ``\\xff`` where it is broken, so that two broken strings stay two; bytes are hexadecimal.

    Raises:
        ColumnError: lists, structs and the like, which have no single values.
    """
    plain = column.storage if isinstance(column.type, pa.BaseExtensionType) else column
    plain = plain.dictionary_decode() if types.is_dictionary(plain.type) else plain
    texts: Names
    if is_text(plain.type):
        codes, values = encode(plain)
        texts = [value.decode(errors="backslashreplace") for value in values]
    elif any(test(plain.type) for test in _BINARIES):
        codes, values = encode(plain)
        texts = [value.hex() for value in values]
    elif is_part(plain.type):
        codes, stored, write = stored_values(plain)
        texts = [value_name(value, write) for value in stored]
    else:
        raise ColumnError(f"column {name!r} is {column.type} and cannot group rows; name one of single values")
    texts.append(None)  # where the code of null points
    used, inverse = np.unique(codes, return_inverse=True)
    distinct: dict[str | None, int] = {}
    positions = [distinct.setdefault(texts[code], len(distinct)) for code in used.tolist()]
    return np.array(positions, np.int64)[inverse.reshape(-1)], list(distinct)


def value_names(column: pa.Array, name: str) -> Names:
    """A column's values, each as text; see :func:`encode_names`."""
    codes, distinct = encode_names(column, name)
    return [distinct[code] for code in codes.tolist()]


def worst_sentence(text: str | None, sentences: Sequence[Mapping[str, Any]] | None) -> str | None:
    """The sentence of a text that the facts support least, with its P(entailment); ``None`` unless there are several.

    Args:
        sentences: a value of the output column: ``start``, ``end``, ``entailment`` of each sentence.
    """
    scored = [sentence for sentence in sentences or () if sentence["entailment"] is not None]
    if text is None or len(scored) < 2:
        return None
    worst = min(scored, key=lambda sentence: sentence["entailment"])
    return f"{text[worst['start'] : worst['end']]} ({worst['entailment']:.3f})"
