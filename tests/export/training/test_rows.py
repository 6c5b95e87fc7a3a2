"""Where values stand in texts, and what is exchanged."""

from __future__ import annotations

from export.training.general.rows import HELD_OUT, Row, parts
from scorer.metric.triples import Triple


def row(*facts: tuple[str, str], text: str) -> Row:
    return Row(tuple(Triple("Ann", p, o) for p, o in facts), text, "rnnlg", "people")


def test_the_held_out_domain_is_kept_apart() -> None:
    inside, outside = row(("a", "b"), text=""), Row((), "", *HELD_OUT)
    assert parts([inside, outside]) == ([inside], [outside])
