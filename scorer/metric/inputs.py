"""Which column of a table holds which input, determined once per shard, and the rows of a table."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from ..errors import ColumnError
from .column_names import ColumnNames as ColumnNames
from .columns import DETAILS, OUTPUT, SENTENCES
from .rows import Rows, from_arrow
from .triples import RowTriples, from_lists, from_mr


@dataclass(frozen=True)
class InputColumns:
    """The columns of one schema. ``facts``: the column of triples or meaning representations; ``selected``: the
    column of selections, if there is one; ``passed``: the input columns that the output keeps; ``keeps_all``: whether
    these were not chosen by the user; ``prefix``, ``details``: of the output columns, see :class:`.ColumnNames`."""

    text: str
    facts: str
    facts_are_mr: bool
    selected: str | None
    passed: tuple[str, ...]
    keeps_all: bool = True
    prefix: str = ""
    details: bool = False

    @property
    def needed(self) -> list[str]:
        """All columns to read, each once."""
        return list(dict.fromkeys([*self.passed, self.text, self.facts, *([self.selected] if self.selected else [])]))

    @property
    def shape(self) -> dict[str, object]:
        """What the columns of the output depend on, in the types of JSON; receipts compare it."""
        return {
            "text": self.text,
            "facts": self.facts,
            "facts_are_mr": self.facts_are_mr,
            "selected": self.selected,
            "keep": list(self.passed),
            "prefix": self.prefix,
            "details": self.details,
        }

    def rows(self, table: pa.Table) -> Rows:
        """Parse a window."""
        facts = one_array(table, self.facts)
        triples: RowTriples = from_mr(facts) if self.facts_are_mr else from_lists(facts)
        selected = one_array(table, self.selected) if self.selected else None
        return from_arrow(triples, one_array(table, self.text), selected)


def find_columns(schema: pa.Schema, names: ColumnNames) -> InputColumns:
    """Find and check the columns of a schema.

    Raises:
        ColumnError: a column is missing, has a type that cannot be read, occurs twice, or has an output column's name.
    """
    _check_unique(schema)
    text = _field(schema, names.text, "text", "--text-column")
    if not _is_text(text.type):
        raise ColumnError(
            f"column {names.text!r} is {text.type}, but the text must be a string; name another with --text-column"
        )
    if names.mr is None and names.triples in schema.names:
        facts, facts_are_mr = names.triples, False
        _check_triples(schema.field(facts))
    else:
        facts, facts_are_mr = names.mr or "mr", True
        if facts not in schema.names:
            wanted = f"{facts!r}" if names.mr else f"{names.triples!r} nor a column {facts!r}"
            raise ColumnError(
                f"no column {wanted}; the columns are {_listed(schema)}; "
                "name the column of facts with --triples-column or --mr-column"
            )
        if not _is_text(schema.field(facts).type):
            raise ColumnError(
                f"column {facts!r} is {schema.field(facts).type}, but meaning representations are strings like "
                "name[...], food[...]; name another with --mr-column"
            )
    selected = "selected" if "selected" in schema.names and _is_list_of(schema.field("selected").type, "int") else None
    passed = _passed(schema, names)
    added = [names.prefix + field.name for field in output_schema(names)]
    clashing = [name for name in added if name in passed]
    if clashing:
        raise ColumnError(
            f"the input has a column {clashing[0]!r}, which is the name of an output column; "
            "set a --prefix for the output columns, or leave the column out with --keep"
        )
    keeps_all = names.keep is None
    return InputColumns(names.text, facts, facts_are_mr, selected, passed, keeps_all, names.prefix, names.details)


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


def _field(schema: pa.Schema, name: str, what: str, option: str) -> pa.Field:
    if name not in schema.names:
        raise ColumnError(f"no {what} column {name!r}; the columns are {_listed(schema)}; name it with {option}")
    return schema.field(name)


def _listed(schema: pa.Schema) -> str:
    shown = ", ".join(schema.names[:20]) or "none"
    return shown + (f" and {len(schema.names) - 20} more" if len(schema.names) > 20 else "")


def _check_unique(schema: pa.Schema) -> None:
    twice = [name for name in schema.names if schema.names.count(name) > 1]
    if twice:
        raise ColumnError(f"two columns have the name {twice[0]!r}; rename one, since columns are found by name")


def _check_triples(field: pa.Field) -> None:
    if pa.types.is_null(field.type) or _is_list_of(field.type, "text"):
        return
    if _is_list_of(field.type, "struct"):
        struct = field.type.value_type
        parts = {struct.field(i).name: struct.field(i).type for i in range(struct.num_fields)}
        if all(_is_text(parts.get(part)) for part in ("subject", "predicate", "object")):
            return
    raise ColumnError(
        f"column {field.name!r} is {field.type}, but triples are list<struct<subject, predicate, object>> of strings, "
        "or list<string> like 'subject | predicate | object'; name another with --triples-column"
    )


def _is_text(kind: pa.DataType | None) -> bool:
    if kind is None:
        return False
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    tests = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view, pa.types.is_null)
    return any(test(kind) for test in tests)


def _is_list_of(kind: pa.DataType, what: str) -> bool:
    lists = (
        pa.types.is_list,
        pa.types.is_large_list,
        pa.types.is_fixed_size_list,
        pa.types.is_list_view,
        pa.types.is_large_list_view,
    )
    if not any(test(kind) for test in lists):
        return False
    value = kind.value_type
    tests = {"text": _is_text, "struct": pa.types.is_struct, "int": pa.types.is_integer}
    return bool(tests[what](value))


def one_array(table: pa.Table, name: str) -> pa.Array:
    """A column of a table as one array."""
    column = table[name].combine_chunks()
    if isinstance(column, pa.ChunkedArray):
        column = column.chunk(0) if column.num_chunks else pa.array([], column.type)
    return column
