"""Every family, and checkpoints that check triples or documents, against transformers' own tokenizers and models."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
import transformers
from tokenizers.processors import TemplateProcessing
from transformers import AutoModelForSequenceClassification, PreTrainedTokenizerFast

from export import FACTSPOTTER, Answers
from export.families import ENCODER, FAMILIES
from export.variants import cpu_counts
from scorer import Scorer
from scorer.errors import CheckpointError
from scorer.inference import verification
from scorer.inference.bundle import Bundle
from scorer.inference.tokenizer import TextTokenizer
from scorer.inference.verification import open_engine
from tests.export.checkpoints import (
    LAYERS,
    PAIRS,
    engine_logits,
    expected_logits,
    exported,
    family_of,
    make_checkpoint,
    usual_config,
)

# transformers decorates functions of DeBERTa and ModernBERT with torch.jit.script when their modules are imported.
pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")
NAMES = [pytest.param(family.model_type, marks=pytest.mark.slow) for family in FAMILIES]
"""In the fast suite, test_bundle_writer.py and test_variants.py export a RoBERTa and a BERT."""


@pytest.fixture(scope="module", params=NAMES)
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Bundle]:
    folder = tmp_path_factory.mktemp("families")
    checkpoint = make_checkpoint(folder / request.param, request.param)
    return checkpoint, exported(checkpoint, folder / "out")


def test_the_engine_gives_transformers_logits(made: tuple[Path, Bundle]) -> None:
    """Tokenisation, pair layout, segment ids, padding and graph together, in fp32."""
    checkpoint, bundle = made
    expected = expected_logits(checkpoint, PAIRS)
    found = engine_logits(bundle, PAIRS, precision="fp32")
    assert len(np.unique(expected.argmax(axis=1))) > 1  # else little would be said
    np.testing.assert_allclose(found, expected, atol=2e-5)
    probes, tokenizer = bundle.probes(), TextTokenizer(bundle)
    assert tokenizer._words is not None  # each word is tokenised once
    tokenizer.check_pair_encoding(probes.premises, probes.hypotheses)


def test_operators_and_parity_stand_in_the_manifest(made: tuple[Path, Bundle]) -> None:
    checkpoint, bundle = made
    variants, family = bundle.variants, family_of(checkpoint.name)
    packed = {"fp16.packed"} if family.form == ENCODER else set()
    assert set(variants) == {"fp32", "fp16", "int8"} | packed
    fp32 = variants["fp32"]
    assert fp32.parity is not None and fp32.parity["label_agreement"] == 1 and fp32.parity["bound"] < 1e-4
    counts = family.fused(LAYERS)
    if family.form == ENCODER:
        counts = cpu_counts(LAYERS)
    else:  # residuals stand apart from their normalisation
        counts["LayerNormalization"] = counts.get("LayerNormalization", 0) + counts.pop("SkipLayerNormalization")
    assert {operator: fp32.fused.get(operator, 0) for operator in counts} == counts
    assert bundle.layout.segments == (family.model_type in ("bert", "electra"))


def test_no_logits_of_int8_or_fp32_depend_on_other_pairs(
    made: tuple[Path, Bundle], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verification, "MINIMUM_AGREEMENT", 0.0)  # int8 costs random weights many labels
    _, bundle = made
    for precision in ("fp32", "int8"):
        together = engine_logits(bundle, PAIRS * 2, precision=precision)
        with open_engine(bundle, device="cpu", precision=precision, threads=1) as engine:
            alone = np.concatenate([engine.logits([p], [h]) for p, h in PAIRS])
        np.testing.assert_array_equal(together, np.concatenate([alone, alone]))


@pytest.mark.parametrize(
    ("model_type", "key", "value"),
    [
        ("deberta-v2", "conv_kernel_size", 3),
        ("modernbert", "classifier_pooling", "max"),
        ("modernbert", "global_rope_theta", 0.0),
        ("bart", "decoder_layers", 6),
        ("electra", "embedding_size", "128"),
    ],
)
def test_what_a_family_does_not_have_is_refused(model_type: str, key: str, value: object) -> None:
    family = family_of(model_type)
    with pytest.raises(CheckpointError, match=f"{key} is {value!r}"):
        family.read({**usual_config(model_type), key: value}, "config.json")


def test_a_deberta_config_that_lacks_a_key_has_transformers_default() -> None:
    """Its classes take absolute positions where a config says nothing, which is refused and not read as v3's."""
    family = family_of("deberta-v2")
    usual = usual_config("deberta-v2")
    family.read({**usual, "pos_att_type": "c2p|p2c"}, "config.json")
    config = {key: value for key, value in usual.items() if key != "position_biased_input"}
    assert transformers.DebertaV2Config().position_biased_input
    with pytest.raises(CheckpointError, match="position_biased_input is True"):
        family.read(config, "config.json")


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
    assert bundle.variants["fp32"].parity["bound"] < 1e-4  # type: ignore[index]  # fp32 is always measured
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


DOCUMENTS = [("The Mill is a pub. It is cheap.", "The Mill is cheap."), ("naïve 日本語 🍕", "x")]


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
    for document, claim in DOCUMENTS:
        one_text = document + theirs.sep_token + claim
        assert made.join(document, claim) == theirs(one_text)["input_ids"], "as its authors' code writes the pair"
    model = transformers.AutoModelForSequenceClassification.from_pretrained(source).eval()
    with torch.no_grad():
        ids = torch.tensor([theirs(f"{DOCUMENTS[0][0]}{theirs.sep_token}{DOCUMENTS[0][1]}")["input_ids"]])
        expected = model(input_ids=ids).logits.softmax(dim=-1)[0, 1].item()
    with Scorer(tmp_path / "bundle", checks="hallucination", device="cpu") as scorer:
        assert scorer.score_facts(DOCUMENTS[0][:1], DOCUMENTS[0][1]).confidence == pytest.approx(expected, abs=1e-4)


@pytest.mark.slow
def test_hhem_s_single_logit(tmp_path: Path) -> None:
    source = make_checkpoint(tmp_path / "source", "roberta", id2label={0: "LABEL_0"})
    bundle = exported(source, tmp_path / "bundle", precisions=["fp32"], answers=Answers(scheme="score"))
    assert bundle.scheme.kind == "score"
    expected = 1 / (1 + np.exp(-float(expected_logits(source, DOCUMENTS[:1])[0, 0])))
    with Scorer(tmp_path / "bundle", checks="hallucination", device="cpu") as scorer:
        found = scorer.score_facts(DOCUMENTS[0][:1], DOCUMENTS[0][1])
    assert found.confidence == pytest.approx(expected, abs=1e-4)
    assert found.fine == ("OK" if np.float32(expected) >= 0.5 else "hallucination")
