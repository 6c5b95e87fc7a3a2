"""What a tokenizer.json may hold: no more than exported ones do, each part of it bounded."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from scorer.errors import BundleError, CheckpointError
from scorer.inference.bundle import Bundle
from scorer.inference.shipped import SHIPPED
from scorer.inference.texts import TextTokenizer
from scorer.inference.tokenizer_check import LONGEST_TOKEN, UnfitTokenizerError, check_tokenizer
from tests.bundles import make_bundle, tokenizer
from tests.faults.hostile_graphs import sealed

BOMB = {"type": "Replace", "pattern": {"Regex": "[\\s\\S]"}, "content": "a" * 100}
SLOW = {"type": "Replace", "pattern": {"Regex": "(a|a|b| |[\\s\\S])*(a|a|[\\s\\S])*Q!Q"}, "content": "a"}
SPLIT = {"type": "Split", "pattern": {"Regex": "(a|a)*b"}, "behavior": "Isolated", "invert": False}
PIECES = {"type": "TemplateProcessing", "single": [], "pair": [], "special_tokens": {}}


def content() -> dict[str, Any]:
    return json.loads(tokenizer().to_str())


def sequence(part: str, *steps: Any) -> dict[str, Any]:
    return {"type": "Sequence", part: list(steps)}


def model(**changes: Any) -> dict[str, Any]:
    return {"model": content()["model"] | changes}


def test_exported_tokenizers_pass() -> None:
    assert check_tokenizer(tokenizer().to_str()) == content()
    check_tokenizer((SHIPPED["embedded-e2e"].folder / "tokenizer.json").read_bytes())
    for normalizer in ({"type": "NFC"}, sequence("normalizers", {"type": "NFKC"}, {"type": "Prepend", "prepend": " "})):
        check_tokenizer(json.dumps(content() | {"normalizer": normalizer}))
    check_tokenizer(json.dumps(content() | {"post_processor": PIECES}))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"normalizer": BOMB}, "the normalizer 'Replace'"),
        ({"normalizer": sequence("normalizers", {"type": "NFC"}, *[BOMB] * 4)}, "the normalizer 'Replace'"),
        ({"normalizer": sequence("normalizers", SLOW)}, "the normalizer 'Replace'"),
        ({"normalizer": sequence("normalizers", sequence("normalizers", BOMB))}, "the normalizer 'Sequence'"),
        ({"normalizer": sequence("normalizers", *[{"type": "Prepend", "prepend": "a"}] * 9)}, "at most 8 steps"),
        ({"normalizer": {"type": "Prepend", "prepend": "a" * 17}}, "the normalizer 'Prepend'"),
        ({"normalizer": {"type": "Precompiled", "precompiled_charsmap": ""}}, "the normalizer 'Precompiled'"),
        ({"normalizer": {"normalizers": [BOMB]}}, "the normalizer"),
        ({"normalizer": [BOMB]}, "the normalizer"),
        ({"normalizer": {"type": ["NFC"]}}, "the normalizer"),
        ({"pre_tokenizer": SPLIT}, "the pre_tokenizer 'Split'"),
        ({"pre_tokenizer": sequence("pretokenizers", SPLIT, {"type": "ByteLevel"})}, "the pre_tokenizer 'Split'"),
        ({"post_processor": {**PIECES, "pair": [{}] * 100}}, "the post_processor 'TemplateProcessing'"),
        ({"post_processor": {**PIECES, "special_tokens": {"a": {"ids": [1] * 100, "tokens": []}}}}, "the post_proc"),
        ({"post_processor": {**PIECES, "special_tokens": []}}, "the post_processor"),
        ({"decoder": {"type": "Replace", "pattern": {"Regex": "(a|a)*b"}, "content": ""}}, "the decoder 'Replace'"),
        (model(dropout=0.02), "a dropout of 0.02"),
        (model(dropout=1), "a dropout of 1"),
        (model(type="WordLevel"), "the type 'WordLevel', expected BPE or WordPiece or Unigram"),
        (model(type="Unigram"), "its vocabulary must have"),
        (model(type="Unigram", vocab=[["a"]]), "pieces with scores"),
        (model(type="WordPiece", max_input_chars_per_word=10**9), "max_input_chars_per_word"),
        (model(unk_token=5), "no short string"),
        (model(end_of_word_suffix="a" * 100), "no short string"),
        (model(vocab={}), "vocabulary"),
        (model(vocab=[]), "vocabulary"),
        (model(vocab={"a" * (LONGEST_TOKEN + 1): 0}), "a token of more than 4,096 characters"),
        ({"added_tokens": [{"id": 0}]}, "an added token"),
        ({"added_tokens": {"a": 1}}, "added_tokens"),
        ({"added_tokens": [{"content": "a"}] * 5000}, "added_tokens"),
        ({"model": None}, "has no model"),
    ],
)
def test_what_no_exported_tokenizer_has(change: dict[str, Any], message: str) -> None:
    with pytest.raises(UnfitTokenizerError) as found:
        check_tokenizer(json.dumps(content() | change))
    assert message in str(found.value) and "\n" not in str(found.value)


@pytest.mark.parametrize("text", ["", "[]", "null", "[" * 100_000, '{"model": NaN}', '{"a": 1, "a": 2}'])
def test_what_is_no_tokenizer(text: str) -> None:
    with pytest.raises(UnfitTokenizerError):
        check_tokenizer(text)


def test_a_key_twice_is_refused() -> None:
    """The library keeps a dropout that a second ``null`` seems to take back."""
    text = tokenizer().to_str()
    assert text.count('"dropout":null') == 1
    with pytest.raises(UnfitTokenizerError, match="a key twice"):
        check_tokenizer(text.replace('"dropout":null', '"dropout":0.5,"dropout":null'))


@pytest.mark.parametrize("change", [{"normalizer": BOMB}, model(dropout=0.5)])
def test_it_is_refused_before_the_library_sees_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: dict[str, Any]
) -> None:
    path = make_bundle(tmp_path / "b")
    (path / "tokenizer.json").write_text(json.dumps(content() | change))
    monkeypatch.setattr("scorer.inference.texts.Tokenizer", None)
    with pytest.raises(BundleError, match=r"tokenizer\.json has (the normalizer 'Replace'|a dropout of 0\.5)"):
        TextTokenizer(Bundle.load(sealed(path)))


@pytest.mark.parametrize("change", [{"normalizer": BOMB}, model(dropout=0.5)])
def test_export_refuses_what_could_not_be_used(change: dict[str, Any]) -> None:
    tokenization = pytest.importorskip("export.tokenization")
    with pytest.raises(CheckpointError, match="a bundle with it could not be used"):
        tokenization.PairTokenizer(json.dumps(content() | change), "<pad>", "tokenizer.json")


class PanicException(BaseException):  # its name in pyo3
    """Not an ``Exception``, as the one of the library's."""


@pytest.mark.parametrize("error", [PanicException("index out of bounds\nat line 5"), Exception("no"), RuntimeError("")])
def test_whatever_the_library_raises_is_one_line(
    tiny: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    made = TextTokenizer(Bundle.load(tiny))

    def fails(*_: Any, **__: Any) -> Any:
        raise error

    class Failing:
        encode_batch_fast = encode = fails

    calls: list[Callable[[], Any]] = [lambda: made.encode(["a\tb"]), lambda: made.encode(["new"])]
    monkeypatch.setattr(made, "_tokenizer", Failing())
    monkeypatch.setattr(made._words, "_tokenizer", Failing())
    for call in calls:
        with pytest.raises(BundleError, match=r"tokenizer\.json cannot tokenise") as found:
            call()
        assert "\n" not in str(found.value)


@pytest.mark.parametrize("error", [KeyboardInterrupt(), MemoryError()])
def test_what_is_no_error_of_the_library_passes(
    tiny: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    made = TextTokenizer(Bundle.load(tiny))

    class Failing:
        def encode_batch_fast(self, *_: Any, **__: Any) -> Any:
            raise error

    monkeypatch.setattr(made._words, "_tokenizer", Failing())
    with pytest.raises(type(error)):
        made.encode(["new"])
