"""Where values stand in texts, and what is exchanged."""

from __future__ import annotations

import pytest

from export.training.general.rows import HELD_OUT, Row, find_once, parts
from scorer.metric.triples import Triple


@pytest.mark.parametrize(
    ("text", "value", "at"),
    [
        ("It weighs 8 kg.", "8", 10),
        ("It runs windows 8.1 now.", "8", -1),
        ("It costs $24,344.", "24", -1),
        ("It ended in 8.", "8", 12),
        ("A pub is a pub.", "pub", -1),
        ("A PUB by name.", "pub", 2),
        ("A public place.", "pub", -1),
        ("Nothing here.", "", -1),
    ],
)
def test_a_value_stands_once_as_whole_words(text: str, value: str, at: int) -> None:
    assert find_once(text, value) == at


def row(*facts: tuple[str, str], text: str) -> Row:
    return Row(tuple(Triple("Ann", p, o) for p, o in facts), text, "rnnlg", "people")


def test_objects_and_names_change_in_text_and_facts() -> None:
    found = row(("age", "40"), ("home", "Oslo"), text="Ann is 40 and lives in Oslo.")
    changed = found.with_object(0, "41")
    assert (changed.text, changed.triples[0].object) == ("Ann is 41 and lives in Oslo.", "41")
    assert found.with_object(0, "41", text=False).text == found.text
    renamed = found.with_subject("Ann", "Bea")
    assert renamed.text == "Bea is 40 and lives in Oslo."
    assert {t.subject for t in renamed.triples} == {"Bea"}


def test_the_held_out_domain_is_kept_apart() -> None:
    inside, outside = row(("a", "b"), text=""), Row((), "", *HELD_OUT)
    assert parts([inside, outside]) == ([inside], [outside])
