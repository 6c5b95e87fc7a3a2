"""Which column of a table holds which input, determined once per shard, and the rows of a table."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

import pyarrow as pa

from ..errors import ColumnError
from .column_names import ColumnNames as ColumnNames
from .columns import DETAILS, OUTPUT, SENTENCES
from .conversions import conversion
from .nested import column_of, find_field, holder_of
from .refusals import FactForm as FactForm
from .refusals import refusal
from .rows import Rows, from_arrow
from .triple_forms import holds_triples, is_list, is_text
from .triples import RowTriples, from_lists, from_mr, from_sentences


@dataclass(frozen=True)
class InputColumns:
    """The columns of one schema. ``facts``: the column of facts, ``form``: how it holds them; ``selected``: the
    column of selections, if there is one; ``passed``: the input columns that the output keeps; ``keeps_all``: whether
    these were not chosen by the user; ``prefix``, ``details``: of the output columns, see :class:`.ColumnNames`.
    ``holders``: the columns that texts and facts are read from; others than ``text`` and ``facts`` where these are
    fields of structs."""

    text: str
    facts: str
    form: FactForm
    selected: str | None
    passed: tuple[str, ...]
    keeps_all: bool = True
    prefix: str = ""
    details: bool = False
    holders: tuple[str, ...] = ()

    @property
    def needed(self) -> list[str]:
        """All columns to read, each once."""
        read = self.holders or (self.text, self.facts)
        return list(dict.fromkeys([*self.passed, *read, *([self.selected] if self.selected else [])]))

    @property
    def shape(self) -> dict[str, object]:
        """What the columns of the output depend on, in the types of JSON; receipts compare it."""
        return {
            "text": self.text,
            "facts": self.facts,
            "facts_are_mr": self.form == "mr",
            **({"facts_are_sentences": True} if self.form == "facts" else {}),  # absent in receipts of earlier versions
            "selected": self.selected,
            "keep": list(self.passed),
            "prefix": self.prefix,
            "details": self.details,
        }

    def rows(self, table: pa.Table) -> Rows:
        """Parse a window."""
        selected = one_array(table, self.selected) if self.selected else None
        return from_arrow(parse_facts(one_array(table, self.facts), self.form), one_array(table, self.text), selected)

    def refusal(self, table: pa.Table) -> str | None:
        """Why not one row of a table can be scored; ``None`` if one can, or if there is none."""
        return refusal(self.rows(table), table, self.text, self.facts, self.form)

    def with_triples(self, why: str) -> InputColumns:
        """These columns, if their facts have a subject, a predicate and an object.

        Raises:
            ColumnError: they are sentences; ``why`` ends the message.
        """
        if self.form == "facts":
            raise ColumnError(
                f"column {self.facts!r} has facts as sentences, and {why}; name a column of triples with "
                "--triples-column or --mr-column"
            )
        return self


def parse_facts(column: pa.Array, form: FactForm) -> RowTriples:
    """The facts of a column."""
    parse = {"triples": from_lists, "facts": from_sentences, "mr": from_mr}[form]
    return parse(column)


def find_columns(schema: pa.Schema, names: ColumnNames) -> InputColumns:
    """Find and check the columns of a schema.

    Raises:
        ColumnError: a column is missing, has a type that cannot be read, occurs twice, or has an output column's name.
    """
    check_unique(schema)
    text = required_field(schema, names.text, "text", "--text-column")
    if not is_text(text.type):
        raise ColumnError(
            f"column {names.text!r} is {text.type}, but the text must be a string; name another with --text-column"
        )
    facts, form, selected = find_source(schema, names)
    passed = find_passed(schema, names, output_schema(names))
    keeps_all = names.keep is None
    holders = tuple(holder_of(schema, name) or name for name in (names.text, facts))
    return InputColumns(names.text, facts, form, selected, passed, keeps_all, names.prefix, names.details, holders)


def find_source(schema: pa.Schema, names: ColumnNames) -> tuple[str, FactForm, str | None]:
    """The column of facts and its form, as :func:`find_facts`, and the column of selections, if there is one.

    Raises:
        ColumnError: there are no facts, they have a type that cannot be read, or several columns have them.
    """
    found = find_facts(schema, names)
    if found is None:
        named = names.mr or names.facts
        wanted = repr(named) if named else f"{names.triples or 'triples'!r} nor a column 'facts' or 'mr'"
        raise ColumnError(
            f"no column {wanted}; the columns are {_listed(schema)}; "
            "name the column of facts with --triples-column, --facts-column or --mr-column"
        )
    facts, form = found
    _CHECKS[form](required_field(schema, facts, "facts", "--triples-column"))
    selected = "selected" if "selected" in schema.names and is_list_of(schema.field("selected").type, "int") else None
    return facts, form, selected


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
    """The column of facts and its form: the one that is named, otherwise ``triples``, ``facts`` or ``mr``.

    ``triples`` goes before ``mr``: files of E2E have both, with the same facts. A column ``facts`` of another type than
    a list of strings is not looked at unless it is named. ``None`` when there is no such column.

    Raises:
        ColumnError: several columns are named, or there are sentences and other facts, and none is named.
    """
    options = {"--facts-column": names.facts, "--mr-column": names.mr}
    named = [option for option, name in options.items() if name is not None]
    if len(named) > 1:
        raise ColumnError(f"{' and '.join(named)} both name a column of facts; give one of them")
    if names.facts is not None:
        return (names.facts, "facts") if holder_of(schema, names.facts) else None
    if names.mr is not None:
        return (names.mr, "mr") if holder_of(schema, names.mr) else None
    if names.triples is not None:
        if holder_of(schema, names.triples):
            return names.triples, "triples"
        return ("mr", "mr") if "mr" in schema.names else None
    others: list[FactForm] = [form for form in _UNNAMED if form in schema.names]
    if "facts" in schema.names and is_list_of(schema.field("facts").type, "text"):
        if others:
            raise ColumnError(
                f"there are facts in the columns 'facts' and {others[0]!r}; name the one to use with --facts-column or "
                f"--{others[0]}-column"
            )
        return "facts", "facts"
    return (others[0], others[0]) if others else None


_UNNAMED: tuple[FactForm, ...] = ("triples", "mr")


def output_schema(names: ColumnNames) -> list[pa.Field]:
    """The columns that a run adds, without the prefix."""
    return [*OUTPUT, *([SENTENCES] if names.sentences else []), *([DETAILS] if names.details else [])]


def _passed(schema: pa.Schema, names: ColumnNames) -> tuple[str, ...]:
    if names.keep is None:
        return tuple(schema.names)
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
    shown = ", ".join(schema.names[:20]) or "none"
    return shown + (f" and {len(schema.names) - 20} more" if len(schema.names) > 20 else "")


def check_unique(schema: pa.Schema) -> None:
    """Refuse a schema in which two columns have one name.

    Raises:
        ColumnError: names it.
    """
    twice = [name for name in schema.names if schema.names.count(name) > 1]
    if twice:
        raise ColumnError(f"two columns have the name {twice[0]!r}; rename one, since columns are found by name")


def _check_triples(field: pa.Field) -> None:
    if not holds_triples(field.type):
        raise ColumnError(
            f"column {field.name!r} is {field.type}, but triples are list<struct<subject, predicate, object>>, "
            f"list<string> like 'subject | predicate | object', or a form of docs/data.md; {conversion(field)}; or "
            "name another column with --triples-column"
        )


def _check_sentences(field: pa.Field) -> None:
    if not (pa.types.is_null(field.type) or is_list_of(field.type, "text")):
        raise ColumnError(
            f"column {field.name!r} is {field.type}, but facts are list<string>, a sentence each; name another with "
            "--facts-column"
        )


def _check_mr(field: pa.Field) -> None:
    if not is_text(field.type):
        raise ColumnError(
            f"column {field.name!r} is {field.type}, but meaning representations are strings like "
            "name[...], food[...]; name another with --mr-column"
        )


_CHECKS: dict[FactForm, Callable[[pa.Field], None]] = {
    "triples": _check_triples,
    "facts": _check_sentences,
    "mr": _check_mr,
}


def is_list_of(kind: pa.DataType, what: Literal["text", "int"]) -> bool:
    """Whether a type is a list of strings or of integers, in any layout."""
    tests = {"text": is_text, "int": pa.types.is_integer}
    return is_list(kind) and bool(tests[what](kind.value_type))


def one_array(table: pa.Table, name: str) -> pa.Array:
    """A column of a table, or a field of a struct (see :mod:`.nested`), as one array."""
    column = column_of(table, name).combine_chunks()
    if isinstance(column, pa.ChunkedArray):
        column = column.chunk(0) if column.num_chunks else pa.array([], column.type)
    return column
