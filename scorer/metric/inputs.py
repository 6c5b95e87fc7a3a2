"""Which column of a table holds which input, the rows of a table, and why a row has no label."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
import pyarrow as pa

from ..errors import ColumnError
from ..system.input_formats import ROW_INFO
from .attributes import NAME, NO_SUBJECT, BadAttributesError, from_attributes, holds_attributes, read_attributes
from .columns import output_schema
from .facts import INVALID_SELECTION, INVALID_UTF8, NO_TRIPLES, NULL_TEXT, FactTable, Rows, from_arrow
from .formats import (
    PARTS,
    from_documents,
    from_lists,
    from_mr,
    from_sentences,
    holds_documents,
    holds_triples,
    parse_mr,
    part_names,
    read_selections,
    split_bars,
    split_triples,
)
from .options import ColumnNames
from .paths import column_of, find_field, holders_of, named_path, named_paths, one_chunk, read_path
from .values import is_list, is_part, is_text, parse_json, shown, to_python

NOT_A_TEXT = "malformed_row"
SELECTED = "selected"

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
class InputColumns:
    """The columns of one schema.

    ``text``: the column of texts. ``facts``: the column of facts, ``form``: how it holds them; ``selected``: the column
    of selections, if there is one; ``passed``: the input columns that the output keeps; ``keeps_all``: whether these
    were not chosen by the user; ``prefix``, ``details``: of the output columns, see :class:`.ColumnNames`.
    ``holders``: the columns that texts and facts are read from; others than ``text`` and ``facts`` where these are
    fields of others. ``subject``: the column or the key that names the subject of attributes, if it is not the key
    ``name``. ``has_info``: whether the reader tells of rows that it could not read
    (:data:`scorer.system.input_formats.ROW_INFO`).
    """

    text: str
    facts: str
    form: FactForm
    selected: str | None
    passed: tuple[str, ...]
    keeps_all: bool
    prefix: str
    details: bool
    holders: tuple[str, ...]
    subject: str | None
    has_info: bool

    @classmethod
    def find(cls, schema: pa.Schema, names: ColumnNames) -> Self:
        """Find and check the columns of a schema.

        Raises:
            ColumnError: a column is missing, has a type that cannot be read, occurs twice, or has an output column's
                name.
        """
        check_unique(schema)
        text = required_field(schema, names.text, "text", "--text-column")
        if not is_text(text.type):
            raise ColumnError(
                f"column {names.text!r} is {text.type}, but the text must be a string; name another with --text-column"
            )
        facts, form = find_source(schema, names)
        passed = find_passed(schema, names, output_schema(names))
        subject = names.subject if form == "attributes" else None
        named = find_field(schema, subject) if subject is not None else None
        if named is not None and not is_part(named.type):
            raise ColumnError(f"column {subject!r} is {named.type}, but a subject is a string or a number")
        read = [names.text, facts, *([subject] if subject is not None and named is not None else [])]
        return cls(
            text=names.text,
            facts=facts,
            form=form,
            selected=SELECTED if SELECTED in schema.names else None,
            passed=passed,
            keeps_all=names.keep is None,
            prefix=names.prefix,
            details=names.details,
            holders=tuple(holder for name in read for holder in holders_of(schema, name)),
            subject=subject,
            has_info=ROW_INFO in schema.names,
        )

    @property
    def needed(self) -> list[str]:
        """All columns to read, each once."""
        more = [*([self.selected] if self.selected else []), *([ROW_INFO] if self.has_info else [])]
        return list(dict.fromkeys([*self.passed, *self.holders, *more]))

    @property
    def shape(self) -> dict[str, object]:
        """What the columns of the output depend on, in the types of JSON; receipts compare it."""
        return {
            "text": self.text,
            "facts": self.facts,
            "form": self.form,
            **({"subject": self.subject} if self.form == "attributes" else {}),
            "selected": self.selected,
            "keep": list(self.passed),
            "prefix": self.prefix,
            "details": self.details,
        }

    def rows(self, table: pa.Table) -> Rows:
        """Parse a window."""
        selected = read_selections(one_array(table, self.selected)) if self.selected else None
        rows = from_arrow(self.triples(table), one_array(table, self.text), selected)
        for row, info in _row_infos(table):
            if info["error"] is not None:
                rows.errors[row], rows.triples.raw[row] = info["error"], info["raw"] or b""
            elif self.text in info["nested"]:
                rows.errors[row] = NOT_A_TEXT
        return rows

    def triples(self, table: pa.Table) -> FactTable:
        """Parse the facts of a window."""
        return read_facts(table, self.facts, self.form, self.subject)

    def invalid_rows(self, table: pa.Table) -> InvalidRows | None:
        """The rows of a table that get no label, and why the first does not; ``None`` if there are none."""
        errors = self.rows(table).errors
        return invalid_rows(errors, len(table), lambda row: explain_invalid(table, row, errors[row], self))

    def with_triples(self, why: str) -> InputColumns:
        """These columns, if their facts have a subject, a predicate and an object.

        Raises:
            ColumnError: they are sentences; ``why`` ends the message.
        """
        if self.form in ("facts", "document"):
            raise ColumnError(
                f"column {self.facts!r} has facts as sentences, and {why}; name a column of triples with "
                "--triples-column or --mr-column"
            )
        return self


def _row_infos(table: pa.Table) -> list[tuple[int, dict[str, Any]]]:
    """What the reader tells of rows, by row, where it tells anything."""
    if ROW_INFO not in table.column_names:
        return []
    infos = one_array(table, ROW_INFO)
    told = np.flatnonzero(infos.is_valid().to_numpy(zero_copy_only=False))
    return list(zip(told.tolist(), infos.take(pa.array(told)).to_pylist(), strict=True))


def read_facts(table: pa.Table, facts: str, form: FactForm, subject: str | None = None) -> FactTable:
    """The facts of a table.

    Args:
        facts, form: the column that has them, and how.
        subject: of attributes: the column that names their subject, or their key where there is no such column.
    """
    if form != "attributes":
        return _PARSERS[form](one_array(table, facts))
    paths = named_paths(table.schema, facts)
    own = named_path(table.schema, subject) if subject is not None else None
    if own is None:
        return from_attributes(_attribute_values(table, paths, facts), key=subject or NAME)
    within: tuple[str, ...] = ()  # where the subject stands in the attributes
    for part, path in paths.items():
        if own[: len(path)] == path:
            within = (*own[len(path) :],) if facts in paths else (part, *own[len(path) :])
    plain = paths[facts][-1] if facts in paths else None
    subjects = to_python(one_array(table, str(subject)))
    return from_attributes(_attribute_values(table, paths, facts), subjects, within=within, plain=plain)


def _attribute_values(table: pa.Table, paths: Mapping[str, list[str]], name: str) -> list[Any]:
    """The attributes of each row: those of one column, or several columns as one object."""
    if name in paths:
        return to_python(one_chunk(read_path(table, paths[name])))
    columns = {part: to_python(one_chunk(read_path(table, path))) for part, path in paths.items()}
    for row, info in _row_infos(table):
        for part in info["nested"]:
            if part in columns and columns[part][row] is not None:
                columns[part][row] = parse_json(columns[part][row])
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


_PARSERS: dict[FactForm, Callable[[pa.Array], FactTable]] = {
    "triples": from_lists,
    "facts": from_sentences,
    "mr": from_mr,
    "document": from_documents,
}


def find_columns(schema: pa.Schema, names: ColumnNames) -> InputColumns:
    """See :meth:`InputColumns.find`."""
    return InputColumns.find(schema, names)


def find_source(schema: pa.Schema, names: ColumnNames) -> tuple[str, FactForm]:
    """The column of facts and its form, as :func:`find_facts`.

    Raises:
        ColumnError: there are no facts, they have a type that cannot be read, or several columns have them.
    """
    found = find_facts(schema, names)
    if found is None:
        named = next((name for name in _named(names).values()), None)
        wanted = repr(named) if named else "'triples', 'attributes', 'facts' or 'mr'"
        hint = (
            "; for source texts in place of facts, pass --document-column document"
            if "document" in schema.names and not named
            else ""
        )
        raise ColumnError(
            f"no column {wanted}; the columns are {_listed(schema)}; name the column of facts with --triples-column, "
            f"--attributes-column, --facts-column, --mr-column or --document-column{hint}"
        )
    facts, form = found
    column = required_field(schema, facts, "facts", f"--{form}-column")
    # A column that is named, next to one of subjects, may hold a single attribute of each.
    single = form == "attributes" and names.subject is not None and is_part(column.type)
    if not _TESTS[form](column.type) and not single:
        raise ColumnError(
            f"column {facts!r} is {column.type}, but {_EXPECTED[form]}, like {EXAMPLES[form]}; name another with "
            f"--{form}-column"
        )
    return facts, form


def find_passed(schema: pa.Schema, names: ColumnNames, added: Iterable[pa.Field]) -> tuple[str, ...]:
    """The input columns that the output keeps.

    Args:
        added: the output columns, without the prefix.

    Raises:
        ColumnError: one to keep is missing, or has the name of an output column.
    """
    passed = _passed(schema, names)
    clashing = [names.prefix + field.name for field in added if names.prefix + field.name in passed]
    if clashing:
        raise ColumnError(
            f"the input has a column {clashing[0]!r}, which is the name of an output column; "
            "set a --prefix for the output columns, or leave the column out with --keep"
        )
    return passed


def find_facts(schema: pa.Schema, names: ColumnNames) -> tuple[str, FactForm] | None:
    """The column of facts and its form: the one that is named, otherwise ``triples``, ``attributes``, ``facts`` or
    ``mr``; documents have to be named, since what is asked of them is in the signature.

    ``triples`` goes before ``mr``: files of E2E have both, with the same facts. A column ``attributes`` or ``facts`` of
    a type that holds none is not looked at unless it is named. ``None`` when there is no such column.

    Raises:
        ColumnError: several columns are named, or several have facts and none is named.
    """
    named = _named(names)
    if names.triples is not None and not holders_of(schema, names.triples) and not named.keys() - {"triples"}:
        return ("mr", "mr") if "mr" in schema.names else None
    if len(named) > 1:
        options = [f"--{form}-column" for form in named]
        raise ColumnError(f"{' and '.join(options)} both name a column of facts; give one of them")
    for form, name in named.items():
        return (name, form) if holders_of(schema, name) else None
    there: list[FactForm] = [form for form in _TESTS if form in schema.names and _is_candidate(form, schema)]
    if "triples" in there and "mr" in there:
        there.remove("mr")
    if len(there) > 1:
        raise ColumnError(
            f"there are facts in the columns {there[0]!r} and {there[1]!r}; name the one to use with "
            f"--{there[0]}-column or --{there[1]}-column"
        )
    return (there[0], there[0]) if there else None


def _named(names: ColumnNames) -> dict[FactForm, str]:
    """The columns of facts that are named."""
    given = (names.triples, names.attributes, names.facts, names.mr, names.document)
    return {form: name for form, name in zip(_TESTS, given, strict=True) if name is not None}


def _is_candidate(form: FactForm, schema: pa.Schema) -> bool:
    kind = schema.field(form).type
    holds = _TESTS[form](kind) and not pa.types.is_null(kind)
    return form != "document" and (holds or form in ("triples", "mr"))


def _holds_sentences(kind: pa.DataType) -> bool:
    return is_text(kind) or (is_list(kind) and is_text(kind.value_type))


_TESTS: dict[FactForm, Callable[[pa.DataType], bool]] = {
    "triples": holds_triples,
    "attributes": holds_attributes,
    "facts": _holds_sentences,
    "mr": is_text,
    "document": holds_documents,
}
"""By form, in the order in which columns are looked for: whether a column of a type may hold it."""
_EXPECTED: dict[FactForm, str] = {
    "triples": "triples are list<struct<subject, predicate, object>>, list<string> or a string",
    "attributes": "attributes are a struct, a map or a string of a JSON object",
    "facts": "facts are list<string> or a string of a JSON list, a sentence each",
    "mr": "meaning representations are strings",
    "document": "a document is a string or list<string>, a passage each",
}


def _passed(schema: pa.Schema, names: ColumnNames) -> tuple[str, ...]:
    if names.keep is None:
        return tuple(name for name in schema.names if name != ROW_INFO)
    missing = [name for name in names.keep if name not in schema.names]
    if missing:
        raise ColumnError(f"--keep: no column {missing[0]!r}; the columns are {_listed(schema)}")
    return tuple(name for name in schema.names if name in names.keep)


def required_field(schema: pa.Schema, name: str, what: str, option: str) -> pa.Field:
    """The column of a name, or the field of a struct that dots lead to.

    Raises:
        ColumnError: there is neither; ``option`` names another.
    """
    field = find_field(schema, name)
    if field is None:
        raise ColumnError(f"no {what} column {name!r}; the columns are {_listed(schema)}; name it with {option}")
    return field


def _listed(schema: pa.Schema) -> str:
    names = [name for name in schema.names if name != ROW_INFO]
    return (", ".join(names[:20]) or "none") + (f" and {len(names) - 20} more" if len(names) > 20 else "")


def check_unique(schema: pa.Schema) -> None:
    """Refuse a schema in which two columns have one name.

    Raises:
        ColumnError: names it.
    """
    twice = [name for name, times in Counter(schema.names).items() if times > 1]
    if twice:
        raise ColumnError(f"two columns have the name {twice[0]!r}; rename one, since columns are found by name")


def one_array(table: pa.Table, name: str) -> pa.Array:
    """A column of a table, or a field of a struct, as one array."""
    return one_chunk(column_of(table, name))


@dataclass(frozen=True)
class InvalidRows:
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


def invalid_rows(errors: Mapping[int, str], rows: int, why: Callable[[int], str]) -> InvalidRows | None:
    """What to say of the rows of a table that get no label; ``None`` where there are none.

    Args:
        errors: the error of each such row.
        rows: how many the table has.
        why: says what is wrong with a row.
    """
    if not errors:
        return None
    counted = Counter(error.partition(":")[0] for error in errors.values())
    kinds = ", ".join(f"{kind} {count:,}" for kind, count in sorted(counted.items()))
    first = min(errors)
    return InvalidRows(len(errors) == rows, kinds, first, why(first))


def explain_invalid(table: pa.Table, row: int, error: str, columns: InputColumns) -> str:
    """Why a row, which has the error, gets no label."""
    text, facts, form, key = columns.text, columns.facts, columns.form, columns.subject or NAME
    info = dict(_row_infos(table)).get(row)
    if info is not None and info["error"] == error:
        return f"cannot be read: {info['detail']}"
    if error == NULL_TEXT:
        return f"has no text: column {text!r} is null; name another column with --text-column"
    if error == NOT_A_TEXT:
        return f"has no text: column {text!r} is {_shown_value(table, text, row)}, an object or a list; write a string"
    if error == INVALID_SELECTION:
        value = _shown_value(table, SELECTED, row)
        return f"selects {value} in column {SELECTED!r}; write a list of positions of its facts, from 0"
    if error == INVALID_UTF8:
        return f"is not UTF-8 in column {text!r} or {facts!r}; write the file again as UTF-8"
    if error == NO_SUBJECT and find_field(table.schema, key) is not None:
        return f"has no subject: column {key!r} is {_shown_value(table, key, row)}; name another with --subject-column"
    value = _shown_value(table, facts, row)
    if error == NO_TRIPLES and form != "mr":
        return f"has no facts: column {facts!r} is {value}; a value should be like {EXAMPLES[form]}"
    why = explain_malformed(_value(table, facts, row), form, key)
    what = f" ({why})" if why else ""
    return f"has {value} in column {facts!r}{what}, where a value should be like {EXAMPLES[form]}"


def explain_malformed(value: Any, form: FactForm, key: str = NAME) -> str | None:
    """Which of the facts of a value is malformed, and why; ``None`` if none is.

    Args:
        value: of a column of facts, as Python has it.
        key: the attribute that names the subject.
    """
    if form == "attributes":
        try:
            read_attributes(value, None, key)
        except BadAttributesError as error:
            return str(error)
        except (TypeError, ValueError):
            return "it is not an object"
        return None
    if form == "mr":
        return "it is not a list of slots with exactly one name" if parse_mr(value or "") is None else None
    if isinstance(value, str):
        try:
            value = split_triples(value) if form == "triples" else parse_json(value)
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


def _value(table: pa.Table, column: str, row: int) -> Any:
    """A value with its single values as text."""
    return to_python(one_chunk(column_of(table.slice(row, 1), column)))[0]


def _shown_value(table: pa.Table, column: str, row: int) -> str:
    return shown(_value(table, column, row)).encode("utf-8", "backslashreplace").decode()
