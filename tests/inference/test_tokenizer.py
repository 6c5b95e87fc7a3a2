"""Ids of texts and pairs against the tokenizer's own, by words and whole."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, trainers

import scorer.inference.tokenizer
from scorer.errors import BundleError
from scorer.inference.bundle import Bundle
from scorer.inference.tokenizer import PairFormat, TextTokenizer, WordTokens, blank_before_words
from tests.bundles import CORPUS, RESTAURANTS, digest, edit_manifest, make_bundle, tokenizer

REFERENCE = tokenizer()
PIECE = st.one_of(
    st.sampled_from([" ", "  ", "\n", "\t", "\u00a0", "\u3000", "\x1c", "\x85", "'s", "'", "The", "é", "e\u0301", "Σ"]),
    st.sampled_from(["</s>", "<mask>", " <mask> ", "5", "£20-25", ".", "日本", "🍕", "\u200b", "\ufeff", "x" * 120]),
    st.text(max_size=4),
)
TEXT = st.lists(PIECE, max_size=12).map("".join)
PLAIN = TEXT.filter(lambda text: not any(special in text for special in ("<s>", "</s>", "<pad>", "<unk>", "<mask>")))


@pytest.fixture(scope="module")
def made(tiny: Path) -> TextTokenizer:
    return TextTokenizer(Bundle.load(tiny))


@given(premise=PLAIN, hypothesis=PLAIN)
def test_pairs_are_the_tokenizer_s_and_the_released_code_s(made: TextTokenizer, premise: str, hypothesis: str) -> None:
    assert made.join(premise, hypothesis) == REFERENCE.encode(premise, hypothesis).ids
    one_string = REFERENCE.encode(f"{premise} </s></s> {hypothesis}").ids
    assert made.join(premise, hypothesis, PairFormat.ONE_STRING) == one_string


@pytest.mark.parametrize("text", ["</s>", "a</s>b", " <mask> ", "<pad><unk>"])
def test_special_tokens_in_a_text_are_characters(made: TextTokenizer, text: str) -> None:
    ids = made.encode([text]).ids.tolist()
    assert not set(ids) & {0, 1, 2, 3, 4}
    assert "".join(map(REFERENCE.id_to_token, ids)).replace("Ġ", " ") == text


def test_truncation_and_padding_stored_in_the_file_are_off(tmp_path: Path) -> None:
    path = make_bundle(tmp_path / "b")
    stored = Tokenizer.from_file(str(path / "tokenizer.json"))
    stored.enable_truncation(5)
    stored.enable_padding(length=32)
    stored.save(str(path / "tokenizer.json"))
    files = json.loads((path / "bundle.json").read_text())["files"]
    edit_manifest(path, files={**files, "tokenizer.json": digest(path / "tokenizer.json")})
    lengths = TextTokenizer(Bundle.load(path)).encode(["The Mill serves cheap French food and more", "The"]).lengths
    assert lengths[0] > 5 and lengths[1] == 1


def test_a_text_too_long_for_any_pair_is_not_tokenised(made: TextTokenizer) -> None:
    limit = 128 * max(map(len, REFERENCE.get_vocab()))
    tokens = made.encode(["x" * limit, "x" * (limit + 1), "é" * (limit // 2 + 1), "ok"])
    assert tokens.oversized.tolist() == [False, True, True, False]
    assert tokens.lengths[1] == tokens.lengths[2] == 0
    assert made.encode(["The Mill " * limit], keep_beginnings=True).lengths[0] >= 128


class PanicException(BaseException):  # its name in pyo3
    """Not an ``Exception``, as the one of the library's."""


@pytest.mark.parametrize("error", [PanicException("index out of bounds\nat line 5"), Exception("no")])
def test_whatever_the_library_raises_is_one_line(
    tiny: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    def fails(*_: Any, **__: Any) -> Any:
        raise error

    class Failing:
        encode_batch_fast = encode = fails

    made = TextTokenizer(Bundle.load(tiny))
    monkeypatch.setattr(made._words, "_tokenizer", Failing())
    with pytest.raises(BundleError, match=r"tokenizer\.json cannot tokenise") as found:
        made.encode(["a\tb"])
    assert "\n" not in str(found.value)


def whole(made: Tokenizer, texts: list[str]) -> list[list[int]]:
    return [made.encode(text, add_special_tokens=False).ids for text in texts]


def by_words(words: WordTokens, texts: list[str]) -> list[list[int]]:
    ids, offsets = words.encode(texts)
    return [ids[a:b].tolist() for a, b in pairwise(offsets)]


def trained(made: Tokenizer, trainer: Any) -> Tokenizer:
    made.train_from_iterator([*CORPUS, "it's £20-25", "naïve café 東京 1932-03-15"] * 20, trainer)
    return made


def unigram() -> Tokenizer:
    made = Tokenizer(models.Unigram())
    made.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")])
    made.pre_tokenizer = pre_tokenizers.Metaspace()
    more: dict[str, Any] = {"special_tokens": ["<unk>"], "unk_token": "<unk>", "show_progress": False}
    return trained(made, trainers.UnigramTrainer(vocab_size=90, **more))


def wordpiece() -> Tokenizer:
    made = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    made.normalizer, made.pre_tokenizer = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()
    more: dict[str, Any] = {"special_tokens": ["[UNK]"], "show_progress": False}
    return trained(made, trainers.WordPieceTrainer(vocab_size=150, **more))


def changed(normalizer: Any) -> Tokenizer:
    found = tokenizer()
    found.normalizer = normalizer
    return found


PREPENDING = normalizers.Sequence([normalizers.NFC(), normalizers.Prepend(" ")])
BUILDS: dict[str, tuple[Callable[[], Tokenizer], str]] = {
    "byte level": (tokenizer, " "),
    "lower": (lambda: changed(normalizers.Lowercase()), " "),
    "prepend": (lambda: changed(PREPENDING), ""),
    "embedded": (lambda: Tokenizer.from_file(str(RESTAURANTS / "tokenizer.json")), ""),
    "wordpiece": (wordpiece, ""),
    "unigram": (unigram, ""),
}
"""Tokenizers that are taken apart, with the blank that each asks for."""


@pytest.fixture(scope="module", params=BUILDS)
def build(request: pytest.FixtureRequest) -> tuple[Tokenizer, str]:
    make, blank = BUILDS[request.param]
    found = make()
    assert blank_before_words(json.loads(found.to_str())) == blank
    found.encode_special_tokens = True
    return found, blank


@settings(max_examples=75, deadline=None)
@given(texts=st.lists(TEXT, max_size=6))
def test_words_give_the_tokenizer_s_own_ids(build: tuple[Tokenizer, str], texts: list[str]) -> None:
    words = WordTokens(*build)
    assert by_words(words, texts) == whole(build[0], texts)
    assert by_words(words, texts[::-1]) == whole(build[0], texts[::-1])


def test_every_character_at_both_ends_of_a_word(build: tuple[Tokenizer, str]) -> None:
    """Every character of the basic plane, alone, first and last; ideographs, which are all treated alike, in part."""
    characters = [chr(c) for c in range(1, 0x10000) if not 0xD800 <= c < 0xE000]
    texts = [f"a{c} {c} {c}it b{c}" for c in characters if not "\u3400" <= c <= "\ud7a3" or ord(c) % 64 == 0]
    assert by_words(WordTokens(*build), texts) == whole(build[0], texts)


def test_what_is_remembered_is_bounded(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By its characters: texts that cannot be taken apart are remembered whole, and may be long."""
    monkeypatch.setattr(scorer.inference.tokenizer, "_CACHE_CHARACTERS", 700)
    made = TextTokenizer(Bundle.load(tiny))
    for start in range(0, 100, 5):
        texts = [f"w{i} v{i}" + "\tmore" * (i % 2) for i in range(start, start + 5)]
        assert made.encode(texts).ids.tolist() == [one for ids in whole(REFERENCE, texts) for one in ids]
        assert made._words is not None and made._words.characters <= 700 + 5 * 2 * 70


def added(content: str, **more: Any) -> dict[str, Any]:
    return {"added_tokens": [{"content": content, "special": False, **more}]}


METASPACE = {"type": "Metaspace", "replacement": "\u2581"}
BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False}


@pytest.mark.parametrize(
    ("build", "change", "allowed"),
    [
        (unigram, added("|||IP|||"), True),
        (unigram, added("    "), True),
        (unigram, added("New York"), False),
        (unigram, added("x", lstrip=True), False),
        (unigram, added("a b", special=True, lstrip=True), True),
        (unigram, {"pre_tokenizer": METASPACE | {"prepend_scheme": "first"}}, False),
        (unigram, {"pre_tokenizer": METASPACE | {"add_prefix_space": False}}, False),
        (unigram, {"pre_tokenizer": METASPACE | {"split": False}}, False),
        (unigram, {"normalizer": {"type": "NFD"}}, False),
        (tokenizer, {"pre_tokenizer": BYTE_LEVEL}, True),
        (tokenizer, {"pre_tokenizer": BYTE_LEVEL | {"add_prefix_space": True}}, False),
        (tokenizer, {"pre_tokenizer": BYTE_LEVEL | {"use_regex": False}}, False),
        (tokenizer, {"normalizer": {"type": "NFKC"}}, False),
        (tokenizer, {"model": {"type": "BPE", "dropout": 0.1}}, False),
        (tokenizer, {"model": {"type": "WordLevel"}}, False),
    ],
)
def test_which_tokenizers_are_taken_apart(
    build: Callable[[], Tokenizer], change: dict[str, Any], allowed: bool
) -> None:
    assert (blank_before_words(json.loads(build().to_str()) | change) is not None) == allowed
