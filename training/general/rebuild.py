"""The checkpoint of a shipped bundle, rebuilt from its weights, which are stored only there.

    python -m training.general.rebuild scorer/embedded/general CHECKPOINT

The fp32 graph of a bundle of this recipe names the weights of embeddings, norms and head as the checkpoint does. Of
the layers' matrices, queries, keys and values stand in one (the last layer's on their own), and the others have numbers
that rise with the layer. What was rebuilt is compared with the logits in the bundle's probes before it is kept.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pyarrow.parquet as pq
import torch
from onnx import numpy_helper
from torch import Tensor
from transformers import BertConfig, BertForSequenceClassification, PreTrainedModel

from training.general.nli import save_tokenizer, tokenizer_of
from training.general.pools import pair_logits
from training.network import NLI_LABELS, WITHOUT_DROPOUT, label_names, save

TOLERANCE = 1e-3
HEAD_WIDTH = 32
"""Of the general model and its base, MiniLM."""
_DENSE = ("attention.output.dense", "intermediate.dense", "output.dense")
_QKV = re.compile(r"Attention_(\d+)_qkv_(weight|bias)(?:_(query|key|value))?")
_NUMBERED = re.compile(r"onnx::MatMul_(\d+)")


class RebuildError(Exception):
    """A bundle is not of this recipe, or its weights do not give the logits of its probes."""


def named_weights(path: Path) -> dict[str, Tensor]:
    """The weights of an fp32 graph under transformers' names, float32.

    Raises:
        RebuildError: the graph does not have the matrices of a BERT that this recipe exported.
    """
    model = onnx.load(path)
    arrays = {i.name.removesuffix("_half"): numpy_helper.to_array(i) for i in model.graph.initializer}
    weights = {n: a for n, a in arrays.items() if n.startswith(("bert.", "classifier."))}
    numbered = sorted((int(m[1]), arrays[m[0]]) for n in arrays if (m := _NUMBERED.fullmatch(n)))
    for place, (_, matrix) in enumerate(numbered):
        layer, which = divmod(place, len(_DENSE))
        weights[f"bert.encoder.layer.{layer}.{_DENSE[which]}.weight"] = matrix.T
    for name, array in arrays.items():
        if not (m := _QKV.fullmatch(name)):
            continue
        stem = f"bert.encoder.layer.{m[1]}.attention.self"
        parts = {m[3]: array} if m[3] else dict(zip(("query", "key", "value"), np.split(array, 3, -1), strict=True))
        for part, values in parts.items():
            weights[f"{stem}.{part}.{m[2]}"] = values.T
    if not numbered or len(numbered) % len(_DENSE):
        raise RebuildError(f"{path} has {len(numbered)} matrices of layers; it is not a graph of this recipe")
    return {name: torch.from_numpy(np.array(array, np.float32)) for name, array in weights.items()}


def rebuild(bundle: Path, out: Path) -> float:
    """Writes the checkpoint of a bundle to `out`; returns the largest difference from a probe's logits.

    Raises:
        RebuildError: the graph is another one, or a logit differs by more than :data:`TOLERANCE`.
    """
    manifest: dict[str, Any] = json.loads((bundle / "bundle.json").read_text(encoding="utf-8"))
    labels = manifest["scheme"]["labels"]
    if labels != list(NLI_LABELS):
        raise RebuildError(f"{bundle} has the labels {labels}, this recipe's are {list(NLI_LABELS)}")
    network = _network(named_weights(bundle / manifest["variants"]["fp32"]["file"]), bundle)
    tokenizer = tokenizer_of(bundle)
    probes = pq.read_table(bundle / "probes.parquet").to_pydict()
    pairs = list(zip(probes["premise"], probes["hypothesis"], strict=True))
    gap = float(np.abs(pair_logits(network, tokenizer, pairs).numpy() - np.array(probes["logits"])).max())
    if not gap <= TOLERANCE:
        raise RebuildError(f"{bundle}: the rebuilt checkpoint differs from the probes' logits by {gap:.3g}")
    save(network, out)
    save_tokenizer(tokenizer, out)
    shutil.copyfile(bundle / "tokenizer.json", out / "tokenizer.json")
    return gap


def _network(weights: dict[str, Tensor], bundle: Path) -> PreTrainedModel:
    try:
        words, hidden = weights["bert.embeddings.word_embeddings.weight"].shape
        config = BertConfig(
            vocab_size=words,
            hidden_size=hidden,
            num_hidden_layers=sum(name.endswith("intermediate.dense.bias") for name in weights),
            num_attention_heads=hidden // HEAD_WIDTH,
            intermediate_size=len(weights["bert.encoder.layer.0.intermediate.dense.bias"]),
            max_position_embeddings=len(weights["bert.embeddings.position_embeddings.weight"]),
            **WITHOUT_DROPOUT,
            **label_names(NLI_LABELS),
        )
        network = BertForSequenceClassification(config).eval()
        network.load_state_dict(weights)
        return network
    except (KeyError, RuntimeError) as e:
        raise RebuildError(f"{bundle}: its graph lacks weights, or has others: {e}") from e


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m training.general.rebuild", description=__doc__)
    parser.add_argument("bundle", type=Path)
    parser.add_argument("out", type=Path)
    options = parser.parse_args()
    print(f"largest difference from a probe's logits: {rebuild(options.bundle, options.out):.2e}")


if __name__ == "__main__":
    main()
