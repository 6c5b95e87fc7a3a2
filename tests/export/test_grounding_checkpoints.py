"""Checkpoints of the shapes that check texts against documents, exported by the recipes of docs/checkpoints.md.

MiniCheck's RoBERTa reads ``document</s>claim`` with one separator and two labels, of which the second means supported;
HHEM-1.0 is a cross-encoder with one logit.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
import transformers
from tokenizers.processors import TemplateProcessing

from export import Answers
from scorer import Scorer
from scorer.inference.texts import TextTokenizer
from tests.export.checkpoints import expected_logits, exported, make_checkpoint

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
    with Scorer(tmp_path / "bundle", documents=True, device="cpu") as scorer:
        assert scorer.score_document(*PAIRS[0]).confidence == pytest.approx(expected, abs=1e-4)


@pytest.mark.slow
def test_hhem_s_single_logit(tmp_path: Path) -> None:
    source = make_checkpoint(tmp_path / "source", "roberta", id2label={0: "LABEL_0"})
    bundle = exported(source, tmp_path / "bundle", precisions=["fp32"], answers=Answers(scheme="score"))
    assert bundle.scheme.kind == "score"
    expected = 1 / (1 + np.exp(-float(expected_logits(source, PAIRS[:1])[0, 0])))
    with Scorer(tmp_path / "bundle", documents=True, device="cpu") as scorer:
        found = scorer.score_document(*PAIRS[0])
    assert found.confidence == pytest.approx(expected, abs=1e-4)
    assert found.fine == ("OK" if np.float32(expected) >= 0.5 else "hallucination")
