"""A classifier of triples from checkpoint to labels, against transformers' own tokenizer and model on one string."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from transformers import AutoModelForSequenceClassification, PreTrainedTokenizerFast

from export import FACTSPOTTER
from export.fact_pairs import fact_pairs
from export.sentences import CONTRADICTORY, ENTAILED, NEUTRAL
from scorer import Scorer
from tests.export.checkpoints import exported, make_checkpoint

TRIPLES = [("Alan_Bean", "birthPlace", "Wheeler, Texas"), ("Blue Spice", "eatType", "pub"), ("X", "food", "Thai")]
TEXTS = ["Alan Bean was born in Wheeler, Texas.", "Blue Spice is a pub near The Mill!", "a", "?"]


def test_the_plain_pairs_are_what_they_are_meant_to_be() -> None:
    pairs = fact_pairs()
    assert [pair.meant for pair in pairs[:3]] == [ENTAILED, NEUTRAL, CONTRADICTORY]
    for yes, elsewhere, other in zip(pairs[::3], pairs[1::3], pairs[2::3], strict=True):
        assert len({yes.hypothesis, elsewhere.hypothesis, other.hypothesis}) == 1
        subject = yes.hypothesis.partition("subject: ")[2].partition(", object: ")[0]
        value = yes.hypothesis.partition(", object: ")[2].removesuffix(", sentence:")
        assert subject in yes.premise and subject in other.premise and subject not in elsewhere.premise
        assert [value in pair.premise for pair in (yes, elsewhere, other)] == [True, False, False]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["electra", "roberta"])
@pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")
def test_labels_are_those_of_transformers(tmp_path: Path, name: str) -> None:
    checkpoint = make_checkpoint(tmp_path / name, name, id2label={0: "LABEL_0", 1: "LABEL_1"})
    bundle = exported(checkpoint, tmp_path / "out", answers=FACTSPOTTER)
    assert bundle.layout.one_text and not bundle.layout.segments and bundle.layout.separator == ()
    assert (bundle.scheme.kind, bundle.scheme.supported) == ("binary", "label_1")
    assert bundle.variants["fp32"].parity.bound < 1e-4  # type: ignore[union-attr]  # fp32 is always measured
    model = AutoModelForSequenceClassification.from_pretrained(checkpoint, dtype=torch.float32).eval()
    tokenizer = PreTrainedTokenizerFast.from_pretrained(checkpoint)
    asked = ["predicate: birth place, subject: alan bean, object: wheeler, texas",
             "predicate: eat type, subject: blue spice, object: pub",
             "predicate: food, subject: x, object: thai"]  # fmt: skip
    found: list[float] = []
    with Scorer(bundle.path, protocol="factspotter", device="cpu", precision="fp32") as scorer:
        for text in TEXTS:
            verdict = scorer.score(TRIPLES, text)
            expected = []
            for triple in asked:
                ids = tokenizer(f"{triple}, sentence: {text.lower().strip('.!? ')}", return_tensors="pt")
                with torch.inference_mode():  # without segment ids, as the authors' code calls the model
                    logits = model(input_ids=ids["input_ids"], attention_mask=ids["attention_mask"]).logits[0]
                expected.append(float(torch.softmax(logits, 0)[1]))
            assert verdict.fact_entailment == pytest.approx(expected, abs=2e-5)
            assert verdict.confidence == pytest.approx(sum(expected) / 3, abs=2e-5)
            found += expected
    assert max(found) - min(found) > 0.02, "else little would be said"
