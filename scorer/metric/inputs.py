"""Which column of a table holds which input, the rows of a table, and why a row has no label."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..errors import ColumnError
from ..system.files import ROW_INFO
from ..system.numbers import parse_json
from . import ColumnNames
from .attributes import from_attributes, holds_attributes
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
from .values import is_part, is_text, shown, to_python

NOT_A_TEXT = "malformed_row"
SELECTED = "selected"

FactForm = Literal["triples", "attributes", "facts", "mr", "document"]
"""How a column holds facts; also the name of the column that is looked for when none is given."""


class _Form(NamedTuple):
    """``holds``: whether a column of a type may hold it. ``example``: a value as a user would write it. ``parse``:
    reads a column, but of attributes, which may be several."""

    holds: Callable[[pa.DataType], bool]
    example: str
    parse: Callable[[pa.Array], FactTable] | None = None


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
"""In the order in which columns are looked for."""


_REASONS = {
    NULL_TEXT: "has no text",
    NOT_A_TEXT: "has an object or a list as its text",
    NO_TRIPLES: "has no facts",
    INVALID_UTF8: "is not UTF-8",
    INVALID_SELECTION: "selects no facts; write a list of positions of its facts, from 0",
}


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
    """The columns of one schema.

    ``names``: as the user has them; ``subject`` only where the facts are attributes. ``selected``: the column of
    selections, if there is one. ``passed``: the input columns that the output keeps; ``read``: those that everything
    else is read from. ``marked``: the columns of attributes that hold an object or a list in some row of the file, of
    which the output says where (:data:`.columns.MARKS`).
    """

    names: ColumnNames
    facts: str
    form: FactForm
    selected: str | None
    passed: tuple[str, ...]
    read: tuple[str, ...]
    marked: tuple[str, ...] = ()

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
        rows = from_arrow(facts, one_array(table, self.names.text), selections)
        for row, info in _row_infos(table):
            if info["error"] is not None:
                rows.errors[row], rows.triples.raw[row] = info["error"], info["raw"] or b""
            elif self.names.text in info["nested"]:
                rows.errors[row] = NOT_A_TEXT
        return rows

    def marks(self, table: pa.Table) -> pa.Array:
        """The array of :data:`.columns.MARKS` of a window. *Shape:* (rows,)."""
        marks: list[bytes | None] = [None] * len(table)
        for row, info in _row_infos(table):
            if nested := [name for name in info["nested"] or () if name in self.marked]:
                marks[row] = json.dumps({"nested": nested}).encode()
        return pa.array(marks, MARKS.type)

    def why_none(self, table: pa.Table) -> str:
        """Why none of the rows of a table gets a label; empty where one does."""
        rows = self.rows(table)
        if not rows.errors or len(rows.errors) < len(table):
            return ""
        counted = Counter(error.partition(":")[0] for error in rows.errors.values())
        kinds = ", ".join(f"{kind} {count:,}" for kind, count in sorted(counted.items()))
        return f"{kinds}: {'row 0 ' if len(table) > 1 else ''}{self._explain(table, rows, 0)}"

    def why_failed(self, table: pa.Table, error: str) -> str:
        """Why the only row of a table of an output has this error, for people."""
        kind, _, detail = error.partition(":")
        if kind in _OF_CHECKS:
            return f"has a check of its {detail.replace('+', ' and ')} side {_OF_CHECKS[kind]}"
        if detail:
            return f"could not be read: {detail} of its file is {_OF_LINES.get(kind, kind)}"
        rows = self.rows(table)
        rows.errors = {0: error}
        return self._explain(table, rows, 0)

    def _explain(self, table: pa.Table, rows: Rows, row: int) -> str:
        error, subject = rows.errors[row], [self.names.subject] if self.names.subject is not None else []
        info = dict(_row_infos(table)).get(row)
        if info is not None and info["error"] == error:
            return f"cannot be read: {info['detail']}"
        names = [self.names.text, self.facts, *subject, *([self.selected] if self.selected else [])]
        there = {name: one_array(table.slice(row, 1), name) for name in names if holders_of(table.schema, name)}
        values = ", ".join(f"column {name!r} is {shown(to_python(values)[0])}" for name, values in there.items())
        reason = f" ({rows.triples.reasons[row]})" if error == rows.triples.errors.get(row) != NO_TRIPLES else ""
        return (
            f"{_REASONS.get(error, 'has facts that cannot be read')}{reason}: {values}; facts are like "
            f"{FORMS[self.form].example}; --text-column and --{self.form}-column name other columns"
        )


def find_columns(schema: pa.Schema, names: ColumnNames, needs_triples: str = "") -> InputColumns:
    """Find and check the columns of a schema.

    Args:
        needs_triples: why facts that are sentences will not do, where they will not.

    Raises:
        ColumnError: a column is missing, has a type that cannot be read, occurs twice, or has an output column's name.
    """
    twice = [name for name, times in Counter(schema.names).items() if times > 1]
    if twice:
        raise ColumnError(f"two columns have the name {twice[0]!r}; rename one, since columns are found by name")
    kind = _type_of(schema, names.text, "text")
    if not is_text(kind):
        raise ColumnError(
            f"column {names.text!r} is {kind}, but the text must be a string; name another with --text-column"
        )
    facts, form = find_facts(schema, names)
    if needs_triples and form in ("facts", "document"):
        raise ColumnError(
            f"column {facts!r} has facts as sentences, and {needs_triples}; name a column of triples with "
            "--triples-column or --mr-column"
        )
    read = [names.text, facts]
    if form != "attributes":
        names = replace(names, subject=None)
    elif names.subject is not None:
        read.append(names.subject)
        # Several columns have no keys, of which one could be the subject.
        if facts not in _find_all(schema, facts) or _find(schema, names.subject):
            kind = _type_of(schema, names.subject, "subject")
            if not is_part(kind):
                raise ColumnError(f"column {names.subject!r} is {kind}, but a subject is a string or a number")
    holders = [one.steps[0] for name in read for one in _find_all(schema, name).values()]
    others = [name for name in (SELECTED, ROW_INFO) if name in schema.names]
    passed = _find_passed(schema, names)
    return InputColumns(
        names=names,
        facts=facts,
        form=form,
        selected=SELECTED if SELECTED in others else None,
        passed=passed,
        read=(*holders, *others),
        marked=_find_marked(schema, facts, form) if {*holders_of(schema, facts)} <= {*passed} else (),
    )


def find_facts(schema: pa.Schema, names: ColumnNames) -> tuple[str, FactForm]:
    """The column of facts and its form: the one that is named, otherwise ``triples``, ``attributes``, ``facts`` or
    ``mr``; documents have to be named.

    ``triples`` goes before ``mr``: files of E2E have both, with the same facts. A column ``attributes`` or ``facts`` of
    a type that holds none is not looked at unless it is named.

    Raises:
        ColumnError: there are no facts, they have a type that cannot be read, or several columns have them.
    """
    named = [form for form in FORMS if getattr(names, form) is not None]
    kinds = {form: schema.field(form).type for form in FORMS if form in schema.names and form != "document"}
    found = named or [
        form
        for form, kind in kinds.items()
        if form in ("triples", "mr") or (FORMS[form].holds(kind) and not pa.types.is_null(kind))
    ]
    if not named and "triples" in found and "mr" in found:
        found.remove("mr")
    if len(found) > 1:
        columns = " and ".join(repr(getattr(names, form) or form) for form in found)
        options = " or ".join(f"--{form}-column" for form in found)
        raise ColumnError(f"there are facts in the columns {columns}; name one of them, with {options}")
    if not found:
        raise ColumnError(
            f"no column 'triples', 'attributes', 'facts' or 'mr'; the columns are {_listed(schema)}; name the column "
            "of facts with --triples-column, --attributes-column, --facts-column, --mr-column or --document-column"
            + (" document" if "document" in schema.names else "")
        )
    form, facts = found[0], getattr(names, found[0]) or found[0]
    kind = _type_of(schema, facts, form)
    is_single = form == "attributes" and names.subject is not None and is_part(kind)  # one attribute of each subject
    if not FORMS[form].holds(kind) and not is_single:
        raise ColumnError(
            f"column {facts!r} is {kind}, which holds no {form}; a value should be like {FORMS[form].example}; name "
            f"another column with --{form}-column"
        )
    return facts, form


def _find_passed(schema: pa.Schema, names: ColumnNames) -> tuple[str, ...]:
    """The input columns that the output keeps."""
    missing = [name for name in names.keep or () if name not in schema.names]
    if missing:
        raise ColumnError(f"--keep: no column {missing[0]!r}; the columns are {_listed(schema)}")
    kept = schema.names if names.keep is None else names.keep
    passed = tuple(name for name in schema.names if name in kept and name != ROW_INFO)
    clashing = [name for name in output_names(names) if name in passed]
    if clashing:
        raise ColumnError(
            f"the input has a column {clashing[0]!r}, which is the name of an output column; "
            "set a --prefix for the output columns, or leave the column out with --keep"
        )
    return passed


def _find_marked(schema: pa.Schema, facts: str, form: FactForm) -> tuple[str, ...]:
    """See :class:`InputColumns`. Of a single column of attributes, a text of an object is read as the object is."""
    if form != "attributes" or ROW_INFO not in schema.names or facts in (parts := _find_all(schema, facts)):
        return ()
    nested = json.loads((schema.field(ROW_INFO).metadata or {}).get(b"nested", b"[]"))
    return tuple(name for name in parts if name in nested)


def _type_of(schema: pa.Schema, name: str, what: str) -> pa.DataType:
    """The type of what a name means; of several columns, a struct of them."""
    if not _find_all(schema, name):
        missing = next((part for part in split_names(name) if _find(schema, part) is None), name)
        raise ColumnError(f"no column {missing!r}; the columns are {_listed(schema)}; name it with --{what}-column")
    return one_array(schema, name).type


def _listed(schema: pa.Schema) -> str:
    names = [f'"{name}"' if "," in name else name for name in schema.names if name != ROW_INFO]
    return (", ".join(names[:20]) or "none") + (f" and {len(names) - 20} more" if len(names) > 20 else "")


# --- what a name means: a column, a field that dots lead to, several columns with commas between them ---


class _Found(NamedTuple):
    """Where a name leads. ``steps``: a column, and the fields that lead on from it; ``values``: those found there."""

    steps: tuple[str, ...]
    values: pa.Array


def _find_all(source: pa.Table | pa.Schema, name: str) -> dict[str, _Found]:
    """By each name in a name (``brand,weight``), where it leads; empty if one of them leads nowhere.

    A column whose own name has the dots or commas goes first.
    """
    if (one := _find(source, name)) is not None:
        return {name: one}
    parts = split_names(name)
    found = {part: one for part in parts if (one := _find(source, part)) is not None}
    return found if len(found) == len({*parts}) > 1 else {}


def _find(source: pa.Table | pa.Schema, name: str) -> _Found | None:
    """Where a column's name leads, or the dots after one (``output.text``); ``None`` if it leads nowhere. A schema has
    no values."""
    schema = source if isinstance(source, pa.Schema) else source.schema
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        column, fields = ".".join(parts[:length]), parts[length:]
        if column in schema.names:
            table = pa.schema([schema.field(column)]).empty_table() if isinstance(source, pa.Schema) else source
            values = table[column].combine_chunks()
            if isinstance(values, pa.ChunkedArray):
                values = values.chunk(0) if values.num_chunks else pa.array([], values.type)
            values = _follow(values, fields) if fields else values
            if values is not None:
                return _Found((column, *fields), values)
    return None


def _follow(values: pa.Array, fields: Sequence[str]) -> pa.Array | None:
    """Values of nested fields: of structs, of which a null one has null fields, or of objects of JSON."""
    while fields and pa.types.is_struct(values.type):
        if len(values.type.get_all_field_indices(fields[0])) != 1:
            return None
        values, fields = pc.struct_field(values, fields[0]), fields[1:]
    if fields and (pa.types.is_null(values.type) or not is_text(values.type)):
        return None
    return _in_json(values, fields) if fields else values


def split_names(name: str) -> list[str]:
    """The names in a name; one that has a comma itself is quoted as in CSV (``brand,"weight, kg"``)."""
    try:
        parts = next(csv.reader([name], skipinitialspace=True), [])
    except csv.Error:  # such as a line end in a name
        parts = name.split(",")
    return [part.strip() for part in parts]


def holders_of(schema: pa.Schema, name: str) -> list[str]:
    """The columns to read for what a name means, each once; empty if there is no such thing."""
    return list(dict.fromkeys(one.steps[0] for one in _find_all(schema, name).values()))


def one_array(source: pa.Table | pa.Schema, name: str) -> pa.Array:
    """The values of what a name means, as one array.

    Raises:
        KeyError: there is no such thing.
    """
    values = {part: one.values for part, one in _find_all(source, name).items()}
    if not values:
        raise KeyError(name)
    return values[name] if name in values else pa.StructArray.from_arrays([*values.values()], names=[*values])


def _in_json(column: pa.Array, keys: Sequence[str]) -> pa.Array:
    """The values that keys lead to in objects of JSON, as text; null where there is no such thing."""
    codes, values = encode(column)
    found: list[bytes | None] = []
    for value in values:
        try:
            item = parse_json(value.decode("utf-8", "surrogateescape"))
            for key in keys:
                item = item.get(key) if isinstance(item, Mapping) else None
        except ValueError:
            item = None
        text = item if item is None or isinstance(item, str) else json.dumps(item)
        found.append(None if text is None else text.encode("utf-8", "surrogateescape"))
    taken = pa.array(found, pa.large_binary()).take(pa.array(codes, mask=codes < 0))
    return taken.cast(pa.binary()).view(pa.string())


# --- the values of a window ---


def read_facts(table: pa.Table, facts: str, form: FactForm, subject: str | None = None) -> FactTable:
    """The facts of a table. ``subject``: of attributes: the column that names it, or their key where there is no such
    column."""
    parse = FORMS[form].parse
    if parse is not None:
        return parse(one_array(table, facts))
    found = _find_all(table, facts)
    columns = {part: to_python(one.values) for part, one in found.items()}
    if facts in columns:
        values = columns[facts]
    else:
        for row, info in _row_infos(table):
            for part in info["nested"]:
                if part in columns and columns[part][row] is not None:
                    columns[part][row] = parse_json(columns[part][row])
        values = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    own = _find(table, subject) if subject is not None else None
    if own is None:
        return from_attributes(values, key=subject or NAME)
    if facts in columns:  # it may be one attribute of each subject
        name = found[facts].steps[-1]
        values = [value if value is None or _is_object(value) else {name: value} for value in values]
    within: tuple[str, ...] = ()  # where the subject stands in the attributes
    for part, (steps, _) in found.items():
        if own.steps[: len(steps)] == steps:
            within = (*(() if facts in found else (part,)), *own.steps[len(steps) :])
    return from_attributes(values, to_python(own.values), within=within)


def read_selections(table: pa.Table) -> list[Selection] | None:
    """The selection of each row; ``None`` for a table without such a column."""
    if SELECTED not in table.schema.names:
        return None
    return [parse_selection(value) for value in to_python(one_array(table, SELECTED))]


def _is_object(value: Any) -> bool:
    return value.lstrip()[:1] == "{" if isinstance(value, str) else isinstance(value, Mapping)


def restore_marks(table: pa.Table, prefix: str) -> pa.Table:
    """A table of an output in which :func:`read_facts` finds the marks of its rows. ``prefix``: of the output columns.

    Raises:
        ColumnError: the column of the marks does not hold what a run writes.
    """
    name = prefix + MARKS.name
    if name not in table.column_names:
        return table
    column = one_array(table, name)
    try:
        codes, values = encode(column)
        infos = [{"error": None, "nested": [str(one) for one in json.loads(value)["nested"]]} for value in values]
        by_code = pa.array([*infos, None])
    except (pa.ArrowException, ValueError, TypeError, KeyError, RecursionError) as error:
        raise ColumnError(f"column {name!r} is {column.type} and does not hold what a run writes: {error}") from error
    return table.append_column(ROW_INFO, by_code.take(pa.array(codes % len(by_code))))


def _row_infos(table: pa.Table) -> list[tuple[int, dict[str, Any]]]:
    """Notes of the reader about rows."""
    if ROW_INFO not in table.column_names:
        return []
    infos = one_array(table, ROW_INFO)
    noted = np.flatnonzero(infos.is_valid().to_numpy(zero_copy_only=False))
    return list(zip(noted.tolist(), infos.take(pa.array(noted)).to_pylist(), strict=True))
