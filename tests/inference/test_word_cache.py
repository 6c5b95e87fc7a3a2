from __future__ import annotations

import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, trainers

import scorer.inference.tokenizer
from scorer.inference.bundle import Bundle
from scorer.inference.tokenizer import TextTokenizer, WordTokens, blank_before_words
from tests.bundles import RESTAURANTS, tokenizer

PIECE = st.one_of(
    st.sampled_from([" ", "  ", "\n", "\t", "\u00a0", "\u3000", "\x1c", "\x85", "'s", "'", "The", "é", "e\u0301", "Σ"]),
    st.sampled_from(["</s>", "<mask>", " <mask>", "5", "£20-25", ".", "日本", "🍕", "\u200b", "\ufeff", "x" * 120]),
    st.text(max_size=4),
)
TEXT = st.lists(PIECE, max_size=12).map("".join)


def whole(made: Tokenizer, texts: list[str]) -> list[list[int]]:
    return [made.encode(text, add_special_tokens=False).ids for text in texts]


def by_words(words: WordTokens, texts: list[str]) -> list[list[int]]:
    ids, offsets = words.encode(texts)
    assert (ids.dtype, offsets.dtype) == (np.int32, np.int64)
    return [ids[a:b].tolist() for a, b in pairwise(offsets)]


@pytest.fixture(scope="module", params=["plain", "lower", "prepend", "embedded"])
def made(request: pytest.FixtureRequest) -> tuple[Tokenizer, str]:
    """A tokenizer, and the blank that its file asks for."""
    found = Tokenizer.from_file(str(RESTAURANTS / "tokenizer.json")) if request.param == "embedded" else tokenizer()
    if request.param == "lower":
        found.normalizer = normalizers.Lowercase()
    if request.param == "prepend":
        found.normalizer = normalizers.Sequence([normalizers.NFC(), normalizers.Prepend(" ")])
    blank = blank_before_words(json.loads(found.to_str()))
    assert blank == ("" if request.param in ("prepend", "embedded") else " ")
    found.encode_special_tokens = True
    return found, blank


@settings(max_examples=75, deadline=None)
@given(texts=st.lists(TEXT, max_size=6))
def test_words_give_the_tokenizer_s_own_ids(made: tuple[Tokenizer, str], texts: list[str]) -> None:
    words = WordTokens(*made)
    assert by_words(words, texts) == whole(made[0], texts)
    assert by_words(words, texts[::-1]) == whole(made[0], texts[::-1])


def test_what_is_remembered_is_bounded(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By its characters: texts that cannot be taken apart are remembered whole, and may be long."""
    monkeypatch.setattr(scorer.inference.tokenizer, "_MOST_KEPT", 700)
    made = TextTokenizer(Bundle.load(tiny))
    for start in range(0, 100, 5):
        texts = [f"w{i} v{i}" + "\tmore" * (i % 2) for i in range(start, start + 5)]
        assert made.encode(texts).ids.tolist() == sum(whole(tokenizer(), texts), [])
        assert made._words is not None and made._words.kept <= 700 + 5 * 2 * 70


def test_a_tokenizer_of_another_build_is_not_taken_apart() -> None:
    def accepted(change: Callable[[Any], object] = id) -> bool:
        other = tokenizer()
        change(other)
        return blank_before_words(json.loads(other.to_str())) is not None

    assert not accepted(lambda t: setattr(t, "pre_tokenizer", pre_tokenizers.ByteLevel(add_prefix_space=True)))
    assert not accepted(lambda t: setattr(t, "pre_tokenizer", pre_tokenizers.ByteLevel(False, use_regex=False)))
    assert not accepted(lambda t: setattr(t, "normalizer", normalizers.NFKC()))
    assert not accepted(lambda t: t.add_tokens(["two words"]))
    assert not accepted(lambda t: setattr(t.model, "dropout", 0.1))


CORPUS = [
    "Blue Spice is a coffee shop in the riverside area near Crowne Plaza Hotel, it's £20-25.",
    "naïve café 東京 1932-03-15",
]


def unigram() -> Tokenizer:
    made = Tokenizer(models.Unigram())
    made.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")])
    made.pre_tokenizer = pre_tokenizers.Metaspace()
    trainer = trainers.UnigramTrainer(vocab_size=90, special_tokens=["<unk>"], unk_token="<unk>", show_progress=False)
    made.train_from_iterator(CORPUS * 20, trainer)
    return made


def wordpiece() -> Tokenizer:
    made = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    made.normalizer, made.pre_tokenizer = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()
    trainer = trainers.WordPieceTrainer(vocab_size=150, special_tokens=["[UNK]"], show_progress=False)
    made.train_from_iterator(CORPUS * 20, trainer)
    return made


@pytest.mark.parametrize("build", [wordpiece, unigram])
def test_every_character_at_both_ends_of_a_word(build: Callable[[], Tokenizer]) -> None:
    """WordPiece and Unigram, taken apart at blanks: every character of the basic plane, alone, first and last."""
    made = build()
    made.encode_special_tokens = True
    content = json.loads(made.to_str())
    blank = blank_before_words(content)
    assert blank == ""
    words = WordTokens(made, blank)
    characters = [chr(c) for c in range(1, 0x10000) if not 0xD800 <= c < 0xE000]
    # Ideographs are all treated in the same way.
    texts = [f"a{c} {c} {c}it b{c}" for c in characters if not "\u3400" <= c <= "\ud7a3" or ord(c) % 64 == 0]
    assert by_words(words, texts) == whole(made, texts)


@pytest.mark.parametrize(
    ("change", "allowed"),
    [
        ({}, True),
        ({"added_tokens": [{"content": "|||IP|||", "special": False}]}, True),
        ({"added_tokens": [{"content": "    ", "special": False}]}, True),
        ({"added_tokens": [{"content": "New York", "special": False}]}, False),
        ({"added_tokens": [{"content": "x", "special": False, "lstrip": True}]}, False),
        ({"added_tokens": [{"content": "a b", "special": True, "lstrip": True}]}, True),
        ({"pre_tokenizer": {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "first"}}, False),
        ({"pre_tokenizer": {"type": "Metaspace", "replacement": "\u2581", "add_prefix_space": False}}, False),
        ({"pre_tokenizer": {"type": "Metaspace", "replacement": "\u2581", "split": False}}, False),
        ({"normalizer": {"type": "NFD"}}, False),
    ],
)
def test_which_unigram_tokenizers_are_taken_apart(change: dict[str, object], allowed: bool) -> None:
    content = json.loads(unigram().to_str()) | change
    assert blank_before_words(content) == ("" if allowed else None)
