from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, normalizers, pre_tokenizers

import scorer.inference.word_cache
from scorer.inference.shipped import SHIPPED
from scorer.inference.word_cache import WordTokens, blank_before_words
from tests.bundles import tokenizer

PIECE = st.one_of(
    st.sampled_from(
        [" ", "  ", "\n", "\t", "\u00a0", "\u3000", "\x1c", "\x85", "'s", "'", "The", "Mill", "é", "e\u0301", "Σ"]
    ),
    st.sampled_from(
        ["</s>", "<mask>", " <mask>", "5", "£20-25", ".", ",", "日本", "🍕", "\u200b", "\ufeff", "x" * 120]
    ),
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
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Tokenizer, str]:
    """A tokenizer, and the blank that its file asks for."""
    found = (
        Tokenizer.from_file(str(SHIPPED["embedded-e2e"].folder / "tokenizer.json"))
        if request.param == "embedded"
        else tokenizer()
    )
    if request.param == "lower":
        found.normalizer = normalizers.Lowercase()
    if request.param == "prepend":
        found.normalizer = normalizers.Sequence([normalizers.NFC(), normalizers.Prepend(" ")])
    path = tmp_path_factory.mktemp("words") / "tokenizer.json"
    found.save(str(path))
    blank = blank_before_words(json.loads(path.read_text()))
    assert blank == ("" if request.param in ("prepend", "embedded") else " ")
    found.encode_special_tokens = True
    return found, blank


@settings(max_examples=300, deadline=None)
@given(texts=st.lists(TEXT, max_size=6))
def test_words_give_the_tokenizer_s_own_ids(made: tuple[Tokenizer, str], texts: list[str]) -> None:
    words = WordTokens(*made)
    assert by_words(words, texts) == whole(made[0], texts)
    assert by_words(words, texts[::-1]) == whole(made[0], texts[::-1])


def test_real_texts(made: tuple[Tokenizer, str], shared_data: Path) -> None:
    words = WordTokens(*made)
    for name in ("e2e_primary", "webnlg17_humeval", "st_texts"):
        texts = pq.read_table(shared_data / f"{name}.parquet", columns=["text"])["text"].to_pylist()[:1500]
        assert by_words(words, texts) == whole(made[0], texts)


def test_what_is_remembered_is_bounded(made: tuple[Tokenizer, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scorer.inference.word_cache, "_MOST_WORDS", 10)
    words = WordTokens(*made)
    for start in range(0, 100, 5):
        texts = [f"w{i} v{i}" for i in range(start, start + 5)]
        assert by_words(words, texts) == whole(made[0], texts)
        assert len(words._words) <= 10 + 10


def test_a_tokenizer_of_another_build_is_not_taken_apart(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"

    def accepted(change: object = None) -> bool:
        other = tokenizer()
        if callable(change):
            change(other)
        other.save(str(path))
        return blank_before_words(json.loads(path.read_text())) is not None

    assert accepted()
    assert not accepted(lambda t: setattr(t, "pre_tokenizer", pre_tokenizers.ByteLevel(add_prefix_space=True)))
    assert not accepted(lambda t: setattr(t, "pre_tokenizer", pre_tokenizers.ByteLevel(False, use_regex=False)))
    assert not accepted(lambda t: setattr(t, "pre_tokenizer", pre_tokenizers.Metaspace()))
    assert not accepted(lambda t: setattr(t, "normalizer", normalizers.NFKC()))
    assert not accepted(lambda t: t.add_tokens(["two words"]))
    content = json.loads(path.read_text())
    content["model"]["dropout"] = 0.1
    path.write_text(json.dumps(content))
    assert blank_before_words(json.loads(path.read_text())) is None
