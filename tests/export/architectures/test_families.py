"""Every family, from a tiny checkpoint to the engine, against transformers' own forward pass."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from export import export_bundle
from export.architectures import FAMILIES
from export.architectures.family import ENCODER
from export.variants import cpu_counts
from scorer.errors import CheckpointError
from scorer.inference.bundle import Bundle
from scorer.inference.engine import Engine
from scorer.inference.texts import TextTokenizer
from tests.export.architectures.tiny import PAIRS, expected_logits, make_checkpoint

NAMES = [family.model_type for family in FAMILIES]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], tuple[Path, Bundle]]:
    """Checkpoint and bundle of a family, made once."""
    kept: dict[str, tuple[Path, Bundle]] = {}

    def make(name: str) -> tuple[Path, Bundle]:
        if name not in kept:
            folder = tmp_path_factory.mktemp("families")
            checkpoint = make_checkpoint(folder / name, name)
            out = export_bundle(str(checkpoint), folder / "out", force=True, log=lambda _: None)
            kept[name] = checkpoint, Bundle.load(out)
        return kept[name]

    return make


@pytest.mark.parametrize("name", NAMES)
def test_the_engine_gives_transformers_logits(made: Any, name: str) -> None:
    """Tokenisation, pair layout, segment ids, padding and graph together, in fp32, one batch of all lengths."""
    checkpoint, bundle = made(name)
    expected = expected_logits(checkpoint, PAIRS)
    engine = Engine(bundle, device="cpu", precision="fp32", threads=1, step=40)
    found = engine.logits(*map(list, zip(*PAIRS, strict=True)))
    engine.close()
    assert len(np.unique(expected.argmax(axis=1))) > 1  # else little would be said
    np.testing.assert_allclose(found, expected, atol=2e-5)


@pytest.mark.parametrize("name", NAMES)
def test_operators_and_parity_stand_in_the_manifest(made: Any, name: str) -> None:
    _, bundle = made(name)
    variants = bundle.manifest["variants"]
    family = next(family for family in FAMILIES if family.model_type == name)
    assert set(variants) == {"fp32", "fp16", "int8"}
    assert variants["fp32"]["parity"]["label_agreement"] == 1 and variants["fp32"]["parity"]["bound"] < 1e-4
    layers = bundle.architecture["layers"]
    counts = cpu_counts(layers) if family.form == ENCODER else family.fused(layers)
    for operator, count in counts.items():
        assert variants["fp32"]["fused"].get(operator, 0) == count
    assert bundle.labels == ("entailment", "neutral", "contradiction")
    assert bundle.layout.segments == family.segments({"type_vocab_size": 2})


@pytest.mark.parametrize("name", NAMES)
def test_no_pair_of_int8_or_fp32_depends_on_its_company(made: Any, name: str) -> None:
    _, bundle = made(name)
    for precision in ("fp32", "int8"):
        engine = Engine(bundle, device="cpu", precision=precision, threads=1)
        premises, hypotheses = map(list, zip(*PAIRS, strict=True))
        together = engine.logits(premises * 2, hypotheses * 2)
        alone = np.concatenate([engine.logits([p], [h]) for p, h in PAIRS])
        engine.close()
        np.testing.assert_array_equal(together, np.concatenate([alone, alone]))


@pytest.mark.parametrize("name", NAMES)
def test_texts_of_the_exporter_are_joined_as_the_tokenizer_joins_them(made: Any, name: str) -> None:
    _, bundle = made(name)
    probes = bundle.probes()
    tokenizer = TextTokenizer(bundle)
    assert tokenizer.takes_texts_apart
    tokenizer.prove(probes.premises, probes.hypotheses)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("part", ["activation", "layers", "encoder"])
def test_configs_that_are_refused(made: Any, name: str, part: str, tmp_path: Path) -> None:
    checkpoint, _ = made(name)
    family = next(family for family in FAMILIES if family.model_type == name)
    config = json.loads((checkpoint / "config.json").read_text())
    key = next(key for key in ("hidden_act", "hidden_activation", "activation_function") if key in config)
    changes, message = {
        "activation": ({key: "silu"}, f"{key} is 'silu', but export supports only 'gelu'"),
        "layers": ({family.sizes.layers: 0}, f"{family.sizes.layers} is 0, expected a whole number"),
        "encoder": (
            {"architectures": [family.architecture.replace("ForSequenceClassification", "Model")]},
            "an encoder without a head",
        ),
    }[part]
    (tmp_path / "config.json").write_text(json.dumps(config | changes))
    for path in checkpoint.iterdir():
        if path.name != "config.json":
            (tmp_path / path.name).write_bytes(path.read_bytes())
    with pytest.raises(CheckpointError, match=message):
        export_bundle(str(tmp_path), tmp_path / "out", log=lambda _: None)
