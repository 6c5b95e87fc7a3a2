"""Why rows cannot be scored: the first bad value, what is wrong with it, and what is expected."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from typing import Any, Literal

import pyarrow as pa

from .attributes import NAME, BadAttributesError, read_attributes
from .nested import column_of
from .part_names import PARTS, part_names
from .python_rows import split_bars
from .rows import INVALID_SELECTION, NULL_TEXT, Rows
from .triple_forms import split_text
from .triples import INVALID_UTF8, NO_TRIPLES, parse_mr

MOST_CHARACTERS = 120


FactForm = Literal["triples", "attributes", "facts", "mr"]
"""How a column holds facts: triples, attributes of a subject, sentences that need no template, or E2E meaning
representations. Also the name of the column that is looked for when none is given."""

EXAMPLES: dict[FactForm, str] = {
    "triples": '[{"subject": "The Lamb", "predicate": "eatType", "object": "pub"}], the same as a string of JSON, or '
    "'The Lamb | eatType | pub ++ The Lamb | food | Thai'",
    "attributes": '{"name": "The Lamb", "eatType": "pub", "food": "Thai"}',
    "facts": '["The Lamb is a pub.", "The Lamb serves Thai food."]',
    "mr": "name[The Lamb], eatType[pub], food[Thai]",
}
"""A value of each form of facts, as a user would write it."""


def refusal(rows: Rows, table: pa.Table, text: str, facts: str, form: FactForm, key: str = NAME) -> str | None:
    """What to say of a table without one row that can be scored; ``None`` if there is such a row, or no row at all.

    Args:
        text, facts, form: the columns that the rows were parsed from, and how ``facts`` holds them.
        key: the attribute that names the subject.
    """
    if not len(rows) or len(rows.errors) < len(rows):
        return None
    return f"{kinds_of(rows.errors)}: {first_reason(rows.errors[0], table, text, facts, form, key)}"


def kinds_of(errors: Mapping[int, str]) -> str:
    """How often each kind of error occurs, for messages."""
    return ", ".join(f"{kind} {count:,}" for kind, count in sorted(Counter(errors.values()).items()))


def first_reason(error: str, table: pa.Table, text: str, facts: str, form: FactForm, key: str = NAME) -> str:
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
    why = why_malformed(column_of(table, facts)[0].as_py(), form, key)
    what = f" ({why})" if why else ""
    return f"row 0 has {value} in column {facts!r}{what}, where a value should be like {EXAMPLES[form]}"


def why_malformed(value: Any, form: FactForm, key: str = NAME) -> str | None:
    """Which of the facts of a value is malformed, and why; ``None`` if none is.

    Args:
        value: of a column of facts, as Python has it.
        key: the attribute that names the subject.
    """
    if form == "attributes":
        try:
            read_attributes(dict(value) if isinstance(value, list) else value, None, key)
        except BadAttributesError as error:
            return str(error)
        except (TypeError, ValueError):
            return "it is no object"
        return None
    if form == "mr":
        return "it is no list of slots with exactly one name" if parse_mr(value or "") is None else None
    if isinstance(value, str):
        if form == "triples" and (found := split_text(value)) is not None:
            value = found
        else:
            try:
                value = json.loads(value)
            except (ValueError, RecursionError) as error:
                return f"it is no JSON: {error}"
    if not isinstance(value, list):
        return "it is no list" if value is not None else None
    check = _why_no_triple if form == "triples" else _why_no_fact
    reasons = ((number, check(element)) for number, element in enumerate(value))
    return next((f"{form[:-1]} {number} {reason}" for number, reason in reasons if reason), None)


def _why_no_fact(fact: Any) -> str | None:
    if fact is None:
        return "is null"
    return None if isinstance(fact, str) and fact.strip() else f"is {_short(fact)}, not a sentence"


def _why_no_triple(triple: Any) -> str | None:
    if triple is None:
        return "is null"
    if isinstance(triple, str):
        parts: list[Any] = list(split_bars(triple))
    elif isinstance(triple, list) and triple and all(isinstance(one, tuple) for one in triple):
        triple = dict(triple)
        parts = []
    else:
        parts = list(triple) if isinstance(triple, list | tuple) else []
    if isinstance(triple, Mapping):
        names = part_names(triple)
        if names is None:
            return f"has the keys {', '.join(map(str, triple))} and not subject, predicate, object"
        parts = [triple[name] for name in names]
    if len(parts) != 3:
        return f"has {len(parts)} parts and not three: {_short(triple)}"
    for name, part in zip(PARTS, parts, strict=True):
        if part is None or (isinstance(part, str) and not part.strip()):
            return f"has no {name}: {_short(triple)}"
        if isinstance(part, Mapping | list):
            return f"has {_short(part)} as its {name}"
    return None


def _shown(column: pa.ChunkedArray, row: int) -> str:
    """A value on one line of bounded length."""
    try:
        return _short(column[row].as_py())
    except UnicodeDecodeError:
        return "bytes that are not UTF-8"


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= MOST_CHARACTERS else text[: MOST_CHARACTERS - 3] + "..."
