from __future__ import annotations

import pyarrow as pa
import pytest

from scorer.errors import ColumnError
from scorer.metric.inputs import find_columns
from scorer.metric.options import ColumnNames, of_python

TEXT = ("text", pa.string())
SENTENCES = ("facts", pa.list_(pa.string()))


def test_a_selection_is_found_by_name_and_type() -> None:
    schema = pa.schema([TEXT, ("mr", pa.string()), ("selected", pa.list_(pa.int16()))])
    assert find_columns(schema, ColumnNames()).selected == "selected"
    assert find_columns(schema.set(2, pa.field("selected", pa.bool_())), ColumnNames()).selected is None


@pytest.mark.parametrize(
    ("fields", "names", "message"),
    [
        ([TEXT, ("x", pa.string())], ColumnNames(), "--mr-column or --document-column"),
        ([("text", pa.int64()), ("mr", pa.string())], ColumnNames(), "int64"),
        ([TEXT, ("triples", pa.list_(pa.int64()))], ColumnNames(), "subject, predicate, object"),
        ([TEXT, ("triples", pa.map_(pa.string(), pa.string()))], ColumnNames(), "map<"),
        ([TEXT, ("o", pa.struct([("triples", pa.int8())]))], ColumnNames(triples="o.triples"), "'o.triples' is int8"),
        ([TEXT, ("triples", pa.list_(pa.struct([("subject", pa.string())])))], ColumnNames(), "subject"),
        ([TEXT, ("mr", pa.string()), ("x_note", pa.string())], ColumnNames(prefix="x_"), "x_note"),
        ([TEXT, ("mr", pa.string())], ColumnNames(keep=("id",)), "--keep"),
        ([TEXT, TEXT, ("mr", pa.string())], ColumnNames(), "two columns"),
        ([TEXT, SENTENCES, ("mr", pa.string())], ColumnNames(), "--facts-column or --mr-column"),
        ([TEXT, SENTENCES, ("mr", pa.string())], ColumnNames(facts="facts", mr="mr"), "give one of them"),
        ([TEXT, ("facts", pa.int64())], ColumnNames(facts="facts"), "a sentence each"),
    ],
)
def test_columns_that_cannot_be_used_are_named(fields: list, names: ColumnNames, message: str) -> None:
    with pytest.raises(ColumnError, match=message):
        find_columns(pa.schema(fields), names)


@pytest.mark.parametrize(
    ("fields", "names", "expected"),
    [
        ([SENTENCES], ColumnNames(), ("facts", "facts")),
        ([SENTENCES, ("triples", pa.string())], ColumnNames(triples="triples"), ("triples", "triples")),
        ([("triples", pa.null()), ("mr", pa.string())], ColumnNames(), ("triples", "triples")),
        ([("x", pa.list_(pa.string())), ("mr", pa.string())], ColumnNames(facts="x"), ("x", "facts")),
        ([("facts", pa.int64()), ("mr", pa.string())], ColumnNames(), ("mr", "mr")),
        ([("mr", pa.string())], ColumnNames(triples="triples"), ("mr", "mr")),  # as plans of earlier versions say
    ],
)
def test_one_column_of_facts_is_found(fields: list, names: ColumnNames, expected: tuple[str, str]) -> None:
    found = find_columns(pa.schema([TEXT, *fields]), names)
    assert (found.facts, found.form) == expected


def test_errors_of_python_name_its_own_arguments() -> None:
    table = pa.table({"txt": ["A."], "triples": [["A | b | c"]]})
    for names in (ColumnNames(), ColumnNames(text="txt", triples="t"), ColumnNames(text="txt", keep=("no",))):
        with pytest.raises(ColumnError) as raised:
            find_columns(table.schema, names)
        said = str(of_python(raised.value))
        assert "--" in str(raised.value) and "--" not in said and "ColumnNames(" in said
