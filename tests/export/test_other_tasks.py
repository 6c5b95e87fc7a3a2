"""Checkpoints that check triples or documents, to labels, against transformers' own tokenizer and model.

MiniCheck's RoBERTa reads ``document</s>claim`` with one separator and two labels, of which the second means supported;
HHEM-1.0 is a cross-encoder with one logit. They are exported by the recipes of docs/checkpoints.md.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
import transformers
from tokenizers.processors import TemplateProcessing
from transformers import AutoModelForSequenceClassification, PreTrainedTokenizerFast

from export import FACTSPOTTER, Answers
from scorer import Scorer
from scorer.inference.tokenizer import TextTokenizer
from tests.export.checkpoints import expected_logits, exported, make_checkpoint

TRIPLES = [("Alan_Bean", "birthPlace", "Wheeler, Texas"), ("Blue Spice", "eatType", "pub"), ("X", "food", "Thai")]
TEXTS = ["Alan Bean was born in Wheeler, Texas.", "Blue Spice is a pub near The Mill!", "a", "5?"]


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


PAIRS = [("The Mill is a pub. It is cheap.", "The Mill is cheap."), ("naïve 日本語 🍕", "x")]


@pytest.mark.usefixtures("few_probes")
def test_minicheck_s_separator_and_label(tmp_path: Path) -> None:
    source = make_checkpoint(tmp_path / "source", "roberta", id2label={0: "LABEL_0", 1: "LABEL_1"})
    saved = tmp_path / "minicheck"
    # The recipe of docs/checkpoints.md.
    tokenizer = transformers.AutoTokenizer.from_pretrained(source)
    ends = [(token, tokenizer.convert_tokens_to_ids(token)) for token in ("<s>", "</s>")]
    tokenizer.backend_tokenizer.post_processor = TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> $B </s>", special_tokens=ends
    )
    tokenizer.save_pretrained(saved)
    transformers.AutoModelForSequenceClassification.from_pretrained(source).save_pretrained(saved)
    bundle = exported(saved, tmp_path / "bundle", precisions=["fp32"], answers=Answers(supported="LABEL_1"))
    assert (bundle.scheme.kind, bundle.scheme.supported) == ("binary", "label_1")
    assert len(bundle.layout.separator) == 1
    made, theirs = TextTokenizer(bundle), transformers.AutoTokenizer.from_pretrained(source)
    for document, claim in PAIRS:
        one_text = document + theirs.sep_token + claim
        assert made.join(document, claim) == theirs(one_text)["input_ids"], "as its authors' code writes the pair"
    model = transformers.AutoModelForSequenceClassification.from_pretrained(source).eval()
    with torch.no_grad():
        ids = torch.tensor([theirs(f"{PAIRS[0][0]}{theirs.sep_token}{PAIRS[0][1]}")["input_ids"]])
        expected = model(input_ids=ids).logits.softmax(dim=-1)[0, 1].item()
    with Scorer(tmp_path / "bundle", checks="hallucination", device="cpu") as scorer:
        assert scorer.score_facts(PAIRS[0][:1], PAIRS[0][1]).confidence == pytest.approx(expected, abs=1e-4)


@pytest.mark.slow
def test_hhem_s_single_logit(tmp_path: Path) -> None:
    source = make_checkpoint(tmp_path / "source", "roberta", id2label={0: "LABEL_0"})
    bundle = exported(source, tmp_path / "bundle", precisions=["fp32"], answers=Answers(scheme="score"))
    assert bundle.scheme.kind == "score"
    expected = 1 / (1 + np.exp(-float(expected_logits(source, PAIRS[:1])[0, 0])))
    with Scorer(tmp_path / "bundle", checks="hallucination", device="cpu") as scorer:
        found = scorer.score_facts(PAIRS[0][:1], PAIRS[0][1])
    assert found.confidence == pytest.approx(expected, abs=1e-4)
    assert found.fine == ("OK" if np.float32(expected) >= 0.5 else "hallucination")
