"""The packed graph against the padded one: the ONNX reference evaluator against ONNX Runtime on the CPU, in fp32."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import numpy_helper

from export import families
from export.packed import export_packed, packed_counts
from export.variants import export_variant
from scorer.inference.batching import EncodedPairs, Packed, Padded, distinct_pairs
from scorer.inference.bundle import Bundle
from scorer.inference.tokenizer import TextTokenizer
from scorer.status import SCORED
from tests.export.checkpoints import exported, fuse, make_checkpoint
from tests.export.contrib_operators import evaluator

LAYERS, ROBERTA = 2, 2
"""Of the tiny checkpoint; the first token of a pair has position 2 in RoBERTa."""
WORDS = ["The", "Mill", "is", "a", "cheap", "pub", "near", "Crowne", "Plaza", "that", "serves", "French", "food"]


def texts_of(kind: str) -> list[tuple[str, str]]:
    rng = np.random.default_rng(4)

    def text(n: int) -> str:
        return " ".join(rng.choice(WORDS, n))

    return {
        "mixed": [(text(a), text(b)) for a, b in rng.integers(1, 14, (24, 2))],
        "short": [(text(1), text(1)) for _ in range(1000)],
    }[kind]


def window(bundle: Bundle, pairs: list[tuple[str, str]]) -> EncodedPairs:
    n = len(pairs)
    tokens = TextTokenizer(bundle).encode([a for a, _ in pairs] + [b for _, b in pairs])
    found = distinct_pairs(np.arange(n, dtype=np.int32), np.arange(n, 2 * n, dtype=np.int32), tokens, tokens)
    lengths = found.first_length + found.second_length + bundle.layout.overhead
    return EncodedPairs(found, tokens, tokens, np.full(n, SCORED, np.int8), np.zeros(n, bool), [], lengths)


def longest(bundle: Bundle, piece: str = "x") -> list[tuple[str, str]]:
    """A pair of exactly as many tokens as the model takes, of a piece that is a token."""
    tokenizer, text = TextTokenizer(bundle), ""
    for _ in range(bundle.max_length):
        if len(tokenizer.join(text, "x")) < bundle.max_length:
            text += piece
    assert len(tokenizer.join(text, "x")) == bundle.max_length
    return [(text, "x")]


def compared(
    fused: Path, bundle: Bundle, pairs: list[tuple[str, str]], folder: Path, first_position: int = ROBERTA
) -> dict[str, int]:
    """Compare both forms of a fused graph; the packed one's operator counts."""
    packed, plain = folder / "packed.onnx", folder / "padded.onnx"
    segments = bundle.layout.segments
    counts = export_packed(fused, packed, LAYERS, first_position=first_position, segments=segments, half=False)
    assert {operator: counts[operator] for operator in packed_counts(LAYERS)} == packed_counts(LAYERS)
    export_variant(families.ROBERTA, "fp32", fused, plain, layers=LAYERS)
    session = onnxruntime.InferenceSession(str(plain), providers=["CPUExecutionProvider"])
    compare(onnx.load(str(packed)), session, bundle, pairs)
    return counts


def compare(
    model: onnx.ModelProto, padded: onnxruntime.InferenceSession, bundle: Bundle, pairs: list[tuple[str, str]]
) -> None:
    """Every pair has one answer in both forms; where segment ids are asked for, the answer depends on them."""
    work = window(bundle, pairs)
    layout, run = Packed(4096, bundle.max_length, bundle.layout), evaluator(model)
    moved, seen = [], 0
    for batch in layout.pack(work.lengths, np.arange(len(work.lengths))):
        made = layout.assemble(batch, work)
        (found,) = run.run(["logits"], made)
        assert found.shape == (batch.rows, 3) and found.dtype == np.float32
        (expected,) = padded.run(["logits"], Padded(4096, bundle.max_length, bundle.layout).assemble(batch, work))
        np.testing.assert_allclose(found[: len(batch.pairs)], expected, rtol=0, atol=1e-4)
        if bundle.layout.segments:
            (other,) = run.run(["logits"], made | {"token_type_ids": np.zeros_like(made["token_type_ids"])})
            moved.append(np.abs(other[: len(batch.pairs)] - expected).max())
        seen += len(batch.pairs)
    assert seen == len(work.lengths)
    assert not bundle.layout.segments or max(moved) > 0.01


@pytest.mark.parametrize("kind", ["mixed", "short", "longest"])
def test_packed_equals_padded(kind: str, fused: Path, bundle: Path, tmp_path: Path) -> None:
    opened = Bundle.load(bundle)
    compared(fused, opened, longest(opened) if kind == "longest" else texts_of(kind), tmp_path)


@pytest.mark.parametrize(("kind", "gemms"), [("as it is", 2), ("no bias", 2), ("a weight near 0", 3)])
def test_the_bias_of_queries_is_in_their_weight(
    kind: str, gemms: int, fused: Path, bundle: Path, tmp_path: Path
) -> None:
    """Where a normalisation has no bias it gets one, so that its outputs have a constant; where one of its weights is
    near 0, the bias stays. The head has two Gemm, and the logits are the padded form's."""
    model = onnx.load(str(fused))
    tensors = {tensor.name: tensor for tensor in model.graph.initializer}
    norms = [node for node in model.graph.node if node.op_type.endswith("LayerNormalization")]
    for norm in norms:
        place = 1 if norm.op_type == "LayerNormalization" else 2
        if kind == "no bias":
            bias = tensors[norm.input[place + 1]]
            bias.CopyFrom(numpy_helper.from_array(np.zeros(bias.dims[0], np.float32), bias.name))
    if kind == "a weight near 0":
        weight = tensors[norms[0].input[1]]
        values = numpy_helper.to_array(weight).copy()
        values[3] = 1e-5
        weight.CopyFrom(numpy_helper.from_array(values, weight.name))
    onnx.save(model, str(tmp_path / "raw.onnx"))
    assert compared(tmp_path / "raw.onnx", Bundle.load(bundle), texts_of("mixed"), tmp_path)["Gemm"] == gemms


@pytest.mark.slow
def test_packed_equals_padded_with_segment_ids(tmp_path: Path) -> None:
    """BERT, which is told the two texts of a pair apart."""
    checkpoint = make_checkpoint(tmp_path / "bert", "bert")
    bundle = exported(checkpoint, tmp_path / "out", precisions=("fp32",))
    assert bundle.layout.segments
    fuse(checkpoint, tmp_path / "fused.onnx")
    compared(tmp_path / "fused.onnx", bundle, texts_of("mixed") + longest(bundle, "a "), tmp_path, first_position=0)
