from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer

from scorer.errors import BundleError
from scorer.inference.bundle import Bundle
from scorer.inference.tokenizer import PairFormat, TextTokenizer
from tests.bundles import digest, edit_manifest, make_bundle, tokenizer

TEXT = st.text(max_size=40).filter(lambda t: not any(s in t for s in ("<s>", "</s>", "<pad>", "<unk>", "<mask>")))
REFERENCE = tokenizer()


@pytest.fixture(scope="module")
def made(tiny: Path) -> TextTokenizer:
    return TextTokenizer(Bundle.load(tiny))


@given(premise=TEXT, hypothesis=TEXT)
def test_pairs_are_the_tokenizer_s_and_the_released_code_s(made: TextTokenizer, premise: str, hypothesis: str) -> None:
    assert made.join(premise, hypothesis) == REFERENCE.encode(premise, hypothesis).ids
    assert (
        made.join(premise, hypothesis, PairFormat.ONE_STRING)
        == REFERENCE.encode(f"{premise} </s></s> {hypothesis}").ids
    )


@pytest.mark.parametrize("text", ["</s>", "a</s>b", "<mask>", " <mask> ", "<s>x", "<pad><unk>"])
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
    made = TextTokenizer(Bundle.load(path))
    assert len(made.encode(["The Mill serves cheap French food and more"]).ids) > 5
    assert len(made.encode(["The"]).ids) == 1


def test_a_text_too_long_for_any_pair_is_not_tokenised(made: TextTokenizer) -> None:
    longest = max(map(len, REFERENCE.get_vocab()))
    limit = 128 * longest
    tokens = made.encode(["x" * limit, "x" * (limit + 1), "é" * (limit // 2 + 1), "ok"])
    assert tokens.oversized.tolist() == [False, True, True, False]
    assert tokens.lengths[1] == tokens.lengths[2] == 0
    beginnings = made.encode(["The Mill " * limit], keep_beginnings=True)
    assert beginnings.lengths[0] >= 128


class PanicException(BaseException):  # its name in pyo3
    """Not an ``Exception``, as the one of the library's."""


@pytest.mark.parametrize("error", [PanicException("index out of bounds\nat line 5"), Exception("no")])
def test_whatever_the_library_raises_is_one_line(
    tiny: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    made = TextTokenizer(Bundle.load(tiny))

    def fails(*_: Any, **__: Any) -> Any:
        raise error

    class Failing:
        encode_batch_fast = encode = fails

    monkeypatch.setattr(made, "_tokenizer", Failing())
    monkeypatch.setattr(made._words, "_tokenizer", Failing())
    for text in ("a\tb", "new"):
        with pytest.raises(BundleError, match=r"tokenizer\.json cannot tokenise") as found:
            made.encode([text])
        assert "\n" not in str(found.value)
