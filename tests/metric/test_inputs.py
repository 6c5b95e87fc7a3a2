from __future__ import annotations

import pyarrow as pa
import pytest

from scorer.errors import ColumnError
from scorer.metric.inputs import ColumnNames, find_columns

STRUCT = pa.struct(
    [("object", pa.large_string()), ("subject", pa.string()), ("predicate", pa.string()), ("id", pa.int8())]
)
TEXT = ("text", pa.string())


@pytest.mark.parametrize(
    "kind",
    [
        pa.list_(STRUCT),
        pa.large_list(STRUCT),
        pa.list_(pa.string()),
        pa.list_(pa.dictionary(pa.int8(), pa.string())),
        pa.list_view(pa.string()),
        pa.list_(STRUCT, 2),
        pa.null(),
    ],
)
def test_triples_may_come_in_any_list(kind: pa.DataType) -> None:
    found = find_columns(pa.schema([TEXT, ("triples", kind), ("mr", pa.string())]), ColumnNames())
    assert (found.facts, found.facts_are_mr) == ("triples", False)


def test_meaning_representations_stand_in_for_triples() -> None:
    schema = pa.schema([TEXT, ("mr", pa.large_string()), ("triples", pa.list_(STRUCT))])
    assert find_columns(schema.remove(2), ColumnNames()).facts_are_mr
    assert find_columns(schema, ColumnNames(mr="mr")).facts == "mr"


def test_a_selection_is_found_by_name_and_type() -> None:
    schema = pa.schema([TEXT, ("mr", pa.string()), ("selected", pa.list_(pa.int16()))])
    assert find_columns(schema, ColumnNames()).selected == "selected"
    assert find_columns(schema.set(2, pa.field("selected", pa.bool_())), ColumnNames()).selected is None


def test_kept_columns_and_what_is_read_for_scoring() -> None:
    schema = pa.schema([TEXT, ("mr", pa.string()), ("id", pa.int64()), ("fine", pa.string())])
    found = find_columns(schema, ColumnNames(keep=("id",)))
    assert found.passed == ("id",)
    assert found.needed == ["id", "text", "mr"]


@pytest.mark.parametrize(
    ("fields", "names", "message"),
    [
        ([("mr", pa.string())], ColumnNames(), "--text-column"),
        ([TEXT, ("x", pa.string())], ColumnNames(), "--triples-column or --mr-column"),
        ([("text", pa.int64()), ("mr", pa.string())], ColumnNames(), "int64"),
        ([("text", pa.binary()), ("mr", pa.string())], ColumnNames(), "binary"),
        ([TEXT, ("triples", pa.string())], ColumnNames(), "subject, predicate, object"),
        ([TEXT, ("triples", pa.list_(pa.int64()))], ColumnNames(), "int64"),
        ([TEXT, ("triples", pa.list_(pa.struct([("subject", pa.string())])))], ColumnNames(), "subject"),
        ([TEXT, ("mr", pa.list_(pa.string()))], ColumnNames(), "name"),
        ([TEXT, ("mr", pa.string()), ("fine", pa.string())], ColumnNames(), "--prefix"),
        ([TEXT, ("mr", pa.string()), ("x_note", pa.string())], ColumnNames(prefix="x_"), "x_note"),
        ([TEXT, ("mr", pa.string())], ColumnNames(keep=("id",)), "--keep"),
        ([TEXT, TEXT, ("mr", pa.string())], ColumnNames(), "two columns"),
        ([], ColumnNames(), "none"),
    ],
)
def test_what_is_wrong_with_the_columns_is_said(fields: list, names: ColumnNames, message: str) -> None:
    with pytest.raises(ColumnError, match=message):
        find_columns(pa.schema(fields), names)
