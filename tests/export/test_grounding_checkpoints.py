"""Checkpoints of the shapes that check texts against documents, exported by the recipes of docs/checkpoints.md.

MiniCheck's RoBERTa reads ``document</s>claim`` with one separator and two labels, of which the second means supported;
HHEM-1.0 is a cross-encoder with one logit.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from scorer import Scorer
from scorer.inference.bundle import Bundle
from scorer.inference.texts import TextTokenizer
from tests.export.checkpoints import edit_json, make_checkpoint

torch = pytest.importorskip("torch", reason="comes with the export extra")
transformers = pytest.importorskip("transformers", reason="comes with the export extra")

PAIRS = [("The Mill is a pub. It is cheap.", "The Mill is cheap."), ("naïve 日本語 🍕", "x")]


def with_logits(checkpoint: Path, count: int) -> None:
    """Keep the first logits of a checkpoint."""
    from safetensors.torch import load_file, save_file

    weights = load_file(checkpoint / "model.safetensors")
    for name in ("classifier.out_proj.weight", "classifier.out_proj.bias"):
        weights[name] = weights[name][:count].clone()
    save_file(weights, checkpoint / "model.safetensors", metadata={"format": "pt"})
    edit_json(checkpoint / "config.json", id2label={str(i): f"LABEL_{i}" for i in range(count)}, num_labels=count)


def test_minicheck_s_separator_and_label(tmp_path: Path) -> None:
    from tokenizers.processors import TemplateProcessing

    from export import Answers, export_bundle

    source, saved = make_checkpoint(tmp_path / "source"), tmp_path / "minicheck"
    with_logits(source, 2)
    # The recipe of docs/checkpoints.md.
    tokenizer = transformers.AutoTokenizer.from_pretrained(source)
    ends = [(token, tokenizer.convert_tokens_to_ids(token)) for token in ("<s>", "</s>")]
    tokenizer.backend_tokenizer.post_processor = TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> $B </s>", special_tokens=ends
    )
    tokenizer.save_pretrained(saved)
    transformers.AutoModelForSequenceClassification.from_pretrained(source).save_pretrained(saved)
    answers = Answers(supported="LABEL_1")
    bundle = Bundle.load(
        export_bundle(str(saved), tmp_path / "bundle", precisions=["fp32"], answers=answers, force=True)
    )
    assert (bundle.scheme.kind, bundle.scheme.supported) == ("binary", "label_1")
    assert len(bundle.layout.separator) == 1
    made, theirs = TextTokenizer(bundle), transformers.AutoTokenizer.from_pretrained(source)
    for document, claim in PAIRS:
        one_text = document + theirs.eos_token + claim
        assert made.join(document, claim) == theirs(one_text)["input_ids"], "as its authors' code writes the pair"
    model = transformers.AutoModelForSequenceClassification.from_pretrained(source).eval()
    with torch.no_grad():
        ids = torch.tensor([theirs(f"{PAIRS[0][0]}{theirs.eos_token}{PAIRS[0][1]}")["input_ids"]])
        expected = model(input_ids=ids).logits.softmax(dim=-1)[0, 1].item()
    with Scorer(tmp_path / "bundle", documents=True, device="cpu") as scorer:
        assert scorer.score_document(*PAIRS[0]).confidence == pytest.approx(expected, abs=1e-4)


@pytest.mark.slow
def test_hhem_s_single_logit(tmp_path: Path) -> None:
    from export import Answers, export_bundle

    source = make_checkpoint(tmp_path / "source")
    with_logits(source, 1)
    answers = Answers(scheme="score")
    export_bundle(str(source), tmp_path / "bundle", precisions=["fp32"], answers=answers, force=True)
    theirs = transformers.AutoTokenizer.from_pretrained(source)
    model = transformers.AutoModelForSequenceClassification.from_pretrained(source).eval()
    with torch.no_grad():
        expected = model(**theirs(*PAIRS[0], return_tensors="pt")).logits.sigmoid().item()
    with Scorer(tmp_path / "bundle", documents=True, device="cpu") as scorer:
        found = scorer.score_document(*PAIRS[0])
        assert found.confidence == pytest.approx(expected, abs=1e-4)
        assert found.fine == ("OK" if np.float32(expected) >= 0.5 else "hallucination")
    assert json.loads((tmp_path / "bundle" / "bundle.json").read_text())["scheme"]["kind"] == "score"
