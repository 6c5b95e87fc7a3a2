"""Both pair forms against transformers' own RoBERTa tokenizers, the fast one and the one of the paper's time."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import transformers

from scorer.inference.bundle import Bundle
from scorer.inference.texts import PLAIN, SPACED, TextTokenizer
from tests.bundles import make_bundle

PAIRS = [
    ("The Mill is a pub.", "The Mill is cheap."),
    ("Café Sicilia, £20-25", "  two  blanks, and a trailing one "),
    ("naïve 日本語 🍕", "x"),
]


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_bundle(tmp_path_factory.mktemp("forms") / "tiny")


@pytest.fixture(scope="module", params=["RobertaTokenizer", "RobertaTokenizerFast"])
def reference(request: pytest.FixtureRequest, bundle: Path) -> Any:
    folder = bundle.parent / "files"
    folder.mkdir(exist_ok=True)
    model = json.loads((bundle / "tokenizer.json").read_text())["model"]
    (folder / "vocab.json").write_text(json.dumps(model["vocab"]))
    merges = [pair if isinstance(pair, str) else " ".join(pair) for pair in model["merges"]]
    (folder / "merges.txt").write_text("#version: 0.2\n" + "\n".join(merges) + "\n")
    files = {"vocab_file": str(folder / "vocab.json"), "merges_file": str(folder / "merges.txt")}
    return getattr(transformers, request.param)(**files)


def test_both_forms_of_a_pair_are_what_the_tokenizer_makes_of_them(bundle: Path, reference: Any) -> None:
    """The paper's pair, and the string that the released script hands to its tokenizer: ``"%s </s></s> %s"``."""
    made = TextTokenizer(Bundle.load(bundle))
    for premise, hypothesis in PAIRS:
        assert made.join(premise, hypothesis, PLAIN) == reference(premise, hypothesis)["input_ids"]
        spaced = f"{premise} </s></s> {hypothesis}"
        assert made.join(premise, hypothesis, SPACED) == reference(spaced)["input_ids"]
