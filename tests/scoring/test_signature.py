"""Distinct settings have distinct signatures, also where a joined string would be the same."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from scorer.metric.inputs import find_columns
from scorer.metric.options import ColumnNames
from scorer.scoring.signature import of_parts, optional_of, parse
from scorer.storage.receipts import Signature
from scorer.system.codec import encode
from tests.storage.records import make_plan, make_shard

BASE = {
    "model": ["m", "a" * 64],
    "prec": "fp32",
    "ep": "cpu",
    "exact": "no",
    "templates": "b" * 64,
    "protocol": "paper",
    "optional": [],
    "checks": "both",
    "maxlen": 512,
    "overlong": "error",
    "metric": 2,
}
TRICKY = st.text(st.sampled_from("a,=|%:@\n\x1b \u202e\ud800é"), max_size=5)
PAIRS = st.lists(st.tuples(TRICKY, TRICKY).map(list), max_size=3, unique_by=tuple).map(sorted)


def parts(name: str, pairs: list[list[str]], sentences: str) -> dict[str, Any]:
    return {**BASE, "model": [name, "a" * 64], "optional": pairs, **({"sentences": sentences} if sentences else {})}


@given(*[TRICKY, PAIRS, TRICKY] * 2)
def test_distinct_settings_have_distinct_signatures(
    name: str, pairs: list[list[str]], sentences: str, other: str, others: list[list[str]], another: str
) -> None:
    one, two = of_parts(parts(name, pairs, sentences)), of_parts(parts(other, others, another))
    same = (name, pairs, sentences) == (other, others, another)
    assert (one.line == two.line) == (one.whole == two.whole) == (one == two) == same
    assert (one.changes_to(two) == []) == same
    assert one.line.isprintable() and parse(one.line).keys() == one.parts.keys()
    assert sorted(map(list, optional_of(one.line))) == pairs


def test_digests_are_compared_whole() -> None:
    """Two template files with one prefix of twelve digits can be made within minutes."""
    one, two = (of_parts({**BASE, "templates": "c" * 12 + last * 52}) for last in "01")
    assert one.line == two.line
    assert one != two
    assert one.changes_to(two) == [f"templates: {'c' * 12}{'0' * 52} → {'c' * 12}{'1' * 52}"]


def test_a_footer_gives_both_forms_back() -> None:
    signed = of_parts({**BASE, "optional": [["a|b", "é"]]})
    footer = {key.encode(): value.encode() for key, value in signed.footer.items()}
    assert Signature.of_footer(footer) == signed
    earlier = {key: value for key, value in footer.items() if key.endswith(b"signature")}
    for damaged in (earlier, {**earlier, b"d2t_scorer.signature_parts": b"[}"}):
        assert Signature.of_footer(damaged) == Signature(signed.line) != signed
    assert Signature.of_footer(None) == Signature("")


def fingerprint(names: ColumnNames, *columns: str) -> bytes:
    schema = pa.schema([(name, pa.string()) for name in columns])
    shard = make_shard("a.parquet", columns=find_columns(schema, names).shape)
    return encode(make_plan([shard], of_parts(BASE).line).fingerprint(shard))


def test_names_of_columns_cannot_read_as_other_settings() -> None:
    first = fingerprint(ColumnNames(text="t|facts=mr", mr="mr"), "t|facts=mr", "mr")
    second = fingerprint(ColumnNames(text="t", mr="mr"), "t", "mr")
    assert first != second
    joined = ColumnNames(text="t", mr="mr", prefix="p|details=True")
    assert fingerprint(joined, "t", "mr") != fingerprint(replace(joined, prefix="p", details=True), "t", "mr")
    kept = [ColumnNames(text="t", mr="mr", keep=("a', 'b",)), ColumnNames(text="t", mr="mr", keep=("a", "b"))]
    assert len({fingerprint(names, "t", "mr", "a', 'b", "a", "b") for names in kept}) == 2
