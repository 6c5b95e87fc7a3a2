"""Distinct settings have distinct signatures, also where a joined string would be the same."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from scorer.scoring.summary import of_parts, optional_of
from scorer.storage.receipts import Signature, line_parts

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
    assert one.line.isprintable() and line_parts(one.line).keys() == one.parts.keys()
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
        assert Signature.of_footer(damaged) == Signature.of_line(signed.line) != signed
    assert Signature.of_footer(None) == Signature.of_line("")
