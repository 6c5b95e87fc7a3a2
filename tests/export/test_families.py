"""Every family, from a tiny checkpoint to the engine, against transformers' own forward pass."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnxruntime as ort
import pytest
import transformers

from export.families import ENCODER, FAMILIES
from export.variants import cpu_counts
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
"""In the fast suite, test_bundle_writer.py and test_shared_weights.py export a RoBERTa and a BERT."""


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
    assert fp32.parity is not None and fp32.parity.label_agreement == 1 and fp32.parity.bound < 1e-4
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


def test_fp16_computes_the_same_model(made: tuple[Path, Bundle]) -> None:
    """On a CPU, whose half-precision kernels round more often; what a GPU makes of it is verified there."""
    _, bundle = made
    options = ort.SessionOptions()
    options.log_severity_level = 3
    session, full = (
        ort.InferenceSession(str(bundle.variant(precision)), options, providers=["CPUExecutionProvider"])
        for precision in ("fp16", "fp32")
    )
    layout, (first, second) = bundle.layout, ([20, 21, 22], [23, 24])
    ids = np.array([[*layout.prefix, *first, *layout.separator, *second, *layout.suffix]])
    feed = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
    feed = {node.name: feed[node.name] for node in full.get_inputs()}
    expected, found = full.run(None, feed)[0], session.run(None, feed)[0]
    assert found.dtype == np.float32 and 0 < np.abs(found - expected).max() < 0.05
    assert (bundle.path / "model.fp16.onnx").stat().st_size < 0.8 * (bundle.path / "model.fp32.onnx").stat().st_size


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
