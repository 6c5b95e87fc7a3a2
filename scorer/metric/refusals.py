"""Why rows have no label: the first bad value, what is wrong with it, and what is expected."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import pyarrow as pa

from .attributes import NAME, NO_SUBJECT, BadAttributesError, read_attributes
from .nested import column_of, find_field
from .part_names import PARTS, part_names
from .python_rows import split_bars
from .rows import INVALID_SELECTION, NULL_TEXT
from .triple_forms import split_text
from .triples import INVALID_UTF8, NO_TRIPLES, parse_mr
from .values import parse_json, shown

FactForm = Literal["triples", "attributes", "facts", "mr", "document"]
"""How a column holds facts: triples, attributes of a subject, sentences that need no template, E2E meaning
representations, or a source text in their place. Also the name of the column that is looked for when none is given."""

EXAMPLES: dict[FactForm, str] = {
    "triples": '[{"subject": "The Lamb", "predicate": "eatType", "object": "pub"}], the same as a string of JSON, or '
    "'The Lamb | eatType | pub ++ The Lamb | food | Thai'",
    "attributes": '{"name": "The Lamb", "eatType": "pub", "food": "Thai"}',
    "facts": '["The Lamb is a pub.", "The Lamb serves Thai food."]',
    "mr": "name[The Lamb], eatType[pub], food[Thai]",
    "document": '"The Lamb is a Thai pub. It opened in 1998." or a list of such passages',
}
"""A value of each form of facts, as a user would write it."""


@dataclass(frozen=True)
class BadRows:
    """Rows of a table that get no label. ``all``: whether no row gets one; ``kinds``: how many have which error;
    ``row``: the first of them; ``why``: what is wrong with it."""

    all: bool
    kinds: str
    row: int
    why: str

    @property
    def message(self) -> str:
        """All of it in one line."""
        return f"{self.kinds}: row {self.row} {self.why}"


def bad_rows(errors: Mapping[int, str], rows: int, why: Callable[[int], str]) -> BadRows | None:
    """What to say of the rows of a table that get no label; ``None`` where there are none.

    Args:
        errors: the error of each such row.
        rows: how many the table has.
        why: says what is wrong with a row.
    """
    if not errors:
        return None
    kinds = ", ".join(f"{kind} {count:,}" for kind, count in sorted(Counter(errors.values()).items()))
    first = min(errors)
    return BadRows(len(errors) == rows, kinds, first, why(first))


def why_bad(table: pa.Table, row: int, error: str, text: str, facts: str, form: FactForm, key: str = NAME) -> str:
    """Why a row, which has the error, gets no label.

    Args:
        text, facts, form: the columns that the row was parsed from, and how ``facts`` holds the facts.
        key: the attribute, or the column, that names the subject.
    """
    if error == NULL_TEXT:
        return f"has no text: column {text!r} is null; name another column with --text-column"
    if error == INVALID_SELECTION:
        return "selects a fact that it does not have: column 'selected' has positions from 0"
    if error == INVALID_UTF8:
        return f"is not UTF-8 in column {text!r} or {facts!r}; write the file again as UTF-8"
    if error == NO_SUBJECT and find_field(table.schema, key) is not None:
        return f"has no subject: column {key!r} is {_value(table, key, row)}; name another with --subject-column"
    value = _value(table, facts, row)
    if error == NO_TRIPLES and form != "mr":
        return f"has no facts: column {facts!r} is {value}; a value should be like {EXAMPLES[form]}"
    why = why_malformed(column_of(table, facts)[row].as_py(), form, key)
    what = f" ({why})" if why else ""
    return f"has {value} in column {facts!r}{what}, where a value should be like {EXAMPLES[form]}"


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
            return "it is not an object"
        return None
    if form == "mr":
        return "it is not a list of slots with exactly one name" if parse_mr(value or "") is None else None
    if isinstance(value, str):
        try:
            value = split_text(value) if form == "triples" else parse_json(value)
        except ValueError as error:
            return f"it is not JSON: {error}"
    if not isinstance(value, list):
        return "it is not a list" if value is not None else None
    check = _why_no_triple if form == "triples" else _why_no_fact
    reasons = ((number, check(element)) for number, element in enumerate(value))
    return next((f"{form[:-1]} {number} {reason}" for number, reason in reasons if reason), None)


def _why_no_fact(fact: Any) -> str | None:
    if fact is None:
        return "is null"
    return None if isinstance(fact, str) and fact.strip() else f"is {shown(fact)}, not a sentence"


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
        return f"has {'one part' if len(parts) == 1 else f'{len(parts)} parts'} and not three: {shown(triple)}"
    for name, part in zip(PARTS, parts, strict=True):
        if part is None or (isinstance(part, str) and not part.strip()):
            return f"has no {name}: {shown(triple)}"
        if isinstance(part, Mapping | list):
            return f"has {shown(part)} as its {name}"
    return None


def _value(table: pa.Table, column: str, row: int) -> str:
    try:
        return shown(column_of(table, column)[row].as_py())
    except UnicodeDecodeError:
        return "bytes that are not UTF-8"
