"""Values of a column as texts: what groups are called, and what a gate's ``group`` is compared with."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from ..errors import ColumnError
from . import facts
from .values import is_part, is_text, spell, stored_values

Texts = list[str | None]
_BYTES = (types.is_binary, types.is_large_binary, types.is_binary_view, types.is_fixed_size_binary)


def as_text(value: Any, write: Callable[[Any], str | None] = spell) -> str | None:
    """A value as groups are named by it: as :mod:`.values` spells it, and otherwise as Python does, such as ``nan``."""
    try:
        text = write(value)
    except (ValueError, OverflowError):  # a year or a time zone that Python does not have: the number that is stored
        text = None
    return text if text is not None or value is None else str(value)


def spelled(value: str | None) -> str:
    """A group value as messages, gates and files of metrics write it: null is ``null``, a text of that name ``"null"``.

    Distinct values stay distinct: a text that looks like a null or like a quoted text is quoted.
    """
    if value is None:
        return "null"
    return json.dumps(value, ensure_ascii=False) if value == "null" or value.startswith('"') else value


def encode(column: pa.Array, name: str) -> tuple[npt.NDArray[np.int64], Texts]:
    """A column as codes of texts.

    Args:
        name: of the column, for messages.

    Returns:
        Codes, int64, *Shape:* (rows,), and the distinct texts that they are positions in. A string that is not UTF-8
        has ``\\xff`` where it is broken, so that two broken strings stay two; bytes are hexadecimal.

    Raises:
        ColumnError: lists, structs and the like, which have no single values.
    """
    codes, texts = _encode(column, name)
    used, inverse = np.unique(codes, return_inverse=True)
    distinct: dict[str | None, int] = {}
    places = [distinct.setdefault(texts[code], len(distinct)) for code in used.tolist()]
    return np.array(places, np.int64)[inverse.reshape(-1)], list(distinct)


def texts(column: pa.Array, name: str) -> Texts:
    """A column's values, each as text; see :func:`encode`."""
    codes, distinct = encode(column, name)
    return [distinct[code] for code in codes.tolist()]


def _encode(column: pa.Array, name: str) -> tuple[npt.NDArray[np.int64], Texts]:
    """Codes and texts, the last of which is ``None``; the texts may be equal, and need not all be used."""
    plain, is_uuid = column, False
    if isinstance(plain.type, pa.BaseExtensionType):
        is_uuid, plain = plain.type.extension_name == "arrow.uuid", plain.storage
    if types.is_run_end_encoded(plain.type):
        plain = pc.run_end_decode(plain)
    if types.is_dictionary(plain.type):
        plain = plain.dictionary_decode()
    kind = plain.type
    if (
        is_text(kind)
        or types.is_binary(kind)
        or types.is_large_binary(kind)
        or types.is_binary_view(kind)
        or (types.is_fixed_size_binary(kind))
    ):
        codes, values = facts.encode(plain)
        if is_uuid:
            return codes, [*(str(uuid.UUID(bytes=value)) for value in values), None]
        return codes, [*(v.decode(errors="backslashreplace") if is_text(kind) else v.hex() for v in values), None]
    if is_part(kind):
        codes, stored, write = stored_values(plain)
        return codes, [*(as_text(value, write) for value in stored), None]
    raise ColumnError(f"column {name!r} is {column.type} and cannot group rows; name one of single values")
