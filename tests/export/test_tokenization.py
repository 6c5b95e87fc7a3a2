"""The tokenizer that a bundle gets, and both forms of its pairs, against transformers' own tokenizers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from transformers import RobertaTokenizerFast

from benchmarks.speed.random_init import train_tokenizer
from export.families import ROBERTA
from export.source import find_source
from export.tokenization import PairTokenizer, read_tokenizer
from scorer.errors import CheckpointError
from scorer.inference.bundle import PairLayout
from tests.export.checkpoints import edit_json


def read(folder: Path, **form: bool) -> PairTokenizer:
    return read_tokenizer(find_source(str(folder), None, lambda _: None), ROBERTA, {"type_vocab_size": 1}, **form)[0]


def split_up(tokenizer: Path, folder: Path) -> None:
    """Write the vocabulary and the merges of a tokenizer as files of their own, as RoBERTa's came."""
    read = json.loads(tokenizer.read_text(encoding="utf-8"))
    vocabulary = read["model"]["vocab"] | {token["content"]: token["id"] for token in read["added_tokens"]}
    (folder / "vocab.json").write_text(json.dumps(vocabulary), encoding="utf-8")
    merges = [" ".join(pair) for pair in read["model"]["merges"]]
    (folder / "merges.txt").write_text("\n".join(["#version: 0.2", *merges]) + "\n", encoding="utf-8")


def test_vocab_and_merges_are_converted(copy: Path) -> None:
    expected = read(copy)
    split_up(copy / "tokenizer.json", copy)
    (copy / "tokenizer.json").unlink()
    edit_json(copy / "tokenizer_config.json", tokenizer_class="RobertaTokenizer")
    converted = read(copy)
    text = "The Vaults, a naïve pub near Café Adriatic 🍜."
    assert converted.encode(text, "A pub.") == expected.encode(text, "A pub.")
    assert converted.layout == expected.layout


def test_files_that_disagree_are_refused(copy: Path) -> None:
    edit_json(copy / "tokenizer_config.json", add_prefix_space=True)
    with pytest.raises(CheckpointError, match=r"with tokenizer_config\.json it is"):
        read(copy)


def test_a_layout_that_depends_on_the_text_is_refused() -> None:
    tokenizer = PairTokenizer(train_tokenizer(400), "<pad>", "tokenizer.json")
    tokenizer.layout = PairLayout((0,), (2,), (2,), 1)  # as if it had been read off a pair of another form
    with pytest.raises(CheckpointError, match="joined from its texts"):
        tokenizer.check_pair_encoding([("Blue Spice", "is a pub")])


def test_one_text_is_what_the_tokenizer_makes_of_both_texts(checkpoint: Path) -> None:
    made = read(checkpoint, hypothesis_first=True, one_text=True)
    assert made.layout == PairLayout((0,), (), (2,), 1, hypothesis_first=True, one_string=True)
    theirs = RobertaTokenizerFast.from_pretrained(checkpoint)("object: pub, sentence: it is a pub")["input_ids"]
    assert made.encode("it is a pub", "object: pub, sentence:") == theirs
    assert made.length("it is a pub", "object: pub, sentence:") == len(theirs)
