"""optimum's ORTModelForSequenceClassification, in batches sorted by length."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .common import Probabilities, by_length, choose, load_pairs, softmax


def batches(spec: dict[str, Any], chosen: dict[str, Any]) -> Callable[[], Probabilities]:
    """``file``: which of the prepared ONNX files."""
    from optimum.onnxruntime import ORTModelForSequenceClassification
    from transformers import AutoTokenizer

    options = spec["options"]
    tokenizer = AutoTokenizer.from_pretrained(spec["checkpoint"])
    model = ORTModelForSequenceClassification.from_pretrained(spec["onnx"], subfolder="onnx", file_name=options["file"])
    pairs, lengths = load_pairs(spec)

    def run(size: int, positions: list[int]) -> Probabilities:
        found = np.zeros((len(pairs), 3), np.float32)
        for local in by_length([lengths[i] for i in positions], size):
            members = [positions[j] for j in local]
            texts = [list(side) for side in zip(*(pairs[i] for i in members), strict=True)]
            found[members] = softmax(model(**tokenizer(*texts, padding=True, return_tensors="np")).logits)
        return found

    size = choose(options.get("batches", [1, 4, 16]), run, lengths, options.get("try", 16))
    chosen["batch"] = size
    everything = list(range(len(pairs)))
    return lambda: run(size, everything)
