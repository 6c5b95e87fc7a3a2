"""Every family, and checkpoints that check triples or documents, against transformers' own tokenizers and models."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers
from tokenizers.processors import TemplateProcessing
from transformers import AutoModelForSequenceClassification, PreTrainedTokenizerFast

from export import FACTSPOTTER, Task, bundle_writer
from export.checkpoint import _load
from export.families import ENCODER, FAMILIES, Family
from export.probes import built_in_probes
from export.source import find_source
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
    opened,
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
        ("deberta-v2", "attention_head_size", 32),
        ("deberta-v2", "embedding_size", 128),
        ("bart", "tie_word_embeddings", False),
    ],
)
def test_what_a_family_does_not_have_is_refused(model_type: str, key: str, value: object) -> None:
    family = family_of(model_type)
    with pytest.raises(CheckpointError, match=f"{key} is {value!r}"):
        family.read({**usual_config(model_type), key: value}, "config.json")


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: str(family.model_type))
def test_configs_of_transformers_5_are_read_as_those_of_4(family: Family) -> None:
    """The file holds what transformers 5.24.0 writes for the usual configs."""
    written = json.loads(Path(__file__).with_name("transformers5.json").read_text(encoding="utf-8"))
    read = family.read(written[family.model_type], "config.json")
    read.pop("pooler_hidden_size", None)  # the hidden size, where 4 writes nothing
    assert read == family.read(usual_config(family.model_type), "config.json")


BASES = {"full_attention": {"rope_theta": 160000, "rope_type": "default"}, "sliding_attention": {"rope_theta": 7e4}}
TYPES = ["full_attention", "sliding_attention", "sliding_attention"] * 7


def test_both_spellings_of_modernbert_are_one_model() -> None:
    usual = usual_config("modernbert") | {"num_hidden_layers": 21}
    of_4 = usual | {"local_rope_theta": 7e4, "global_attn_every_n_layers": 3}
    of_5 = {key: value for key, value in usual.items() if "theta" not in key and "every" not in key}
    family = family_of("modernbert")
    expected = family.read(of_4, "config.json")
    assert expected["local_rope_theta"] == 7e4
    assert family.read(of_5 | {"rope_parameters": BASES, "layer_types": TYPES}, "config.json") == expected
    assert family.read(of_4 | {"rope_parameters": BASES, "layer_types": TYPES}, "config.json") == expected
    rare = of_5 | {"layer_types": [TYPES[0]] * 21}
    assert family.read(rare, "config.json")["global_attn_every_n_layers"] == 1


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rope_parameters": {"full_attention": {"rope_type": "yarn", "factor": 4.0}}}, "'yarn'.* only rope_theta"),
        ({"rope_parameters": {"rope_theta": 1e4, "rope_type": "default"}}, "only rope_theta"),
        ({"rope_parameters": [1e4]}, "only rope_theta"),
        ({"rope_parameters": BASES, "local_rope_theta": 1e4}, "local_rope_theta is 10000.0, but rope_parameters says"),
        ({"layer_types": TYPES[::-1]}, "layer_types is .* each n-th, from the first"),
        ({"layer_types": TYPES[:3]}, "only 21 layers"),
        ({"layer_types": TYPES, "global_attn_every_n_layers": 2}, "every_n_layers is 2, but layer_types says 3"),
        ({"rope_scaling": {"factor": 2.0}}, "does not know the key 'rope_scaling'"),
        ({"rope_theta": 5e5}, "rope_theta is 500000.0, expected 160000.0 as global_rope_theta says"),
    ],
)
def test_layers_and_bases_of_modernbert_that_are_refused(changes: dict[str, object], message: str) -> None:
    config = usual_config("modernbert") | {"num_hidden_layers": 21} | changes
    with pytest.raises(CheckpointError, match=message):
        family_of("modernbert").read(config, "config.json")


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: str(family.model_type))
def test_a_key_that_nobody_knows_is_refused(family: Family) -> None:
    usual = usual_config(family.model_type)
    with pytest.raises(CheckpointError, match=r"does not know the key 'attention_sinks' \(4\) .* remove it from"):
        family.read({**usual, "attention_sinks": 4}, "config.json")
    assert family.read({**usual, "attention_sinks": None}, "config.json") == family.read(usual, "config.json")


def test_every_key_that_transformers_writes_is_known() -> None:
    """Of the installed version, with every default."""
    for family in FAMILIES:
        written = getattr(transformers, family.config_class)(**usual_config(family.model_type)).to_dict()
        family.read(written, "config.json")


def test_keys_of_published_checkpoints_that_change_nothing_are_known() -> None:
    """What older versions and other tools left in config.json of bart-large-mnli, a multilingual BERT, a cross-encoder
    and ModernBERT."""
    for model_type, left_over in {
        "bart": {"_num_labels": 3, "classif_dropout": 0.0, "output_past": False, "normalize_before": False,
                 "hidden_size": 1024, "num_hidden_layers": 12, "gradient_checkpointing": False},
        "bert": {"directionality": "bidi", "pooler_fc_size": 768, "pooler_type": "first_token_transform"},
        "deberta-v2": {"attention_head_size": 64, "conv_act": "gelu", "z_steps": 0, "summary_type": "first",
                       "sentence_transformers": {"activation_fn": "torch.nn.modules.linear.Identity"}},
        "modernbert": {"position_embedding_type": "absolute", "layer_norm_eps": 1e-5, "reference_compile": None},
    }.items():  # fmt: skip
        family_of(model_type).read(usual_config(model_type) | left_over, "config.json")


def test_a_config_that_is_read_wrongly_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The reference is transformers' own reading of the checkpoint, and not the one that is exported."""
    checkpoint = make_checkpoint(tmp_path / "v4", "modernbert", local_rope_theta=160000.0, num_hidden_layers=4)
    found = opened(checkpoint)
    probes = built_in_probes(found.tokenizer, found.max_length)[-80:]
    _, expected = bundle_writer._load_and_predict(found, probes, lambda _: None)
    pairs = [(probe.premise, probe.hypothesis) for probe in probes[::16]]
    np.testing.assert_allclose(expected[::16], expected_logits(checkpoint, pairs), atol=1e-5)
    known = {**found.model_config, "local_rope_theta": 10000.0}
    misread = replace(found, load=lambda: _load(found.family, known, 3, find_source(str(checkpoint), None, print)))
    with pytest.raises(CheckpointError, match="transformers itself gives other logits"):
        bundle_writer._load_and_predict(misread, probes, lambda _: None)


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
    bundle = exported(checkpoint, tmp_path / "out", task=FACTSPOTTER)
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
    bundle = exported(saved, tmp_path / "bundle", precisions=["fp32"], task=Task(supported="LABEL_1"))
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
    bundle = exported(source, tmp_path / "bundle", precisions=["fp32"], task=Task(scheme="score"))
    assert bundle.scheme.kind == "score"
    expected = 1 / (1 + np.exp(-float(expected_logits(source, DOCUMENTS[:1])[0, 0])))
    with Scorer(tmp_path / "bundle", checks="hallucination", device="cpu") as scorer:
        found = scorer.score_facts(DOCUMENTS[0][:1], DOCUMENTS[0][1])
    assert found.confidence == pytest.approx(expected, abs=1e-4)
    assert found.fine == ("OK" if np.float32(expected) >= 0.5 else "hallucination")
