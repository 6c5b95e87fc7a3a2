"""Why not one row of a table can be scored: the first bad value, what is expected, and how to convert the column."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, Literal

import pyarrow as pa

from .conversions import EXAMPLES, conversion
from .nested import column_of
from .rows import INVALID_SELECTION, NULL_TEXT, Rows
from .triples import INVALID_UTF8, NO_TRIPLES

MOST_CHARACTERS = 120


FactForm = Literal["triples", "facts", "mr"]
"""How a column holds facts: triples, sentences that need no template, or E2E meaning representations. Also the name of
the column that is looked for when none is given."""


def refusal(rows: Rows, table: pa.Table, text: str, facts: str, form: FactForm) -> str | None:
    """What to say of a table without one row that can be scored; ``None`` if there is such a row, or no row at all.

    Args:
        text, facts, form: the columns that the rows were parsed from, and how ``facts`` holds them.
    """
    if not len(rows) or len(rows.errors) < len(rows):
        return None
    return f"{kinds_of(rows.errors)}: {first_reason(rows.errors[0], table, text, facts, form)}"


def kinds_of(errors: Mapping[int, str]) -> str:
    """How often each kind of error occurs, for messages."""
    return ", ".join(f"{kind} {count:,}" for kind, count in sorted(Counter(errors.values()).items()))


def first_reason(error: str, table: pa.Table, text: str, facts: str, form: FactForm) -> str:
    """Why the first row of a table, which has the error, cannot be scored."""
    if error == NULL_TEXT:
        return f"row 0 has no text: column {text!r} is null; name another column with --text-column"
    if error == INVALID_SELECTION:
        return "row 0 selects a fact that it does not have: column 'selected' has positions from 0"
    if error == INVALID_UTF8:
        return f"row 0 is not UTF-8 in column {text!r} or {facts!r}; write the file again as UTF-8"
    value = _shown(column_of(table, facts), 0)
    if error == NO_TRIPLES and form != "mr":
        return f"row 0 has no facts: column {facts!r} is {value}; a value should be like {EXAMPLES[form]}"
    message = f"row 0 has {value} in column {facts!r}, where a value should be like {EXAMPLES[form]}"
    return f"{message}; {conversion(table.schema.field(facts))}" if facts in table.schema.names else message


def _shown(column: pa.ChunkedArray, row: int) -> str:
    """A value on one line of bounded length."""
    try:
        value: Any = column[row].as_py()
    except UnicodeDecodeError:
        return "bytes that are not UTF-8"
    text = repr(value)
    return text if len(text) <= MOST_CHARACTERS else text[: MOST_CHARACTERS - 3] + "..."
