"""Which column of a table holds which input, the rows of a table, and why a row has no label."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..errors import ColumnError
from ..system.files import ROW_INFO
from ..system.numbers import parse_json
from . import ColumnNames
from .columns import output_schema
from .facts import (
    INVALID_SELECTION,
    INVALID_UTF8,
    NAME,
    NO_TRIPLES,
    NULL_TEXT,
    FactError,
    FactTable,
    Rows,
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
    parse_mr,
    parse_sentences,
    parse_triples,
    read_selections,
)
from .objects import NO_SUBJECT, from_attributes, holds_attributes, parse_attributes
from .values import is_part, is_text, shown, to_python

NOT_A_TEXT = "malformed_row"
SELECTED = "selected"

FactForm = Literal["triples", "attributes", "facts", "mr", "document"]
"""How a column holds facts: triples, attributes of a subject, sentences that need no template, E2E meaning
representations, or a source text in their place. Also the name of the column that is looked for when none is given."""


class _Form(NamedTuple):
    """``holds``: whether a column of a type may hold it. ``expected``: the types, for people. ``example``: a value as a
    user would write it. ``parse``: reads a column, but of attributes, which may be several."""

    holds: Callable[[pa.DataType], bool]
    expected: str
    example: str
    parse: Callable[[pa.Array], FactTable] | None


FORMS: dict[FactForm, _Form] = {
    "triples": _Form(
        holds_triples,
        "triples are list<struct<subject, predicate, object>>, list<string> or a string",
        '[{"subject": "The Lamb", "predicate": "eatType", "object": "pub"}], the same as a string of JSON, or '
        "'The Lamb | eatType | pub ++ The Lamb | food | Thai'",
        from_lists,
    ),
    "attributes": _Form(
        holds_attributes,
        "attributes are a struct, a map or a string of a JSON object",
        '{"name": "The Lamb", "eatType": "pub", "food": "Thai"}',
        None,
    ),
    "facts": _Form(
        holds_sentences,
        "facts are list<string> or a string of a JSON list, a sentence each",
        '["The Lamb is a pub.", "The Lamb serves Thai food."]',
        from_sentences,
    ),
    "mr": _Form(is_text, "meaning representations are strings", "name[The Lamb], eatType[pub], food[Thai]", from_mr),
    "document": _Form(
        holds_sentences,
        "a document is a string or list<string>, a passage each",
        '"The Lamb is a Thai pub. It opened in 1998." or a list of such passages',
        from_documents,
    ),
}
"""In the order in which columns are looked for."""


@dataclass(frozen=True)
class InputColumns:
    """The columns of one schema.

    ``text``: the column of texts. ``facts``: the column of facts, ``form``: how it holds them; ``selected``: the column
    of selections, if there is one; ``passed``: the input columns that the output keeps; ``keeps_all``: whether these
    were not chosen by the user; ``prefix``, ``details``: of the output columns, see :class:`.ColumnNames`.
    ``holders``: the columns that texts and facts are read from; others than ``text`` and ``facts`` where these are
    fields of others. ``subject``: the column or the key that names the subject of attributes, if it is not the key
    ``name``. ``has_info``: whether the reader tells of rows that it could not read
    (:data:`scorer.system.files.ROW_INFO`).
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

    @property
    def needed(self) -> list[str]:
        """All columns to read, each once."""
        more = [*([self.selected] if self.selected else []), *([ROW_INFO] if self.has_info else [])]
        return list(dict.fromkeys([*self.passed, *self.holders, *more]))

    @property
    def shape(self) -> dict[str, object]:
        """The choices that the columns of the output depend on, in the types of JSON; receipts compare them."""
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
        facts = read_facts(table, self.facts, self.form, self.subject)
        rows = from_arrow(facts, one_array(table, self.text), selected)
        for row, info in _row_infos(table):
            if info["error"] is not None:
                rows.errors[row], rows.triples.raw[row] = info["error"], info["raw"] or b""
            elif self.text in info["nested"]:
                rows.errors[row] = NOT_A_TEXT
        return rows

    def invalid_rows(self, table: pa.Table) -> InvalidRows | None:
        """The rows of a table that get no label, and why the first does not; ``None`` if there are none."""
        errors = self.rows(table).errors
        if not errors:
            return None
        counted = Counter(error.partition(":")[0] for error in errors.values())
        kinds = ", ".join(f"{kind} {count:,}" for kind, count in sorted(counted.items()))
        first = min(errors)
        why = _explain(table, first, errors[first], self)
        return InvalidRows(len(errors) == len(table), why, f"{kinds}: row {first} {why}")

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


def find_columns(schema: pa.Schema, names: ColumnNames) -> InputColumns:
    """Find and check the columns of a schema.

    Raises:
        ColumnError: a column is missing, has a type that cannot be read, occurs twice, or has an output column's name.
    """
    twice = [name for name, times in Counter(schema.names).items() if times > 1]
    if twice:
        raise ColumnError(f"two columns have the name {twice[0]!r}; rename one, since columns are found by name")
    text = _required(schema, names.text, "text")
    if not is_text(text.type):
        raise ColumnError(
            f"column {names.text!r} is {text.type}, but the text must be a string; name another with --text-column"
        )
    facts, form = _find_source(schema, names)
    passed = _find_passed(schema, names)
    subject = names.subject if form == "attributes" else None
    read = [names.text, facts]
    if subject is not None:
        field = find_field(schema, subject)
        if facts not in _named_paths(schema, facts):
            field = _required(schema, subject, "subject")  # several columns have no keys
        if field is not None and not is_part(field.type):
            raise ColumnError(f"column {subject!r} is {field.type}, but a subject is a string or a number")
        read.append(subject)
    return InputColumns(
        text=names.text,
        facts=facts,
        form=form,
        selected=SELECTED if SELECTED in schema.names else None,
        passed=passed,
        keeps_all=names.keep is None,
        prefix=names.prefix,
        details=names.details,
        holders=tuple(path[0] for name in read for path in _named_paths(schema, name).values()),
        subject=subject,
        has_info=ROW_INFO in schema.names,
    )


# --- what a name means: a column, a field that dots lead to, several columns with commas between them ---


def find_field(schema: pa.Schema, name: str) -> pa.Field | None:
    """The field that a name means: a column, the field that dots lead to (``output.text``), or a struct of several of
    them, with commas between them (``brand,weight``).

    ``None`` if there is none. A column whose own name has the dots or commas goes first.
    """
    fields = {part: _field(schema, path) for part, path in _named_paths(schema, name).items()}
    found = [field.with_name(part) for part, field in fields.items() if field is not None]
    return None if not found else found[0] if name in fields else pa.field(name, pa.struct(found))


def holders_of(schema: pa.Schema, name: str) -> list[str]:
    """The columns to read for what a name means, each once; empty if there is no such thing."""
    return list(dict.fromkeys(path[0] for path in _named_paths(schema, name).values()))


def one_array(table: pa.Table, name: str) -> pa.Array:
    """The values of what a name means, as one array. A null struct has null fields.

    Raises:
        KeyError: there is no such thing.
    """
    paths = _named_paths(table.schema, name)
    if not paths:
        raise KeyError(name)
    columns = {part: _read_path(table, path) for part, path in paths.items()}
    return columns[name] if name in columns else pa.StructArray.from_arrays([*columns.values()], names=[*columns])


def _named_paths(schema: pa.Schema, name: str) -> dict[str, list[str]]:
    """By each name in a name, the column and the fields that it leads through; empty if one of them leads nowhere."""
    if (one := _named_path(schema, name)) is not None:
        return {name: one}
    found = {part: _named_path(schema, part) for part in split_names(name)}
    there = {part: path for part, path in found.items() if path is not None}
    return there if len(there) == len(found) > 1 else {}


def split_names(name: str) -> list[str]:
    """The names in a name; one that has a comma itself is quoted as in CSV (``brand,"weight, kg"``)."""
    try:
        parts = next(csv.reader([name], skipinitialspace=True), [])
    except csv.Error:  # such as a line end in a name
        parts = name.split(",")
    return [part.strip() for part in parts]


def _named_path(schema: pa.Schema, name: str) -> list[str] | None:
    """The column and the fields that a name leads through; ``None`` if it leads nowhere."""
    if name in schema.names:
        return [name]
    parts = name.split(".")
    for length in range(len(parts) - 1, 0, -1):
        path = [".".join(parts[:length]), *parts[length:]]
        if path[0] in schema.names and _field(schema, path) is not None:
            return path
    return None


def _field(schema: pa.Schema, path: list[str]) -> pa.Field | None:
    """The field at a path: of structs, and of objects of JSON, which may have any; ``None`` if there is none."""
    field = schema.field(path[0])
    for part in path[1:]:
        kind = field.type
        if pa.types.is_struct(kind) and [kind.field(i).name for i in range(kind.num_fields)].count(part) == 1:
            field = kind.field(part)
        elif is_text(kind) and not pa.types.is_null(kind):
            field = pa.field(part, pa.string())
        else:
            return None
    return field


def _read_path(table: pa.Table, path: list[str]) -> pa.Array:
    """The values at a path of :func:`_named_path`."""
    column = table[path[0]].combine_chunks()
    if isinstance(column, pa.ChunkedArray):
        column = column.chunk(0) if column.num_chunks else pa.array([], column.type)
    for depth, part in enumerate(path[1:], 1):
        if is_text(column.type):
            return _in_json(column, path[depth:])
        column = pc.struct_field(column, part)
    return column


def _in_json(column: pa.Array, path: list[str]) -> pa.Array:
    """The values at a path in objects of JSON, as text; null where there is no such thing."""
    codes, values = encode(column)
    found: list[bytes | None] = []
    for value in values:
        try:
            item = parse_json(value.decode("utf-8", "surrogateescape"))
            for key in path:
                item = item.get(key) if isinstance(item, Mapping) else None
        except ValueError:
            item = None
        text = item if item is None or isinstance(item, str) else json.dumps(item)
        found.append(None if text is None else text.encode("utf-8", "surrogateescape"))
    taken = pa.array(found, pa.large_binary()).take(pa.array(codes, mask=codes < 0))
    return taken.cast(pa.binary()).view(pa.string())


# --- which columns ---


def find_facts(schema: pa.Schema, names: ColumnNames) -> tuple[str, FactForm] | None:
    """The column of facts and its form: the one that is named, otherwise ``triples``, ``attributes``, ``facts`` or
    ``mr``; documents have to be named, since what is asked of them is in the signature.

    ``triples`` goes before ``mr``: files of E2E have both, with the same facts. A column ``attributes`` or ``facts`` of
    a type that holds none is not looked at unless it is named. ``None`` when there is no such column.

    Raises:
        ColumnError: several columns are named, or several have facts and none is named.
    """
    given: dict[FactForm, str | None] = {form: getattr(names, form) for form in FORMS}
    named = {form: name for form, name in given.items() if name is not None}
    if names.triples is not None and not _named_paths(schema, names.triples) and not named.keys() - {"triples"}:
        return ("mr", "mr") if "mr" in schema.names else None
    if len(named) > 1:
        options = [f"--{form}-column" for form in named]
        raise ColumnError(f"{' and '.join(options)} both name a column of facts; give one of them")
    for form, name in named.items():
        return (name, form) if _named_paths(schema, name) else None
    kinds = {form: schema.field(form).type for form in FORMS if form in schema.names and form != "document"}
    there = [
        form
        for form, kind in kinds.items()
        if form in ("triples", "mr") or (FORMS[form].holds(kind) and not pa.types.is_null(kind))
    ]
    if "triples" in there and "mr" in there:
        there.remove("mr")
    if len(there) > 1:
        raise ColumnError(
            f"there are facts in the columns {there[0]!r} and {there[1]!r}; name the one to use with "
            f"--{there[0]}-column or --{there[1]}-column"
        )
    return (there[0], there[0]) if there else None


def _find_source(schema: pa.Schema, names: ColumnNames) -> tuple[str, FactForm]:
    """The column of facts and its form, as :func:`find_facts`.

    Raises:
        ColumnError: there are no facts, they have a type that cannot be read, or several columns have them.
    """
    found = find_facts(schema, names)
    if found is None:
        named = names.triples or names.attributes or names.facts or names.mr or names.document
        wanted = repr(_missing(schema, named)) if named else "'triples', 'attributes', 'facts' or 'mr'"
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
    column = _required(schema, facts, form)
    # A column that is named, next to one of subjects, may hold a single attribute of each.
    single = form == "attributes" and names.subject is not None and is_part(column.type)
    if not FORMS[form].holds(column.type) and not single:
        raise ColumnError(
            f"column {facts!r} is {column.type}, but {FORMS[form].expected}, like {FORMS[form].example}; name another "
            f"with --{form}-column"
        )
    return facts, form


def _find_passed(schema: pa.Schema, names: ColumnNames) -> tuple[str, ...]:
    """The input columns that the output keeps.

    Raises:
        ColumnError: one to keep is missing, or has the name of an output column.
    """
    missing = [name for name in names.keep or () if name not in schema.names]
    if missing:
        raise ColumnError(f"--keep: no column {missing[0]!r}; the columns are {_listed(schema)}")
    kept = schema.names if names.keep is None else names.keep
    passed = tuple(name for name in schema.names if name in kept and name != ROW_INFO)
    clashing = [names.prefix + field.name for field in output_schema(names) if names.prefix + field.name in passed]
    if clashing:
        raise ColumnError(
            f"the input has a column {clashing[0]!r}, which is the name of an output column; "
            "set a --prefix for the output columns, or leave the column out with --keep"
        )
    return passed


def _required(schema: pa.Schema, name: str, what: str) -> pa.Field:
    field = find_field(schema, name)
    if field is None:
        raise ColumnError(f"no {what} column {name!r}; the columns are {_listed(schema)}; name it with --{what}-column")
    return field


def _missing(schema: pa.Schema, name: str) -> str:
    """The first of the names in a name that is no column."""
    return next((part for part in split_names(name) if find_field(schema, part) is None), name)


def _listed(schema: pa.Schema) -> str:
    names = [f'"{name}"' if "," in name else name for name in schema.names if name != ROW_INFO]
    return (", ".join(names[:20]) or "none") + (f" and {len(names) - 20} more" if len(names) > 20 else "")


# --- the values of a window ---


def read_facts(table: pa.Table, facts: str, form: FactForm, subject: str | None = None) -> FactTable:
    """The facts of a table.

    Args:
        facts, form: the column that has them, and how.
        subject: of attributes: the column that names their subject, or their key where there is no such column.
    """
    parse = FORMS[form].parse
    if parse is not None:
        return parse(one_array(table, facts))
    paths = _named_paths(table.schema, facts)
    values = _attribute_values(table, paths, facts)
    own = _named_path(table.schema, subject) if subject is not None else None
    if subject is None or own is None:
        return from_attributes(values, key=subject or NAME)
    within: tuple[str, ...] = ()  # where the subject stands in the attributes
    for part, path in paths.items():
        if own[: len(path)] == path:
            within = (*own[len(path) :],) if facts in paths else (part, *own[len(path) :])
    plain = paths[facts][-1] if facts in paths else None
    return from_attributes(values, to_python(one_array(table, subject)), within=within, plain=plain)


def _attribute_values(table: pa.Table, paths: Mapping[str, list[str]], name: str) -> list[Any]:
    """The attributes of each row: those of one column, or several columns as one object."""
    columns = {part: to_python(_read_path(table, path)) for part, path in paths.items()}
    if name in columns:
        return columns[name]
    for row, info in _row_infos(table):
        for part in info["nested"]:
            if part in columns and columns[part][row] is not None:
                columns[part][row] = parse_json(columns[part][row])
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


def _row_infos(table: pa.Table) -> list[tuple[int, dict[str, Any]]]:
    """Notes of the reader about rows, by row, where there are any."""
    if ROW_INFO not in table.column_names:
        return []
    infos = one_array(table, ROW_INFO)
    noted = np.flatnonzero(infos.is_valid().to_numpy(zero_copy_only=False))
    return list(zip(noted.tolist(), infos.take(pa.array(noted)).to_pylist(), strict=True))


# --- why a row has no label ---


class InvalidRows(NamedTuple):
    """Rows of a table that get no label. ``all``: whether no row gets one; ``why``: what is wrong with the first of
    them; ``message``: how many have which error, and why the first has one."""

    all: bool
    why: str
    message: str


def _explain(table: pa.Table, row: int, error: str, columns: InputColumns) -> str:
    """The reason why a row, which has the error, gets no label."""
    text, facts, form, key = columns.text, columns.facts, columns.form, columns.subject or NAME
    info = dict(_row_infos(table)).get(row)
    if info is not None and info["error"] == error:
        return f"cannot be read: {info['detail']}"
    if error == NULL_TEXT:
        return f"has no text: column {text!r} is null; name another column with --text-column"
    if error == NOT_A_TEXT:
        return f"has no text: column {text!r} is {_shown(table, text, row)}, an object or a list; write a string"
    if error == INVALID_SELECTION:
        value = _shown(table, SELECTED, row)
        return f"selects {value} in column {SELECTED!r}; write a list of positions of its facts, from 0"
    if error == INVALID_UTF8:
        return f"is not UTF-8 in column {text!r} or {facts!r}; write the file again as UTF-8"
    if error == NO_SUBJECT and find_field(table.schema, key) is not None:
        return f"has no subject: column {key!r} is {_shown(table, key, row)}; name another with --subject-column"
    value = _shown(table, facts, row)
    if error == NO_TRIPLES and form != "mr":
        return f"has no facts: column {facts!r} is {value}; a value should be like {FORMS[form].example}"
    why = _why_malformed(_value(table, facts, row), form, key)
    what = f" ({why})" if why else ""
    return f"has {value} in column {facts!r}{what}, where a value should be like {FORMS[form].example}"


def _why_malformed(value: Any, form: FactForm, key: str) -> str | None:
    """The first malformed fact of a value, and why it is; ``None`` if none is."""
    try:
        if form == "attributes":
            parse_attributes(value, None, key)
        elif form == "mr" and parse_mr(value or "") is None:
            return "it is not a list of slots with exactly one name"
        elif form in ("triples", "facts") and value is not None:
            parse_triples(value) if form == "triples" else parse_sentences(value)
    except FactError as error:
        return str(error)
    return None


def _value(table: pa.Table, column: str, row: int) -> Any:
    """A value with its single values as text."""
    return to_python(one_array(table.slice(row, 1), column))[0]


def _shown(table: pa.Table, column: str, row: int) -> str:
    return shown(_value(table, column, row)).encode("utf-8", "backslashreplace").decode()
