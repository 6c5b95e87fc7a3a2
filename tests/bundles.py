"""Small bundles made on the spot, of the form that ``scorer export`` writes, with a model anybody can follow.

The model: logits = (Σ position · embedding(token)) / tokens · W + b. Every token and its position matter, padding does
not, and the expected numbers can be computed in a few lines of numpy.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers
from tokenizers.decoders import ByteLevel

from scorer.inference.device import parse_device

RESTAURANTS = Path(__file__).parent / "bundles" / "e2e"
"""A small model of restaurants with real margins, fp32 and int8, with templates; its README says where it is from."""
SAMPLE = Path(__file__).parent / "bundles" / "restaurants.parquet"
"""Rows about restaurants for it, written for this project."""
needs_vnni = pytest.mark.skipif(
    "vnni" not in parse_device("cpu").hardware.name,
    reason="int8 of the restaurant model changes labels on a processor without VNNI, so fp32 runs there",
)
WIDTH = 8
SPECIAL = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
CORPUS = [
    "Blue Spice is a coffee shop in the riverside area near Crowne Plaza Hotel.",
    "The Mill serves cheap French food and has a customer rating of 5 out of 5.",
    "The eat Type of The Mill is pub. The birth Place of Alan Bean is Wheeler, Texas.",
]


def tokenizer() -> Tokenizer:
    """A byte-level BPE in RoBERTa's layout."""
    made = Tokenizer(models.BPE(unk_token=None))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=400,
        special_tokens=SPECIAL,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    made.train_from_iterator(CORPUS, trainer)
    made.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), add_prefix_space=False)
    return made


def weights(vocabulary: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Embedding table (vocabulary, 8), W (8, 3), b (3,), float32."""
    rng = np.random.default_rng(7)
    table = rng.normal(size=(vocabulary, WIDTH)).astype(np.float32)
    return table, rng.normal(size=(WIDTH, 3)).astype(np.float32), np.array([0.1, -0.2, 0.3], np.float32)


def expected_logits(ids: Sequence[int], vocabulary: int) -> np.ndarray:
    """What the model with three logits says of one unpadded pair; one with fewer has the first ones. *Shape:* (3,)."""
    table, w, b = weights(vocabulary)
    positions = np.arange(1, len(ids) + 1)[:, None]
    return (table[list(ids)] * positions).sum(axis=0) / len(ids) @ w + b


def graph(
    vocabulary: int, bad_token: int | None = None, bad_value: float = float("nan"), width: int = 3
) -> onnx.ModelProto:
    """The model as ONNX; a pair that holds ``bad_token`` gets ``bad_value`` in its logits.

    It computes in double precision, so that the logits of a pair are the same bits in every call: sums of single
    precision are not, in a graph as small as this.
    """
    table, w, b = (values.astype(np.float64) for values in weights(vocabulary))
    w, b = w[:, :width], b[:width]
    if bad_token is not None:
        table[bad_token] = bad_value
    nodes = [
        helper.make_node("Gather", ["table", "input_ids"], ["embedded"]),
        helper.make_node("Cast", ["attention_mask"], ["mask"], to=TensorProto.DOUBLE),
        helper.make_node("CumSum", ["mask", "one"], ["counted"]),
        helper.make_node("Mul", ["counted", "mask"], ["position"]),
        helper.make_node("Unsqueeze", ["position", "two"], ["weight"]),
        helper.make_node("Mul", ["embedded", "weight"], ["weighted"]),
        helper.make_node("ReduceSum", ["weighted", "ones"], ["summed"], keepdims=0),
        helper.make_node("ReduceSum", ["mask", "ones"], ["length"], keepdims=1),
        helper.make_node("Div", ["summed", "length"], ["pooled"]),
        helper.make_node("MatMul", ["pooled", "w"], ["projected"]),
        helper.make_node("Add", ["projected", "b"], ["exact"]),
        helper.make_node("Cast", ["exact"], ["logits"], to=TensorProto.FLOAT),
    ]
    constants = {"table": table, "w": w, "b": b, "one": np.array(1), "ones": np.array([1]), "two": np.array([2])}
    shape = ["batch", "sequence"]
    made = helper.make_model(
        helper.make_graph(
            nodes,
            "tiny",
            [helper.make_tensor_value_info(n, TensorProto.INT64, shape) for n in ("input_ids", "attention_mask")],
            [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", width])],
            [numpy_helper.from_array(value, name) for name, value in constants.items()],
        ),
        opset_imports=[helper.make_opsetid("", 17)],
        ir_version=9,
    )
    onnx.checker.check_model(made)
    return made


def make_bundle(
    path: Path,
    *,
    labels: Sequence[str] = ("contradiction", "neutral", "entailment"),
    precisions: Sequence[str] = ("fp32",),
    max_length: int = 128,
    templates: dict[str, Any] | None = None,
    bad: dict[str, tuple[str, float]] | None = None,
    scheme: tuple[str, str | None, float] = ("nli", None, 0.5),
    order: str = "premise_first",
    one_text: bool = False,
) -> Path:
    """Write a bundle. ``bad``: by precision, (a text of one token, what pairs with it get as logits). ``scheme``: its
    name, the supported label and the threshold. ``one_text``: pairs are one text with a blank between its halves."""
    kind, supported, threshold = scheme
    path.mkdir(parents=True)
    made = tokenizer()
    made.save(str(path / "tokenizer.json"))
    size = made.get_vocab_size()
    rng = np.random.default_rng(3)
    words = [word for line in CORPUS for word in line.split()]
    texts = [" ".join(rng.choice(words, n)) for n in rng.integers(1, 24, 64)]
    pairs = list(zip(texts[::2], texts[1::2], strict=True))
    ordered = [pair[:: 1 if order == "premise_first" else -1] for pair in pairs]
    ids = [made.encode(*([" ".join(pair)] if one_text else pair)).ids for pair in ordered]
    width = len(labels)
    by_length = sorted(range(len(pairs)), key=lambda i: len(ids[i]))
    logits = pa.array(
        [expected_logits(ids[i], size)[:width].tolist() for i in by_length], pa.list_(pa.float32(), width)
    )
    probes = {
        "premise": [pairs[i][0] for i in by_length],
        "hypothesis": [pairs[i][1] for i in by_length],
        "tokens": pa.array([len(ids[i]) for i in by_length], pa.int32()),
        "logits": logits,
    }
    pq.write_table(pa.table(probes), path / "probes.parquet")
    variants = {}
    for precision in precisions:
        token, value = (bad or {}).get(precision, (None, 0.0))
        broken = made.encode(token, add_special_tokens=False).ids[0] if token else None
        onnx.save(graph(size, broken, value, width), str(path / f"model.{precision}.onnx"))
        variants[precision] = variant(path / f"model.{precision}.onnx", precision)
    files = ["tokenizer.json", "probes.parquet"]
    if templates is not None:
        (path / "templates.json").write_text(json.dumps(templates))
        files.append("templates.json")
    manifest = {
        "schema": 3,
        "task": "classification",
        "name": "tiny",
        "source": {"checkpoint": "tiny", "files": {}},
        "architecture": {},
        "versions": {},
        "scheme": {"kind": kind, "labels": list(labels), "supported": supported, "threshold": threshold},
        "pair_layout": {
            "prefix": [0],
            "separator": [] if one_text else [2, 2],
            "suffix": [2],
            "pad_id": 1,
            "hypothesis_first": order == "hypothesis_first",
            "one_string": one_text,
        },
        "max_length": max_length,
        "files": {name: digest(path / name) for name in files},
        "variants": variants,
    }
    (path / "bundle.json").write_text(json.dumps(manifest))
    return path


def variant(file: Path, precision: str, **changes: Any) -> dict[str, Any]:
    """A variant as a bundle describes it."""
    return {
        "file": file.name, "precision": precision, "sha256": digest(file), "bytes": file.stat().st_size, "opset": 17,
        "inputs": ["input_ids", "attention_mask"], "parity": None, **changes,
    }  # fmt: skip


def edit_manifest(path: Path, **changes: Any) -> None:
    """Change fields of a bundle's description."""
    manifest = json.loads((path / "bundle.json").read_text())
    manifest.update(changes)
    (path / "bundle.json").write_text(json.dumps(manifest))


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
