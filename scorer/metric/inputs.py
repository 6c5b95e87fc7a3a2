"""The input columns of a table, its rows, and why a row has no label."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import pyarrow as pa

from ..errors import ColumnError
from ..status import RowError
from ..system.files import ROW_INFO
from ..system.json_values import steps_below
from . import ColumnNames
from .attributes import from_attributes, holds_attributes, parse_nested
from .column_paths import NamedValues, fields_below, find, find_all, holders_of, one_array, row_infos, split_names
from .columns import MARKS, output_names
from .facts import (
    INVALID_SELECTION,
    INVALID_UTF8,
    NAME,
    NO_TRIPLES,
    NULL_TEXT,
    FactTable,
    Rows,
    Selection,
    encode,
    from_arrow,
)
from .formats import (
    from_documents,
    from_lists,
    from_mr,
    from_sentences,
    holds_sentences,
    holds_triples,
    parse_selection,
)
from .values import MOST_CHARACTERS, is_part, is_text, shown, to_python

NOT_A_TEXT = "malformed_row"
SELECTED = "selected"

FactForm = Literal["triples", "attributes", "facts", "mr", "document"]
"""The form of facts in a column; also a field of :class:`.ColumnNames`, and the name of the column that is looked for
where none is given."""


class _Form(NamedTuple):
    """A form of facts in a column."""

    holds: Callable[[pa.DataType], bool]
    """Whether a column of a type may hold it."""
    example: str
    """A value as a user would write it."""
    parse: Callable[[pa.Array], FactTable] | None = None
    """Reads a column; ``None`` for attributes, which may be in several columns."""


MOST_SHOWN = 8
FORMS: dict[FactForm, _Form] = {
    "triples": _Form(
        holds_triples,
        '[{"subject": "The Lamb", "predicate": "eatType", "object": "pub"}], the same as a string of JSON, or '
        "'The Lamb | eatType | pub ++ The Lamb | food | Thai'",
        from_lists,
    ),
    "attributes": _Form(
        holds_attributes, '{"name": "The Lamb", "eatType": "pub", "food": "Thai"}, or the same as a string of JSON'
    ),
    "facts": _Form(
        holds_sentences,
        '["The Lamb is a pub.", "The Lamb serves Thai food."], a sentence each, or the same as a string of JSON',
        from_sentences,
    ),
    "mr": _Form(is_text, "name[The Lamb], eatType[pub], food[Thai]", from_mr),
    "document": _Form(
        holds_sentences, '"The Lamb is a Thai pub. It opened in 1998.", or list<string> of passages', from_documents
    ),
}
"""In the order in which messages list them."""


_REASONS = {
    NULL_TEXT: "has no text",
    NOT_A_TEXT: "has an object or a list as its text",
    NO_TRIPLES: "has no facts",
    INVALID_UTF8: "is not UTF-8; save the file as UTF-8 (in Excel: CSV UTF-8), or convert it: iconv -f cp1252",
    INVALID_SELECTION: "selects no facts; write a list of positions of its facts, from 0",
}


_INFO = pa.struct([("error", pa.string()), ("nested", pa.list_(pa.string()))])
_OF_LINES = {
    "malformed_json": "not a JSON object, or has a key twice",
    "malformed_row": "not a row with as many fields as the header",
}
_OF_CHECKS = {
    "too_long": "that is longer than the model accepts; --overlong truncate shortens such checks",
    "not_finite": "of which the model returned NaN or infinity, in fp32 as well",
    "out_of_memory": "for which the device has too little memory",
}


@dataclass(frozen=True)
class InputColumns:
    """The columns of one schema."""

    names: ColumnNames
    """The user's names; ``subject`` only if the facts are attributes."""
    facts: str
    """The column of the facts, or the names of several columns of attributes."""
    form: FactForm
    """The form of the facts."""
    selected: str | None
    """The column of selections, if there is one."""
    passed: tuple[str, ...]
    """Input columns that the output keeps."""
    read: tuple[str, ...]
    """Input columns that texts, facts, selections and marks are read from."""
    marked: tuple[str, ...] = ()
    """Columns of attributes that hold an object or a list in some row of the file; the output marks these rows
    (:data:`.columns.MARKS`)."""

    @property
    def needed(self) -> list[str]:
        """All columns to read, each once."""
        return list(dict.fromkeys([*self.passed, *self.read]))

    @property
    def shape(self) -> dict[str, object]:
        """The choices that the columns of the output depend on, in the types of JSON; receipts compare them."""
        return {
            "text": self.names.text,
            "facts": self.facts,
            "form": self.form,
            **({"subject": self.names.subject} if self.form == "attributes" else {}),
            "selected": self.selected,
            "keep": list(self.passed),
            "prefix": self.names.prefix,
            "details": self.names.details,
        }

    def rows(self, table: pa.Table) -> Rows:
        """Parse a window."""
        facts = read_facts(table, self.facts, self.form, self.names.subject)
        selections = read_selections(table) if self.selected else None
        text = find_all(table, self.names.text)[self.names.text]
        rows = from_arrow(facts, text.values, selections)
        rows.errors.update(dict.fromkeys(text.nested, RowError(NOT_A_TEXT)))
        for row, info in row_infos(table):
            if info["error"] is not None:
                rows.errors[row] = RowError(info["error"], line=info["line"])
                rows.triples.raw[row] = info["raw"] or b""
        return rows

    def marks(self, table: pa.Table) -> pa.Array:
        """The array of :data:`.columns.MARKS` of a window. *Shape:* (rows,)."""
        marks: list[bytes | None] = [None] * len(table)
        cells = to_python(one_array(table, self.facts)) if self.facts in self.marked else None
        for row, info in row_infos(table):
            nested = [name for name in info["nested"] or () if name in self.marked]
            if nested and not (cells is not None and _is_object(cells[row])):  # a single object is read by its text
                marks[row] = json.dumps({"nested": nested}).encode()
        return pa.array(marks, MARKS.type)

    def why_none(self, table: pa.Table) -> str:
        """The reason why no row of a table gets a label; empty if a row gets one."""
        rows = self.rows(table)
        if not rows.errors or len(rows.errors) < len(table):
            return ""
        counts = Counter(error.kind for error in rows.errors.values())
        kinds = ", ".join(f"{kind} {count:,}" for kind, count in sorted(counts.items()))
        return f"{kinds}: {'row 0 ' if len(table) > 1 else ''}{self._explain(table, rows, 0)}"

    def why_failed(self, table: pa.Table, error: RowError) -> str:
        """The reason of an error, for messages. ``table``: the row of an output that has it."""
        kind = error.kind
        if kind in _OF_CHECKS:
            return f"has a check of its {' and '.join(error.sides)} side {_OF_CHECKS[kind]}"
        if error.line is not None:
            return f"could not be read: line {error.line} of its file is {_OF_LINES.get(kind, kind)}"
        rows = self.rows(table)
        rows.errors = {0: error}
        return self._explain(table, rows, 0)

    def _explain(self, table: pa.Table, rows: Rows, row: int) -> str:
        error, subject = rows.errors[row], [self.names.subject] if self.names.subject is not None else []
        if error.line is not None:
            return f"cannot be read: {dict(row_infos(table))[row]['detail']}"
        names = [self.names.text, self.facts, *subject, *([self.selected] if self.selected else [])]
        cells = {name: one_array(table.slice(row, 1), name) for name in names if holders_of(table.schema, name)}
        values = ", ".join(f"column {name!r} is {shown(to_python(values)[0])}" for name, values in cells.items())
        if error.kind == INVALID_UTF8:
            return f"{_REASONS[error.kind]}: {values}"
        if error.kind == NOT_A_TEXT:
            raw = to_python(cells[self.names.text])[0].encode("utf-8", "surrogateescape")
            below = [".".join(steps) for steps in steps_below(raw)]
            return f"{_REASONS[error.kind]}: {values}; {_name_another(self.names.text, below)} with --text-column"
        reason = f" ({rows.triples.reasons[row]})" if error.kind == rows.triples.errors.get(row) != NO_TRIPLES else ""
        missing = [f"; {_why_missing(table.schema, name)}" for name in subject if name not in cells]
        return (
            f"{_REASONS.get(error.kind, 'has facts that cannot be read')}{reason}: {values}; facts are like "
            f"{FORMS[self.form].example}; --text-column and --{self.form}-column name other columns{''.join(missing)}"
        )


def find_columns(schema: pa.Schema, names: ColumnNames, needs_triples: str = "") -> InputColumns:
    """Find and check the columns of a schema.

    Args:
        needs_triples: why facts that are sentences are refused; empty if they are not.

    Raises:
        ColumnError: a column is missing, has a type that cannot be read, occurs twice, or has an output column's name.
    """
    duplicates = [name for name, times in Counter(schema.names).items() if times > 1]
    if duplicates:
        raise ColumnError(f"two columns have the name {duplicates[0]!r}; rename one, since columns are found by name")
    kind = _type_of(schema, names.text, "text")
    if not is_text(kind):
        raise ColumnError(
            f"column {names.text!r} is {_shown_type(kind)}, but the text must be a string; "
            f"{_name_another(names.text, fields_below(kind))} with --text-column"
        )
    facts, form = find_facts(schema, names)
    if needs_triples and form in ("facts", "document"):
        raise ColumnError(
            f"column {facts!r} has facts as sentences, and {needs_triples}; name a column of triples with "
            "--triples-column or --mr-column"
        )
    names_to_read = [names.text, facts]
    if form != "attributes":
        names = replace(names, subject=None)
    elif names.subject is not None:
        names_to_read.append(names.subject)
        # Several columns have no keys, of which one could be the subject.
        if facts not in find_all(schema, facts) or find(schema, names.subject):
            kind = _type_of(schema, names.subject, "subject")
            if not is_part(kind):
                raise ColumnError(f"column {names.subject!r} is {kind}, but a subject is a string or a number")
    columns = [values.steps[0] for name in names_to_read for values in find_all(schema, name).values()]
    optional = [name for name in (SELECTED, ROW_INFO) if name in schema.names]
    passed = _find_passed(schema, names)
    return InputColumns(
        names=names,
        facts=facts,
        form=form,
        selected=SELECTED if SELECTED in optional else None,
        passed=passed,
        read=(*columns, *optional),
        marked=_find_marked(schema, facts, form) if {*holders_of(schema, facts)} <= {*passed} else (),
    )


def find_facts(schema: pa.Schema, names: ColumnNames) -> tuple[str, FactForm]:
    """The column of facts and its form: the column that the user names, otherwise ``triples``, ``attributes``,
    ``facts`` or ``mr``; a column of documents has to be named.

    ``triples`` goes before ``mr``: files of E2E have both, with the same facts. A column ``attributes`` or ``facts`` of
    another type is ignored unless it is named.

    Raises:
        ColumnError: there are no facts, they have a type that cannot be read, or several columns have them.
    """
    named_forms = [form for form in FORMS if getattr(names, form) is not None]
    kinds = {form: schema.field(form).type for form in FORMS if form in schema.names and form != "document"}
    forms = named_forms or [
        form
        for form, kind in kinds.items()
        if form in ("triples", "mr") or (FORMS[form].holds(kind) and not pa.types.is_null(kind))
    ]
    if not named_forms and "triples" in forms and "mr" in forms:
        forms.remove("mr")
    if len(forms) > 1:
        columns = " and ".join(repr(getattr(names, form) or form) for form in forms)
        options = " or ".join(f"--{form}-column" for form in forms)
        raise ColumnError(f"there are facts in the columns {columns}; name one of them, with {options}")
    if not forms:
        raise ColumnError(
            f"no column 'triples', 'attributes', 'facts' or 'mr'; the columns are {_listed(schema)}; name the column "
            "of facts with --triples-column, --attributes-column, --facts-column, --mr-column or --document-column"
            + (" document" if "document" in schema.names else "")
        )
    form, facts = forms[0], getattr(names, forms[0]) or forms[0]
    kind = _type_of(schema, facts, form)
    is_single = form == "attributes" and names.subject is not None and is_part(kind)  # one attribute of each subject
    if not FORMS[form].holds(kind) and not is_single:
        single = (
            "; one attribute of each row needs a --subject-column" if form == "attributes" and is_part(kind) else ""
        )
        raise ColumnError(
            f"column {facts!r} is {_shown_type(kind)}, which holds no {form}; a value should be like "
            f"{FORMS[form].example}; {_name_another(facts, fields_below(kind))} with --{form}-column{single}"
        )
    return facts, form


def _find_passed(schema: pa.Schema, names: ColumnNames) -> tuple[str, ...]:
    """The input columns that the output keeps."""
    missing = [name for name in names.keep or () if name not in schema.names]
    if missing:
        raise ColumnError(f"--keep: no column {missing[0]!r}; the columns are {_listed(schema)}")
    keep = schema.names if names.keep is None else names.keep
    passed = tuple(name for name in schema.names if name in keep and name != ROW_INFO)
    clashing = [name for name in output_names(names) if name in passed]
    if clashing:
        raise ColumnError(
            f"the input has a column {clashing[0]!r}, which is the name of an output column; "
            "set a --prefix for the output columns, or leave the column out with --keep"
        )
    return passed


def _find_marked(schema: pa.Schema, facts: str, form: FactForm) -> tuple[str, ...]:
    """Columns with marks, see :class:`InputColumns`. In a single column of attributes, the text of an object is read
    like the object itself."""
    if form != "attributes" or ROW_INFO not in schema.names:
        return ()
    has_list: dict[str, bool] = json.loads((schema.field(ROW_INFO).metadata or {}).get(b"nested", b"{}"))
    return tuple(
        name for name in find_all(schema, facts) if has_list.get(name, False) or (name in has_list and name != facts)
    )


def _type_of(schema: pa.Schema, name: str, option: str) -> pa.DataType:
    """The type of the values of a name; of several columns, a struct of them."""
    if not find_all(schema, name):
        missing = next((part for part in split_names(name) if find(schema, part) is None), name)
        raise ColumnError(f"{_why_missing(schema, missing)}; name it with --{option}-column")
    return one_array(schema, name).type


def _why_missing(schema: pa.Schema, name: str) -> str:
    steps = name.split(".")
    for length in range(len(steps) - 1, 0, -1):
        if (holder := find(schema, ".".join(steps[:length]))) is not None:
            below, kind = fields_below(holder.values.type), _shown_type(holder.values.type)
            parts = f"it has {', '.join(below[:MOST_SHOWN])}" if below else f"it is {kind}"
            return f"no {'.'.join(steps[length:])!r} in column {'.'.join(holder.steps)!r}; {parts}"
    quoted = next((column for column in schema.names if "," in column and name in split_names(column)), None)
    hint = f"; quote a name that has a comma: '\"{quoted}\"'" if quoted is not None else ""
    return f"no column {name!r}; the columns are {_listed(schema)}{hint}"


def _name_another(name: str, below: list[str]) -> str:
    """Advice for a column of another type. ``below``: the names of its parts."""
    if not below:
        return "name another"
    return f"name a part of it ({', '.join(f'{name}.{step}' for step in below[:MOST_SHOWN])}) or another"


def _shown_type(kind: pa.DataType) -> str:
    """A type on one line of bounded length."""
    text = " ".join(str(kind).split())
    return text if len(text) <= MOST_CHARACTERS else text[: MOST_CHARACTERS - 3] + "..."


def _listed(schema: pa.Schema) -> str:
    names = [f'"{name}"' if "," in name else name for name in schema.names if name != ROW_INFO]
    return (", ".join(names[:20]) or "none") + (f" and {len(names) - 20} more" if len(names) > 20 else "")


# --- the values of a window ---


def read_facts(table: pa.Table, facts: str, form: FactForm, subject: str | None = None) -> FactTable:
    """The facts of a table. ``subject``: the column that names the subject of attributes, otherwise their key."""
    parse = FORMS[form].parse
    if parse is not None:
        return parse(one_array(table, facts))
    columns = find_all(table, facts)
    subject_values = find(table, subject) if subject is not None else None
    if facts in columns and subject_values is None:
        return from_attributes(to_python(columns[facts].values), key=subject or NAME)
    cells = {name: _cells(part_values) for name, part_values in columns.items()}
    if facts in columns:  # it may be one attribute of each subject
        name = columns[facts].steps[-1]
        values = [value if value is None or _is_object(value) else {name: value} for value in cells[facts]]
    else:
        values = [dict(zip(cells, row, strict=True)) for row in zip(*cells.values(), strict=True)]
    if subject_values is None:
        return from_attributes(values, key=subject or NAME)
    within: tuple[str, ...] = ()  # where the subject stands in the attributes
    for part, part_values in columns.items():
        if subject_values.steps[: len(part_values.steps)] == part_values.steps:
            within = (*(() if facts in columns else (part,)), *subject_values.steps[len(part_values.steps) :])
    subjects = to_python(subject_values.values)
    for row in subject_values.nested:  # an object or a list names nothing
        subjects[row] = None
    return from_attributes(values, subjects, within=within)


def _cells(column: NamedValues) -> list[Any]:
    """Values of one column as attributes: text, or the object or list that JSON has there."""
    values = to_python(column.values)
    for row in column.nested:
        if values[row] is not None:
            values[row] = parse_nested(values[row])
    return values


def read_selections(table: pa.Table) -> list[Selection] | None:
    """The selection of each row; ``None`` for a table without such a column."""
    if SELECTED not in table.schema.names:
        return None
    return [parse_selection(value) for value in to_python(one_array(table, SELECTED))]


def _is_object(value: Any) -> bool:
    return value.lstrip()[:1] == "{" if isinstance(value, str) else isinstance(value, Mapping)


def restore_marks(table: pa.Table, names: ColumnNames) -> pa.Table:
    """Move the marks of an output's rows to where :func:`read_facts` looks for them.

    Args:
        names: the column names of the run.

    Raises:
        ColumnError: the column of the marks holds other values than a run writes.
    """
    name = names.output(MARKS.name)
    if name not in table.column_names:
        return table
    column = one_array(table, name)
    try:
        codes, values = encode(column)
        infos = [{"error": None, "nested": [str(part) for part in json.loads(value)["nested"]]} for value in values]
        by_code = pa.array([*infos, None], _INFO)
    except (pa.ArrowException, ValueError, TypeError, KeyError, RecursionError) as error:
        raise ColumnError(f"column {name!r} is {column.type} and does not hold what a run writes: {error}") from error
    return table.append_column(ROW_INFO, by_code.take(pa.array(codes % len(by_code))))
