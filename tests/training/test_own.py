"""Pairs from people's own tables: their labels, and that neither side alone tells them."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path

import pytest

from tests.training.examples import guessed
from training.general import own, own_rows

FACTS = {"home": "Tarrow", "away": "Ellan", "pts_h": 88, "pts_a": 91, "ot": True, "venue": {"name": "Old Hall"}}
SENTENCES = [
    {"keys": ["home"], "text": "Tarrow played at home."},
    {"keys": ["pts_h", "pts_a"], "text": "It was 88-91."},
]
ROW = {
    "id": "g-1",
    "domain": "games",
    "subject": "Game 7",
    "facts": FACTS,
    "omitted": [],
    "contradicted": [],
    "added": "",
}
RIGHT = ROW | {"text": "Tarrow lost 88-91 to Ellan after overtime in the Old Hall."}
LESS = ROW | {"text": "Tarrow, at home, lost 88-91 to Ellan after overtime.", "omitted": ["venue"]}
WRONG = ROW | {
    "text": "Ellan lost 88-91 to Tarrow after overtime in the Old Hall, in the rain.", "added": "in the rain",
    "omitted": ["pts_h", "pts_a"], "contradicted": ["pts_h", "pts_a"],
}  # fmt: skip


@pytest.fixture
def texts(tmp_path: Path) -> list[own.OwnText]:
    lines = [RIGHT, LESS, WRONG, {"kind": "sentences", "id": "g-1", "sentences": SENTENCES}]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return own.read(tmp_path)


def test_labels_follow_the_facts_of_each_text(texts: list[own.OwnText]) -> None:
    assert [len(text.facts) for text in texts] == [6] * 3
    pairs = own.pairs(texts, random.Random(1))
    labels = {
        (premise.removeprefix("Game 7: "), hypothesis.removeprefix("Game 7: ")): label
        for premise, hypothesis, label in zip(pairs["premise"], pairs["hypothesis"], pairs["label"], strict=True)
    }
    right, less, wrong = (text.text for text in texts)
    assert labels[wrong, "It was 88-91."] == labels[wrong, "The pts h of Game 7 is 88."] == "contradiction"
    assert labels[less, "The venue of Game 7 is Old Hall."] == "neutral"
    assert labels[right, "The ot of Game 7 is true."] == "entailment"
    assert labels[right, "The ot of Game 7 is false."] == "contradiction"
    assert labels[right, "The pts h of Game 7 is 91."] == labels[right, "Ellan played at home."] == "contradiction"
    assert (wrong, "The pts h of Game 7 is 91.") not in labels, "what it says instead may be just that"
    assert labels["Tarrow played at home. It was 88-91.", wrong] == "contradiction"
    assert labels["Tarrow played at home. It was 88-91.", less] == "entailment"
    assert {
        labels[sentence, right]
        for sentence in ("Tarrow played at home.", "It was 88-91.")
        if (sentence, right) in labels
    } == {"not_entailment"}


def test_every_false_pair_follows_a_true_one(texts: list[own.OwnText]) -> None:
    pairs = own.pairs(texts, random.Random(2))
    assert Counter(label == "entailment" for label in pairs["label"][::2]) == {True: len(pairs["label"]) // 2}
    assert Counter(label == "entailment" for label in pairs["label"][1::2]) == {False: len(pairs["label"]) // 2}
    assert pairs == own.pairs(texts, random.Random(2)) and {len(column) for column in pairs.values()} == {
        len(pairs["label"])
    }


def test_held_out_rows_have_their_gold_labels_and_exchanges_of_correct_texts_alone(texts: list[own.OwnText]) -> None:
    rows = own_rows.tables(texts)
    assert [row["gold_fine"] for row in rows["backoff"]] == ["OK", "omission", "omission+hallucination"]
    assert [row["gold_fine"] for row in rows["sentences"]] == ["OK", "omission", "omission+hallucination"]
    assert [len(row["triples"]) for row in rows["backoff"]] == [6] * 3
    assert rows["sentences"][0]["facts"] == ["Tarrow played at home.", "It was 88-91."]
    assert {row["text"] for row in rows["exchanges"]} == {RIGHT["text"]}
    gold = {row["facts"][0]: row["gold_fine"] for row in rows["exchanges"]}
    assert gold["The ot of Game 7 is true."] == "OK" and gold["The ot of Game 7 is false."] == "omission"
    assert gold["The pts h of Game 7 is 91."] == gold["The home of Game 7 is Ellan."] == "omission"


@pytest.mark.slow
def test_neither_side_tells_and_no_domain_is_on_both_sides(shared_data: Path) -> None:
    trained, held_out = own.parts(own.read(shared_data.parent / "own"))
    assert {text.domain for text in held_out} == own.HELD_OUT
    assert not {text.domain for text in trained} & own.HELD_OUT and len(trained) > 3 * len(held_out) > 1200
    for texts in (trained, held_out):
        pairs = own.pairs(texts, random.Random(0))
        for side in ("premise", "hypothesis"):
            labels = [label == "entailment" for label in pairs["label"]]
            assert guessed(list(zip(pairs[side], labels, strict=True))) < 0.55, side
